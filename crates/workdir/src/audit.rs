//! Checks that paths stay inside of the working copy.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_lang::patterns::{PathCheck, PatternError, check_components};

/// Refuses paths that lead through a symbolic link or into another repository, so that nothing
/// outside of the working copy is ever read or written. Caches the state of directories.
#[derive(Debug)]
pub struct PathAuditor {
    root: PathBuf,
    seen: Mutex<HashMap<Vec<u8>, DirectoryState>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectoryState {
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

    fn directory(&self, directory: &[u8]) -> DirectoryState {
        let mut seen = self.seen.lock();
        if let Some(known) = seen.get(directory) {
            return *known;
        }
        let path = self.root.join(OsStr::from_bytes(directory));
        let found = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => DirectoryState::Link,
            Ok(metadata) if metadata.is_dir() && path.join(".hg").is_dir() => {
                DirectoryState::Repository
            }
            _ => DirectoryState::Sound,
        };
        seen.insert(directory.to_vec(), found);
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
            match self.directory(above) {
                DirectoryState::Sound => {}
                DirectoryState::Link => {
                    let (path, link) = (shown(path), shown(above));
                    return Err(PatternError::ThroughLink { path, link });
                }
                DirectoryState::Repository => {
                    let (path, nested) = (shown(path), shown(above));
                    return Err(PatternError::NestedRepository { path, nested });
                }
            }
        }
        Ok(())
    }
}
