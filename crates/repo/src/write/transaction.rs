//! A change of several files that is there whole or not at all.
//!
//! Order, as Mercurial's: backups (second names of the files that will be replaced, which costs
//! nothing), the journal; revisions besides those of the changelog; hooks, which may read the
//! pending data and refuse; files of the store; the changelog; files of `.hg`, which may speak of it;
//! then the journal becomes `undo`, and that makes it final. A failed transaction is undone at once;
//! an interrupted one, by [`Repository::recover`].

use crate::format::RepoError;
use crate::format::context::RepoContext;
use crate::format::journal::{
    self, BACKUPS, Backup, BaseDir, DESCRIPTION, JOURNAL, Length, backup_name, remove_if_exists,
};
use crate::format::lock::{Lock, LockKind};
use crate::format::obsstore;
use crate::format::pending::{self, PENDING};
use crate::read::Repository;
use crate::write::recover::roll_back;
use crate::write::transaction_hooks::TransactionHooks;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::OpenMode;
use varve_base::storage::{read_if_there, replace};

/// After success the journal's files have names that begin so.
pub(crate) const UNDO: &str = "undo";

/// Gathers the files that will be replaced together. Nothing is written before
/// [`Transaction::finish`].
#[derive(Debug)]
pub struct Transaction {
    pub(crate) context: Arc<RepoContext>,
    /// `None` without hooks; closed before the lock is released.
    pub(crate) hooks: Option<TransactionHooks>,
    /// Held until the end, and given back after it.
    lock: Lock,
    description: String,
    files: Vec<(BaseDir, Vec<u8>, Change)>,
    lengths: Vec<Length>,
    /// Whether a file was to be written when something was found wrong.
    pub(crate) write_attempted: bool,
    /// Bytes to be appended to files of the store that are no revlogs.
    appends: Vec<(Length, Vec<u8>)>,
    /// Backups and lengths in the journal already.
    started: Option<Started>,
}

/// The journal of a transaction that writes before all is known.
#[derive(Debug, Default)]
struct Started {
    backups: Vec<Backup>,
    lengths: usize,
}

/// Writes between the replacing of files.
pub(crate) trait WriteSteps {
    /// Whether any revision is new, if files of revisions are in the journal.
    fn has_new_revisions(&self) -> bool {
        true
    }

    /// Writes data that readers cannot see before [`WriteSteps::write_changelog`].
    ///
    /// # Errors
    /// Errors of the storage.
    fn write_revisions(&mut self) -> Result<(), RepoError> {
        Ok(())
    }

    /// Writes the changelog that hooks may read.
    ///
    /// # Errors
    /// Errors of the storage.
    fn write_pending_changelog(&self) -> Result<(), RepoError> {
        Ok(())
    }

    /// Writes the index that makes the new revisions visible.
    ///
    /// # Errors
    /// Errors of the storage.
    fn write_changelog(self) -> Result<(), RepoError>;
}

/// Only files are replaced.
struct NoSteps;

impl WriteSteps for NoSteps {
    fn write_changelog(self) -> Result<(), RepoError> {
        Ok(())
    }
}

#[derive(Debug)]
enum Change {
    /// Only kept for `undo`.
    BackupOnly,
    Replace(Vec<u8>),
    Remove,
    /// Written by an [`varve_revlog::Appender`]: a file of a revlog.
    ByAppender,
}

impl Repository {
    /// Begins a transaction under the store's lock. `description` stands in the journal, `commit`
    /// for instance.
    ///
    /// # Errors
    /// [`RepoError::AbandonedTransaction`] if another one was interrupted; [`RepoError::Hook`].
    pub fn transaction(&self, lock: Lock, description: &str) -> Result<Transaction, RepoError> {
        if self.has_journal()? {
            return Err(RepoError::AbandonedTransaction);
        }
        let hooks = self.context().opening.hooks.as_ref();
        let hooks = hooks.map(|hooks| TransactionHooks::open(hooks, description));
        Ok(Transaction {
            hooks: hooks.transpose()?,
            context: Arc::clone(self.context()),
            lock,
            description: description.to_owned(),
            files: Vec::new(),
            lengths: Vec::new(),
            write_attempted: false,
            appends: Vec::new(),
            started: None,
        })
    }

