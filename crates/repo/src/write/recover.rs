//! RollbackStage a transaction that was interrupted, Mercurial's or our own.
//!
//! Every step can be taken twice, and the journal goes last: an interrupted recovery is simply
//! started again.

use crate::format::RepoError;
use crate::format::context::RepoContext;
use crate::format::journal::{
    self, Backup, BaseDir, DESCRIPTION, JOURNAL, Length, remove_if_exists,
};
use crate::format::lock::{Lock, LockKind, LockOwner};
use crate::read::Repository;
use std::fmt;
use std::path::Path;
use varve_base::storage::{read_if_there, replace};
use varve_base::{OpenMode, StorageError};

/// A transaction that was undone because its process has died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbandonedTransaction {
    /// The process, if its lock was still there.
    pub owner: Option<LockOwner>,
}

/// The line of the operator's log, behind the name of the repository.
impl fmt::Display for AbandonedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.owner {
            Some(owner) => write!(
                f,
                "undid the transaction of {owner}, which has ended without finishing it"
            ),
            None => f.write_str("undid a transaction that was interrupted"),
        }
    }
}

impl Repository {
    /// Undoes the transaction that was interrupted; `false` if there is none. `lock` is that of
    /// the store, which the caller holds.
    ///
    /// # Errors
    /// A damaged journal, before anything is changed; errors of the storage.
    pub fn recover(&self, _lock: &Lock) -> Result<bool, RepoError> {
        roll_back(self.context())
    }

    /// Undoes a transaction whose process has died, without being asked to; `None` if there is none, or if a process
    /// that may be alive holds the store's lock.
    ///
    /// # Errors
    /// As of [`Repository::recover`].
    pub fn recover_abandoned(&self) -> Result<Option<AbandonedTransaction>, RepoError> {
        if !self.has_journal()? {
            return Ok(None);
        }
        let context = self.context();
        let owner = LockOwner::of(context.storage.as_ref(), &LockKind::Store.path(context))?;
        if owner.as_ref().is_some_and(|owner| !owner.is_gone()) {
            return Ok(None);
        }
        let lock = match self.try_lock(LockKind::Store) {
            Err(RepoError::LockHeld { .. }) => return Ok(None),
            other => other?,
        };
        Ok(self
            .recover(&lock)?
            .then_some(AbandonedTransaction { owner }))
    }

    /// Whether a transaction was interrupted, or is under way.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn has_journal(&self) -> Result<bool, RepoError> {
        let context = self.context();
        let path = context.store().join(JOURNAL);
        Ok(context.storage.kind(&path)?.is_some())
    }
}

/// Undoes the transaction in the journal; `false` if there is no journal.
pub(crate) fn roll_back(context: &RepoContext) -> Result<bool, RepoError> {
    let store = context.store();
    let Some(bytes) = read_if_there(context.storage.as_ref(), &store.join(JOURNAL))? else {
        return Ok(false);
    };
    let damaged = |name: &str, line| RepoError::DamagedLine {
        path: store.join(name),
        line,
        reason: "not a line of a journal",
    };
    let lengths = journal::decode_lengths(&bytes).map_err(|line| damaged(JOURNAL, line))?;
    let bytes = read_if_there(context.storage.as_ref(), &store.join(journal::BACKUPS))?;
    let backups = journal::decode_backups(&bytes.unwrap_or_default())
        .map_err(|line| damaged(journal::BACKUPS, line))?;
    for backup in &backups {
        put_back(context, backup)?;
    }
    // Last, because a backup may be a second name of a file that was appended to.
    for length in &lengths {
        cut_back(context, length)?;
    }
    clean_up(context, &backups)?;
    Ok(true)
}

fn outside(context: &RepoContext, name: &[u8]) -> RepoError {
    RepoError::JournalOutside {
        path: context.root.clone(),
        name: String::from_utf8_lossy(name).into_owned(),
    }
}

fn cut_back(context: &RepoContext, length: &Length) -> Result<(), RepoError> {
    let path = BaseDir::Store.path(context, &length.name);
    let path = path.ok_or_else(|| outside(context, &length.name))?;
    if length.len == 0 {
        return remove_if_exists(context, &path);
    }
    let file = match context.storage.open(&path, OpenMode::Append) {
        // A backup will put it back, or `verify` will miss it.
        Err(error) if error.is_not_found() => return Ok(()),
        other => other?,
    };
    if file.len()? > length.len {
        file.truncate(length.len)?;
        file.sync()?;
    }
    Ok(())
}

fn put_back(context: &RepoContext, backup: &Backup) -> Result<(), RepoError> {
    if backup.name.is_empty() {
        return Ok(());
    }
    let at = |name: &[u8]| {
        let path = backup.place.path(context, name);
        path.ok_or_else(|| outside(context, name))
    };
    let path = at(&backup.name)?;
    if backup.backup.is_empty() {
        return remove_if_exists(context, &path);
    }
    match read_if_there(context.storage.as_ref(), &at(&backup.backup)?)? {
        Some(bytes) => Ok(replace(context.storage.as_ref(), &path, &bytes)?),
        None if backup.is_cache => remove_if_exists(context, &path),
        // A power cut can keep the line and lose the backup, made before anything was replaced.
        None => Ok(()),
    }
}

/// Removes the journal, and then the copies that only it named.
fn clean_up(context: &RepoContext, backups: &[Backup]) -> Result<(), RepoError> {
    let store = context.store();
    context.storage.sync_directory(&store)?;
    remove_if_exists(context, &store.join(JOURNAL))?;
    context.storage.sync_directory(&store)?;
    let leftover = backups
        .iter()
        .filter_map(|backup| backup.place.path(context, &backup.backup));
    let lists = [store.join(journal::BACKUPS), context.hg().join(DESCRIPTION)];
    for path in leftover.chain(lists) {
        remove_leftover(context, &path)?;
    }
    Ok(())
}

/// A file may have taken the place of a directory above it: then there is nothing to remove.
fn remove_leftover(context: &RepoContext, path: &Path) -> Result<(), RepoError> {
    match context.storage.remove(path) {
        Err(StorageError::Io { source, .. })
            if matches!(
                source.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(())
        }
        other => Ok(other?),
    }
}
