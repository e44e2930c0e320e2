//! A clone that is being made, and goes if it does not become whole.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the repository's directory while it is removed, so that what is left of it if even that is cut short is taken
/// for no repository.
const REMOVED: &str = ".hg.incomplete";

/// The clone that the running command makes, if it makes one; clones of this value share it.
#[derive(Clone, Debug, Default)]
pub struct IncompleteClone(Arc<Mutex<Option<CloneTarget>>>);

#[derive(Debug)]
struct CloneTarget {
    directory: PathBuf,
    /// Whether the directory goes as well.
    with_directory: bool,
}

impl IncompleteClone {
    /// From now on the repository in `directory` is incomplete; the directory itself is kept if it is there already.
    pub fn begin(&self, directory: &Path) {
        *self.0.lock() = Some(CloneTarget {
            directory: directory.to_owned(),
            with_directory: !directory.exists(),
        });
    }

    /// The repository is whole and stays.
    pub fn finish(&self) {
        *self.0.lock() = None;
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Removes it if there is one, and then does something before another thread learns that it is gone.
    pub fn remove_then<T>(&self, then: impl FnOnce() -> T) -> T {
        let mut target = self.0.lock();
        if let Some(target) = target.take() {
            target.remove();
        }
        then()
    }
}

impl CloneTarget {
    fn remove(&self) {
        let (hg, removed) = (self.directory.join(".hg"), self.directory.join(REMOVED));
        // Nothing is left to do where the system refuses.
        let _ = match std::fs::rename(&hg, &removed) {
            Ok(()) => std::fs::remove_dir_all(&removed),
            Err(_) => std::fs::remove_dir_all(&hg),
        };
        if self.with_directory {
            let _ = std::fs::remove_dir(&self.directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_stays_and_all_else_goes() {
        let directory = tempfile::tempdir().unwrap();
        let clone = IncompleteClone::default();
        let make = |name: &str| {
            let target = directory.path().join(name);
            clone.begin(&target);
            std::fs::create_dir_all(target.join(".hg/store")).unwrap();
            target
        };
        let whole = make("whole");
        clone.finish();
        clone.remove_then(|| ());
        assert!(whole.join(".hg/store").exists());
        let part = make("part");
        assert!(clone.is_there());
        clone.remove_then(|| assert!(!part.exists()));
        assert!(!clone.is_there());
        let there = directory.path().join("there");
        std::fs::create_dir(&there).unwrap();
        make("there");
        clone.remove_then(|| ());
        assert_eq!(std::fs::read_dir(&there).unwrap().count(), 0);
    }
}
