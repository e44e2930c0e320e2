//! Where the repository is that a command works on.

use crate::ui::environment::Environment;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_config::hgrc::Files;

/// Where the repository is, as far as the arguments and the folder tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this folder, which has a `.hg`.
    Found(PathBuf),
    /// A bundle is looked at as a repository.
    Bundle(BundlePlace),
    /// `-R` names what is no repository.
    NotThere(String),
    /// Neither this folder nor one above it has a `.hg`.
    Nowhere,
}

/// A bundle, and the repository that it is laid over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundlePlace {
    /// The file, as it is shown.
    pub file: PathBuf,
    /// The repository; `None` for an empty one that is nowhere.
    pub over: Option<PathBuf>,
    /// Where that one would be.
    nowhere: PathBuf,
}

/// How a bundle's address begins that may name the repository too.
const BUNDLE: &[u8] = b"bundle:";

impl Place {
    /// The folder or bundle `named` by `-R`, or the nearest folder with a `.hg` from `cwd` upwards.
    /// A bundle is laid over `main`, or else over that.
    pub fn find(named: Option<&[u8]>, cwd: &Path, main: Option<&Path>) -> Place {
        let Some(named) = named.filter(|path| !path.is_empty()) else {
            return match above(cwd) {
                Some(folder) => Place::Found(folder),
                None => Place::Nowhere,
            };
        };
        if let Some(address) = named.strip_prefix(BUNDLE) {
            return Place::Bundle(BundlePlace::of_address(address, cwd, main));
        }
        let path = cwd.join(Environment.expand(without_scheme(named)));
        match path.canonicalize() {
            Ok(root) if root.join(".hg").is_dir() => Place::Found(root),
            Ok(file) if file.is_file() => {
                let typed = Environment.expand(without_scheme(named));
                Place::Bundle(BundlePlace::new(typed, cwd, main))
            }
            _ => Place::NotThere(String::from_utf8_lossy(named).into_owned()),
        }
    }

    /// The folder, if there is a repository.
    pub fn root(&self) -> Option<&Path> {
        match self {
            Place::Found(root) => Some(root),
            Place::Bundle(bundle) => bundle.over.as_deref(),
            Place::NotThere(_) | Place::Nowhere => None,
        }
    }
}

impl BundlePlace {
    /// `REPOSITORY+FILE` or `FILE`.
    fn of_address(address: &[u8], cwd: &Path, main: Option<&Path>) -> BundlePlace {
        let address = without_slashes(address);
        let path = |bytes| Environment.expand(bytes);
        match address.iter().position(|byte| *byte == b'+') {
            Some(plus) => {
                let root = cwd.join(path(&address[..plus])).canonicalize().ok();
                BundlePlace {
                    file: path(&address[plus + 1..]),
                    over: root.filter(|root| root.join(".hg").is_dir()),
                    nowhere: nowhere(),
                }
            }
            None => BundlePlace::new(path(address), cwd, main),
        }
    }

    fn new(file: PathBuf, cwd: &Path, main: Option<&Path>) -> BundlePlace {
        let over = match main {
            Some(main) => Some(main.to_owned()).filter(|root| root.join(".hg").is_dir()),
            None => above(cwd),
        };
        BundlePlace {
            file,
            over,
            nowhere: nowhere(),
        }
    }

    /// The folder of the repository, which need not be there.
    pub fn root(&self) -> &Path {
        self.over.as_deref().unwrap_or(&self.nowhere)
    }
}

/// Where an empty repository would be.
fn nowhere() -> PathBuf {
    let name = format!("varve-bundle-{}", std::process::id());
    std::env::temp_dir().join(name)
}

fn above(cwd: &Path) -> Option<PathBuf> {
    let mut folders = cwd.ancestors();
    let found = folders.find(|folder| folder.join(".hg").is_dir());
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

/// What stands behind `//`, where that is there.
fn without_slashes(path: &[u8]) -> &[u8] {
    path.strip_prefix(b"//").unwrap_or(path)
}

/// A path as bytes of a configuration say it, from `cwd`; `None` for an empty one.
pub fn configured(path: Option<&[u8]>, cwd: &Path) -> Option<PathBuf> {
    let path = path.filter(|path| !path.is_empty())?;
    let path = cwd.join(Path::new(OsStr::from_bytes(path)));
    Some(path.canonicalize().unwrap_or(path))
}