    /// As [`Repository::transaction`], to add revisions.
    ///
    /// # Errors
    /// [`RepoError::TooOld`] if the store has no list of its files; as of
    /// [`Repository::transaction`].
    pub(crate) fn transaction_that_appends(
        &self,
        lock: Lock,
        description: &str,
    ) -> Result<Transaction, RepoError> {
        let context = self.context();
        if !context.requirements.has("fncache") {
            return Err(RepoError::TooOld {
                path: context.root.clone(),
                feature: "fncache",
            });
        }
        self.transaction(lock, description)
    }

    /// As [`Repository::transaction`], if no other process holds the store's lock.
    ///
    /// # Errors
    /// [`RepoError::LockHeld`]; [`RepoError::AbandonedTransaction`].
    pub fn try_transaction(&self, description: &str) -> Result<Transaction, RepoError> {
        self.transaction(self.try_lock(LockKind::Store)?, description)
    }
}

impl Transaction {
    /// Replaces a file whole; of several calls for one file the last counts.
    pub fn replace(&mut self, place: BaseDir, name: &[u8], bytes: Vec<u8>) {
        self.set(place, name, Change::Replace(bytes));
    }

    /// Removes a file, if it is there.
    pub fn remove(&mut self, place: BaseDir, name: &[u8]) {
        self.set(place, name, Change::Remove);
    }

    /// Keeps a copy of a file beside the undone transaction, as Mercurial does with the dirstate
    /// and the branch at every commit.
    pub fn keep_backup(&mut self, place: BaseDir, name: &[u8]) {
        if !self
            .files
            .iter()
            .any(|(p, n, _)| (*p, &n[..]) == (place, name))
        {
            self.files.push((place, name.to_vec(), Change::BackupOnly));
        }
    }

    /// Whether any hook reads pending data.
    fn has_pending_readers(&self) -> bool {
        self.hooks
            .as_ref()
            .is_some_and(TransactionHooks::has_pending_readers)
    }

    fn set(&mut self, place: BaseDir, name: &[u8], change: Change) {
        self.files.retain(|(p, n, _)| (*p, &n[..]) != (place, name));
        self.files.push((place, name.to_vec(), change));
    }

    /// `name` in the store will be appended to; it has `len` bytes now.
    pub(crate) fn will_append(&mut self, name: Vec<u8>, len: u64) {
        self.lengths.push(Length { name, len });
    }

    /// Adds bytes to a file of the store, which has `len` bytes now; 0 if it is not there.
    pub(crate) fn append(&mut self, name: &[u8], len: u64, bytes: Vec<u8>) {
        let name = name.to_vec();
        let length = Length { name, len };
        self.lengths.push(length.clone());
        self.appends.push((length, bytes));
    }

    /// `name` in the store will be replaced by an appender.
    pub(crate) fn will_replace(&mut self, name: &[u8]) {
        self.set(BaseDir::Store, name, Change::ByAppender);
    }

    /// Replaces the files.
    ///
    /// # Errors
    /// Errors of the storage; everything is then as it was.
    pub fn finish(self) -> Result<(), RepoError> {
        self.run(0, NoSteps).map(drop)
    }

    /// As [`Transaction::finish`]; without any files, only hooks run.
    pub(crate) fn finish_without_revisions(mut self) -> Result<(), RepoError> {
        if !self.files.is_empty() {
            return self.finish();
        }
        let Some(hooks) = self.hooks.take() else {
            return Ok(());
        };
        hooks.run_pretxnclose()?;
        hooks.run_txnclose();
        Ok(())
    }

