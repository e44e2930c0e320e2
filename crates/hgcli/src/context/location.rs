//! Which repository a command works on.

use crate::ui::environment::Environment;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_config::hgrc::Files;

/// Where the repository is, as found from the arguments and the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepoLocation {
    /// At this directory, which has a `.hg`.
    Directory(PathBuf),
    /// A bundle, read as a repository.
    Bundle(BundleLocation),
    /// `-R` names something else.
    Missing(String),
    /// Neither this directory nor one above it has a `.hg`.
    None,
}

/// A bundle, and the repository that it is laid over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleLocation {
    /// The file, as it is shown.
    pub file: PathBuf,
    /// The repository; `None` for an empty one in memory.
    pub over: Option<PathBuf>,
    /// The directory that the empty one pretends to have.
    empty_root: PathBuf,
}

/// How a bundle's address begins that may name the repository too.
const BUNDLE: &[u8] = b"bundle:";

impl RepoLocation {
    /// The directory or bundle `named` by `-R`, or the nearest directory with a `.hg` from `cwd` upwards.
    /// A bundle is laid over `main`, or else over that.
    pub fn find(named: Option<&[u8]>, cwd: &Path, main: Option<&Path>) -> RepoLocation {
        let Some(named) = named.filter(|path| !path.is_empty()) else {
            return match above(cwd) {
                Some(directory) => RepoLocation::Directory(directory),
                None => RepoLocation::None,
            };
        };
        if let Some(address) = named.strip_prefix(BUNDLE) {
            return RepoLocation::Bundle(BundleLocation::of_address(address, cwd, main));
        }
        let path = cwd.join(Environment.expand(without_scheme(named)));
        match path.canonicalize() {
            Ok(root) if root.join(".hg").is_dir() => RepoLocation::Directory(root),
            Ok(file) if file.is_file() => {
                let typed = Environment.expand(without_scheme(named));
                RepoLocation::Bundle(BundleLocation::new(typed, cwd, main))
            }
            _ => RepoLocation::Missing(String::from_utf8_lossy(named).into_owned()),
        }
    }

    /// The directory, if there is a repository.
    pub fn root(&self) -> Option<&Path> {
        match self {
            RepoLocation::Directory(root) => Some(root),
            RepoLocation::Bundle(bundle) => bundle.over.as_deref(),
            RepoLocation::Missing(_) | RepoLocation::None => None,
        }
    }
}

impl BundleLocation {
    /// `REPOSITORY+FILE` or `FILE`.
    fn of_address(address: &[u8], cwd: &Path, main: Option<&Path>) -> BundleLocation {
        let address = without_slashes(address);
        let path = |bytes| Environment.expand(bytes);
        match address.iter().position(|byte| *byte == b'+') {
            Some(plus) => {
                let root = cwd.join(path(&address[..plus])).canonicalize().ok();
                BundleLocation {
                    file: path(&address[plus + 1..]),
                    over: root.filter(|root| root.join(".hg").is_dir()),
                    empty_root: empty_root(),
                }
            }
            None => BundleLocation::new(path(address), cwd, main),
        }
    }

    fn new(file: PathBuf, cwd: &Path, main: Option<&Path>) -> BundleLocation {
        let over = match main {
            Some(main) => Some(main.to_owned()).filter(|root| root.join(".hg").is_dir()),
            None => above(cwd),
        };
        BundleLocation {
            file,
            over,
            empty_root: empty_root(),
        }
    }

    /// The directory of the repository, which need not be there.
    pub fn root(&self) -> &Path {
        self.over.as_deref().unwrap_or(&self.empty_root)
    }
}

/// A directory that does not exist, for an empty repository.
fn empty_root() -> PathBuf {
    let name = format!("varve-bundle-{}", std::process::id());
    std::env::temp_dir().join(name)
}

fn above(cwd: &Path) -> Option<PathBuf> {
    let mut directories = cwd.ancestors();
    let found = directories.find(|directory| directory.join(".hg").is_dir());
    found.map(Path::to_owned)
}

/// The path of a bundle's file.
pub fn without_address(typed: &[u8]) -> &[u8] {
    match typed.strip_prefix(BUNDLE) {
        Some(path) => without_slashes(path),
        None => without_scheme(typed),
    }
}

/// A path of this machine without `file:`.
pub fn without_scheme(typed: &[u8]) -> &[u8] {
    typed.strip_prefix(b"file:").map_or(typed, without_slashes)
}

/// The path behind `//`, or all of it.
fn without_slashes(path: &[u8]) -> &[u8] {
    path.strip_prefix(b"//").unwrap_or(path)
}

/// A path as bytes of a configuration say it, from `cwd`; `None` for an empty one.
pub fn configured(path: Option<&[u8]>, cwd: &Path) -> Option<PathBuf> {
    let path = path.filter(|path| !path.is_empty())?;
    let path = cwd.join(Path::new(OsStr::from_bytes(path)));
    Some(path.canonicalize().unwrap_or(path))
}
