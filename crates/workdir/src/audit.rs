//! What a path of the working copy leads through.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_lang::patterns::{PathCheck, PatternError, check_components};

/// Refuses paths that lead through a symbolic link or into another repository, so that nothing
/// outside of the working copy is ever read or written. Remembers the folders it has seen.
#[derive(Debug)]
pub struct PathAuditor {
    root: PathBuf,
    seen: Mutex<HashMap<Vec<u8>, Folder>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Folder {
    Sound,
    Link,
    Repository,
}

impl PathAuditor {
    /// For the working copy at `root`.
    pub fn new(root: &Path) -> PathAuditor {
        PathAuditor {
            root: root.to_owned(),
            seen: Mutex::default(),
        }
    }

    fn folder(&self, folder: &[u8]) -> Folder {
        let mut seen = self.seen.lock();
        if let Some(known) = seen.get(folder) {
            return *known;
        }
        let path = self.root.join(OsStr::from_bytes(folder));
        let found = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => Folder::Link,
            Ok(metadata) if metadata.is_dir() && path.join(".hg").is_dir() => Folder::Repository,
            _ => Folder::Sound,
        };
        seen.insert(folder.to_vec(), found);
        found
    }
}

impl PathCheck for PathAuditor {
    fn check(&self, path: &[u8]) -> Result<(), PatternError> {
        check_components(path)?;
        let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (at, _) in slashes {
            let above = &path[..at];
            match self.folder(above) {
                Folder::Sound => {}
                Folder::Link => {
                    let (path, link) = (shown(path), shown(above));
                    return Err(PatternError::ThroughLink { path, link });
                }
                Folder::Repository => {
                    let (path, nested) = (shown(path), shown(above));
                    return Err(PatternError::NestedRepository { path, nested });
                }
            }
        }
        Ok(())
    }
}