    /// Takes all steps in their order. `changesets` is how many there are before. Gives the lock
    /// back.
    pub(crate) fn run(
        mut self,
        changesets: usize,
        mut steps: impl WriteSteps,
    ) -> Result<Lock, RepoError> {
        let context = Arc::clone(&self.context);
        let mut hooks = self.hooks.take();
        let looking = hooks
            .as_ref()
            .is_some_and(TransactionHooks::has_pending_readers);
        let backups = match self.started.take() {
            Some(started) => {
                let done = self.append_to_journal(started);
                match done {
                    Ok(started) => started.backups,
                    Err(error) => {
                        self.undo(hooks);
                        return Err(error);
                    }
                }
            }
            None => self.begin(looking, changesets)?,
        };
        let written = steps
            .write_revisions()
            .and_then(|()| match hooks.as_mut().filter(|_| looking) {
                Some(hooks) => self.run_closing_hooks(hooks, &steps),
                None => Ok(()),
            })
            .and_then(|()| self.apply(BaseDir::Store))
            .and_then(|()| self.append_to_files())
            .and_then(|()| steps.write_changelog())
            .and_then(|()| self.apply(BaseDir::Hg));
        if let Err(error) = written {
            self.undo(hooks);
            return Err(error);
        }
        keep_for_undo(&context, &backups)?;
        if let Some(hooks) = hooks {
            hooks.run_txnclose();
        }
        Ok(self.lock)
    }

    /// Makes the backups and the journal.
    fn begin(
        &self,
        has_pending_readers: bool,
        changesets: usize,
    ) -> Result<Vec<Backup>, RepoError> {
        let mut backups = self.back_up(&self.files)?;
        backups.extend(pending::temporary().filter(|_| has_pending_readers));
        self.write_journal(&backups, changesets)?;
        Ok(backups)
    }

    /// Writes the journal now, with the files that are declared by now: these may be appended to
    /// at once. There are `changesets` before. [`Transaction::run`] ends this as any transaction,
    /// [`Transaction::abandon`] undoes it.
    pub(crate) fn start(&mut self, changesets: usize) -> Result<(), RepoError> {
        let backups = self.begin(self.has_pending_readers(), changesets)?;
        self.started = Some(Started {
            backups,
            lengths: self.lengths.len(),
        });
        Ok(())
    }

    /// Whether the journal is there already.
    pub(crate) fn is_started(&self) -> bool {
        self.started.is_some()
    }

    /// Adds the missing entries to the journal.
    pub(crate) fn extend_journal(&mut self) -> Result<(), RepoError> {
        if let Some(started) = self.started.take() {
            self.started = Some(self.append_to_journal(started)?);
        }
        Ok(())
    }

    fn append_to_journal(&self, mut started: Started) -> Result<Started, RepoError> {
        let is_new = |(place, name, _): &&(BaseDir, Vec<u8>, Change)| {
            let mut known = started.backups.iter();
            !known.any(|known| known.place == *place && known.name == *name)
        };
        let new: Vec<&(BaseDir, Vec<u8>, Change)> = self.files.iter().filter(is_new).collect();
        if !new.is_empty() {
            let backups = self.back_up(new)?;
            for backup in &backups {
                let path = self.path(backup.place, &backup.name)?;
                let directory = path.parent().filter(|_| !backup.backup.is_empty());
                directory.map_or(Ok(()), |directory| {
                    self.context.storage.sync_directory(directory)
                })?;
            }
            self.append_to_list(BACKUPS, &journal::encode_backup_lines(&backups))?;
            started.backups.extend(backups);
        }
        if started.lengths < self.lengths.len() {
            let lengths = self.lengths.get(started.lengths..).unwrap_or_default();
            self.append_to_list(JOURNAL, &journal::encode_lengths(lengths))?;
            started.lengths = self.lengths.len();
        }
        Ok(started)
    }

    fn append_to_list(&self, name: &str, bytes: &[u8]) -> Result<(), RepoError> {
        let path = self.context.store().join(name);
        let file = self.context.storage.open(&path, OpenMode::Append)?;
        file.append(bytes)?;
        Ok(file.sync()?)
    }

