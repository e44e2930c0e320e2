//! Fetches the locked package of Fauxton through npm, checks its hash, and makes its files part of the crate.
//!
//! Without npm or a network the crate has no files, and a warning of cargo says so: only the console is missing then.
//! An archive with another hash fails the build.

#[path = "src/package.rs"]
mod package;

use package::{Lock, PackageError, Stored};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs, io};

/// Names an archive of the package, for builds without a network.
const GIVEN: &str = "VARVE_FAUXTON";
const LOCK: &str = "fauxton.lock";

#[derive(Debug, thiserror::Error)]
enum BuildError {
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cargo gives build scripts no {0}")]
    Variable(&'static str),
}

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed={LOCK}");
    println!("cargo:rerun-if-env-changed={GIVEN}");
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the console: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), BuildError> {
    let out = env::var_os("OUT_DIR").ok_or(BuildError::Variable("OUT_DIR"))?;
    let out = PathBuf::from(out);
    let text = fs::read_to_string(LOCK).map_err(reading(Path::new(LOCK)))?;
    let lock = Lock::parse(&text)?;
    println!("cargo:rustc-env=FAUXTON_VERSION={}", lock.version);
    let files = match archive(&lock, &out)? {
        Some(archive) => {
            lock.check(&archive)?;
            package::read(&archive)?
        }
        None => Vec::new(),
    };
    write_table(&files, &out)
}

/// The archive: the given one, the one that an earlier build has fetched, or a new one. `None` if it cannot be fetched.
fn archive(lock: &Lock, out: &Path) -> Result<Option<Vec<u8>>, BuildError> {
    if let Some(given) = env::var_os(GIVEN).filter(|given| !given.is_empty()) {
        let given = PathBuf::from(given);
        println!("cargo:rerun-if-changed={}", given.display());
        return fs::read(&given).map(Some).map_err(reading(&given));
    }
    let file = out.join(format!("{}-{}.tgz", lock.name, lock.version));
    if let Ok(kept) = fs::read(&file)
        && lock.check(&kept).is_ok()
    {
        return Ok(Some(kept));
    }
    match fetch(lock, out) {
        Ok(()) => fs::read(&file).map(Some).map_err(reading(&file)),
        Err(reason) => {
            println!(
                "cargo:warning=built without the console of /_utils: {reason}. `{GIVEN}=FILE` names an archive \
                 that `npm pack {}@{}` has made elsewhere",
                lock.name, lock.version
            );
            Ok(None)
        }
    }
}

/// Has npm put the archive into a directory.
fn fetch(lock: &Lock, out: &Path) -> Result<(), String> {
    let fetched = Command::new("npm")
        .arg("pack")
        .arg(format!("{}@{}", lock.name, lock.version))
        .args(["--ignore-scripts", "--prefer-offline", "--loglevel=error"])
        .args(["--fetch-retries=1", "--fetch-timeout=60000"])
        .arg("--pack-destination")
        .arg(out)
        .current_dir(out)
        .stdin(Stdio::null())
        .output();
    let fetched = fetched.map_err(|error| format!("npm cannot be run ({error})"))?;
    match fetched.status.success() {
        true => Ok(()),
        false => {
            let words = String::from_utf8_lossy(&fetched.stderr).into_owned();
            let first = words.lines().find(|line| !line.trim().is_empty());
            Err(format!(
                "npm pack failed ({})",
                first.unwrap_or("no reason given")
            ))
        }
    }
}

/// Writes each file, and `files.rs` with the constant that names them all.
fn write_table(files: &[Stored], out: &Path) -> Result<(), BuildError> {
    let mut table = String::from("&[\n");
    for (at, file) in files.iter().enumerate() {
        let path = out.join(format!("file-{at}"));
        fs::write(&path, &file.bytes).map_err(writing(&path))?;
        let Stored {
            path,
            media_type,
            length,
            is_gzip,
            is_versioned,
            tag,
            ..
        } = file;
        let _ = writeln!(
            table,
            "    File {{ path: {path:?}, media_type: {media_type:?}, length: {length}, is_gzip: {is_gzip}, \
             is_versioned: {is_versioned}, tag: {tag:?}, stored: include_bytes!(\"file-{at}\") }},"
        );
    }
    table.push_str("]\n");
    let path = out.join("files.rs");
    fs::write(&path, table).map_err(writing(&path))
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::Read { path, source }
}

fn writing(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::Write { path, source }
}
