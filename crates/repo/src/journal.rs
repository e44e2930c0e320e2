//! The lock that writers take and the journal by which an interrupted transaction is undone, both
//! Mercurial's own: `hg recover` undoes what Varve left half done.
//!
//! `store/journal` has lines `name \0 length`: to undo, each file is cut to that length, or
//! removed if it is 0. `store/journal.backupfiles` has a line `2` for its version, then lines
//! `\0 name \0 backup \0 0`: to undo, each file is replaced by its backup, or removed if that is
//! empty. The lock `store/lock` is a file that only one can create; Mercurial reads one that is no
//! symbolic link as well.

use crate::RepoError;
use crate::repository::Shared;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::read_if_there;
use varve_base::{OpenMode, Storage};

const JOURNAL: &str = "journal";
const BACKUPS: &str = "journal.backupfiles";
const BACKUPS_VERSION: &str = "2\n";

/// The store's lock; given back when dropped.
#[derive(Debug)]
pub(crate) struct StoreLock {
    shared: Arc<Shared>,
    path: PathBuf,
}

impl StoreLock {
    /// Takes the lock, at once or not at all.
    pub fn take(shared: &Arc<Shared>) -> Result<StoreLock, RepoError> {
        let store = shared.store();
        let path = store.join("lock");
        let locked = |reason: String| RepoError::Locked {
            path: shared.root.clone(),
            reason,
        };
        let file = match shared.storage.open(&path, OpenMode::CreateNew) {
            Err(error) if error.is_already_there() => {
                return Err(locked("another program holds .hg/store/lock".to_owned()));
            }
            other => other?,
        };
        let lock = StoreLock {
            shared: shared.clone(),
            path,
        };
        file.append(format!("varve:{}", std::process::id()).as_bytes())?;
        if shared.storage.kind(&store.join(JOURNAL))?.is_some() {
            let reason = "an interrupted transaction was left behind; `hg recover` undoes it";
            return Err(locked(reason.to_owned()));
        }
        Ok(lock)
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // A lock that stays is found by the next writer, which says so.
        let _ = self.shared.storage.remove(&self.path);
    }
}

/// A journal in the making.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    lengths: Vec<u8>,
    backups: Vec<u8>,
    backup_files: Vec<PathBuf>,
}

impl Journal {
    /// `name` will be appended to; it has `len` bytes now.
    pub fn will_append(&mut self, name: &[u8], len: u64) {
        self.lengths.extend_from_slice(name);
        self.lengths.push(0);
        self.lengths
            .extend_from_slice(format!("{len}\n").as_bytes());
    }

    /// The file `name` of the store, which lies at `path`, will be replaced.
    pub fn will_replace(
        &mut self,
        storage: &dyn Storage,
        store: &Path,
        name: &[u8],
        path: &Path,
    ) -> Result<(), RepoError> {
        let mut backup = PathBuf::new();
        if let Some(bytes) = read_if_there(storage, path)? {
            backup = PathBuf::from(format!("journal.backup.{}", self.backup_files.len()));
            let full = store.join(&backup);
            let file = storage.open(&full, OpenMode::CreateNew)?;
            file.append(&bytes)?;
            file.sync()?;
            self.backup_files.push(full);
        }
        let backup = backup.as_os_str().as_bytes();
        self.backups
            .extend_from_slice(&[b"\0", name, b"\0", backup, b"\0", b"0\n"].concat());
        Ok(())
    }

    /// Writes the journal. From now on the transaction is undone unless it is finished.
    pub fn begin(&mut self, storage: &dyn Storage, store: &Path) -> Result<(), RepoError> {
        let backups = [BACKUPS_VERSION.as_bytes(), &self.backups].concat();
        // The journal proper comes last, so that it is never there without the backups.
        for (name, bytes) in [(BACKUPS, &backups), (JOURNAL, &self.lengths)] {
            let file = storage.open(&store.join(name), OpenMode::CreateNew)?;
            file.append(bytes)?;
            file.sync()?;
        }
        Ok(storage.sync_folder(store)?)
    }

    /// Removes the journal: the transaction is there to stay.
    pub fn finish(self, storage: &dyn Storage, store: &Path) -> Result<(), RepoError> {
        storage.remove(&store.join(JOURNAL))?;
        storage.sync_folder(store)?;
        storage.remove(&store.join(BACKUPS))?;
        for backup in &self.backup_files {
            storage.remove(backup)?;
        }
        Ok(())
    }
}