    /// Undoes the writes so far.
    pub(crate) fn abandon(mut self) {
        let hooks = self.hooks.take();
        self.undo(hooks);
    }

    /// If that fails as well, the journal stays for `recover`.
    fn undo(&self, hooks: Option<TransactionHooks>) {
        let context = &self.context;
        let _ = match hooks {
            Some(hooks) => hooks
                .roll_back_with(self.write_attempted || !self.lengths.is_empty(), || {
                    roll_back(context)
                }),
            None => roll_back(context),
        };
    }

    /// Shows hooks the pending data and asks them.
    fn run_closing_hooks(
        &self,
        hooks: &mut TransactionHooks,
        steps: &impl WriteSteps,
    ) -> Result<(), RepoError> {
        steps.write_pending_changelog()?;
        hooks.run_pretxncommit()?;
        // These do not see phases yet.
        hooks.run_pretxnchangegroup()?;
        hooks.run_prepushkey()?;
        for (place, name, change) in &self.files {
            if let Change::Replace(bytes) = change
                && PENDING.contains(&(*place, name))
            {
                let path = self.path(*place, &pending::name_of(name))?;
                replace(self.context.storage.as_ref(), &path, bytes)?;
            }
        }
        match self.has_visible_pending(steps) {
            true => hooks.run_pretxnclose(),
            false => hooks.run_pretxnclose_without_pending(),
        }
    }

    /// Whether any of it is pending where hooks can look at it; markers are not.
    fn has_visible_pending(&self, steps: &impl WriteSteps) -> bool {
        let shown = |name: &[u8]| name != obsstore::FILE.as_bytes();
        let appended = self.appends.iter().any(|(length, _)| shown(&length.name));
        let lengths = self.lengths.iter().any(|length| shown(&length.name));
        !self.files.is_empty() || appended || (lengths && steps.has_new_revisions())
    }

    fn back_up<'f>(
        &self,
        files: impl IntoIterator<Item = &'f (BaseDir, Vec<u8>, Change)>,
    ) -> Result<Vec<Backup>, RepoError> {
        let storage = self.context.storage.as_ref();
        let mut backups = Vec::new();
        for (place, name, _) in files {
            let mut backup = backup_name("journal", name);
            let from = self.path(*place, name)?;
            let to = self.path(*place, &backup)?;
            // Of an earlier transaction that was interrupted just after its end.
            remove_if_exists(&self.context, &to)?;
            match storage.link(&from, &to) {
                Err(error) if error.is_not_found() => backup.clear(),
                other => other?,
            }
            backups.push(Backup {
                place: *place,
                name: name.clone(),
                backup,
                is_cache: false,
            });
        }
        Ok(backups)
    }

    fn path(&self, place: BaseDir, name: &[u8]) -> Result<PathBuf, RepoError> {
        let path = place.path(&self.context, name);
        path.ok_or_else(|| RepoError::JournalOutside {
            path: self.context.root.clone(),
            name: String::from_utf8_lossy(name).into_owned(),
        })
    }

    fn write_journal(&self, backups: &[Backup], changesets: usize) -> Result<(), RepoError> {
        let (context, store) = (&self.context, self.context.store());
        let description = format!("{changesets}\n{}\n", self.description);
        let description = description.into_bytes();
        write_new(context, &context.hg().join(DESCRIPTION), &description)?;
        write_new(
            context,
            &store.join(BACKUPS),
            &journal::encode_backups(backups),
        )?;
        if backups.iter().any(|backup| backup.place == BaseDir::Hg) {
            context.storage.sync_directory(&context.hg())?;
        }
        // The journal proper comes last, so that it is never there without the backups.
        let lengths = journal::encode_lengths(&self.lengths);
        write_new(context, &store.join(JOURNAL), &lengths)?;
        Ok(context.storage.sync_directory(&store)?)
    }

    fn apply(&self, wanted: BaseDir) -> Result<(), RepoError> {
        let storage = self.context.storage.as_ref();
        for (place, name, change) in &self.files {
            if *place != wanted {
                continue;
            }
            let path = self.path(*place, name)?;
            match change {
                Change::BackupOnly | Change::ByAppender => {}
                Change::Replace(bytes) => replace(storage, &path, bytes)?,
                Change::Remove => remove_if_exists(&self.context, &path)?,
            }
        }
        Ok(())
    }

    /// Cuts off the rest of an interrupted transaction behind the known end.
    fn append_to_files(&self) -> Result<(), RepoError> {
        let storage = self.context.storage.as_ref();
        for (Length { name, len }, bytes) in &self.appends {
            let path = self.path(BaseDir::Store, name)?;
            let file = match storage.open(&path, OpenMode::Append) {
                Err(error) if error.is_not_found() => storage.open(&path, OpenMode::CreateNew)?,
                other => other?,
            };
            if file.len()? > *len {
                file.truncate(*len)?;
            }
            file.append(bytes)?;
            file.sync()?;
        }
        Ok(())
    }
}

/// Writes a small file anew; one that an interruption left is replaced.
fn write_new(context: &RepoContext, path: &Path, bytes: &[u8]) -> Result<(), RepoError> {
    remove_if_exists(context, path)?;
    let file = context.storage.open(path, OpenMode::CreateNew)?;
    file.append(bytes)?;
    Ok(file.sync()?)
}

/// Ends the transaction: its journal gets the names under which Mercurial keeps the last one.
fn keep_for_undo(context: &RepoContext, backups: &[Backup]) -> Result<(), RepoError> {
    let (store, hg) = (context.store(), context.hg());
    let storage = context.storage.as_ref();
    remove_undo(context)?;
    let mut kept = Vec::with_capacity(backups.len());
    for backup in backups.iter().filter(|backup| !backup.name.is_empty()) {
        let mut kept_as = backup.clone();
        if !backup.backup.is_empty() {
            kept_as.backup = backup_name(UNDO, &backup.name);
            let at = |name: &[u8]| backup.place.path(context, name);
            if let (Some(from), Some(to)) = (at(&backup.backup), at(&kept_as.backup)) {
                remove_if_exists(context, &to)?;
                storage.link(&from, &to)?;
            }
        }
        kept.push(kept_as);
    }
    let list = storage.open(&undo_backups(&store), OpenMode::CreateNew)?;
    list.append(&journal::encode_backups(&kept))?;
    storage.rename(&store.join(JOURNAL), &store.join(UNDO))?;
    storage.sync_directory(&store)?;
    storage.rename(&hg.join(DESCRIPTION), &hg.join("undo.desc"))?;
    remove_if_exists(context, &store.join(BACKUPS))?;
    for backup in backups {
        if let Some(path) = backup.place.path(context, &backup.backup) {
            remove_if_exists(context, &path)?;
        }
    }
    Ok(())
}

pub(crate) fn undo_backups(store: &Path) -> PathBuf {
    store.join("undo.backupfiles")
}

/// Removes the undo files of the transaction before; damage in their list is ignored.
pub(crate) fn remove_undo(context: &RepoContext) -> Result<(), RepoError> {
    let (store, list) = (context.store(), undo_backups(&context.store()));
    let bytes = read_if_there(context.storage.as_ref(), &list)?.unwrap_or_default();
    for old in journal::decode_backups(&bytes).unwrap_or_default() {
        // Only files with the name of such a copy.
        let is_copy = old.backup == backup_name(UNDO, &old.name);
        if let Some(path) = old.place.path(context, &old.backup).filter(|_| is_copy) {
            remove_if_exists(context, &path)?;
        }
    }
    for path in [list, store.join(UNDO), context.hg().join("undo.desc")] {
        remove_if_exists(context, &path)?;
    }
    Ok(())
}
