//! Databases whose file another process writes: their commits are shown as they come, until this process writes itself.

use super::{Current, Database, DatabaseOptions, tree_options};
use crate::{DocdbError, Snapshot, compact};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use varve_base::Storage;
use varve_btree::{TreeError, TreeFile};

impl Database {
    /// Opens a database for reading that another process writes; its later commits are seen after [`Database::follow`].
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open_following(
        storage: Arc<dyn Storage>,
        path: &Path,
        wanted: &DatabaseOptions,
    ) -> Result<Database, DocdbError> {
        let file = TreeFile::open_read_only(storage.as_ref(), path, tree_options(wanted))?;
        let database = Database::make(storage, path, wanted, (file, 1))?;
        let seen = database.snapshot().commit_id()?;
        *database.shared.following.lock() = Some(seen);
        database.shared.is_following.store(true, Ordering::Release);
        Ok(database)
    }

    /// True as long as another process writes the file.
    pub fn is_following(&self) -> bool {
        self.shared.is_following.load(Ordering::Acquire)
    }

    /// Shows the newest commit of the file as it is now, also that of a file which a compaction has put in its place. A database
    /// that was removed or made anew counts as deleted from then on, and so does one that was put back to an earlier state. Does
    /// nothing once this process writes.
    ///
    /// # Errors
    /// Damage, and errors of the storage.
    pub fn follow(&self) -> Result<(), DocdbError> {
        let shared = &self.shared;
        let mut seen = shared.following.lock();
        if !self.is_following() || self.is_deleted() {
            return Ok(());
        }
        let (storage, file) = (shared.storage.as_ref(), self.file());
        let is_same = match file.is_at(storage, &shared.path) {
            Err(TreeError::Storage(error)) if error.is_not_found() => {
                self.end_following();
                return Ok(());
            }
            found => found?,
        };
        let file = match is_same {
            true => {
                let is_newer = file.follow()?;
                if let Some(seen) = &*seen
                    && !file.follows(seen)?
                {
                    self.end_following();
                    return Ok(());
                }
                if !is_newer {
                    return Ok(());
                }
                file
            }
            false => Arc::new(self.open_file_in_place()?),
        };
        let newest = Snapshot::new(file.snapshot(), &shared.path)?;
        if newest.uuid_bytes() != self.snapshot().uuid_bytes() {
            self.end_following();
            return Ok(());
        }
        let seq = newest.update_seq();
        *seen = Some(newest.commit_id()?);
        *shared.current.write() = Current { file, newest };
        drop(seen);
        shared.watch.publish(seq);
        Ok(())
    }

    fn open_file_in_place(&self) -> Result<TreeFile, DocdbError> {
        let (storage, path) = (self.shared.storage.as_ref(), &self.shared.path);
        let options = tree_options(&self.shared.options);
        Ok(TreeFile::open_read_only(storage, path, options)?)
    }

    fn end_following(&self) {
        self.shared.is_deleted.store(true, Ordering::Release);
        self.shared.watch.close();
    }

    /// Makes this process the only writer of the file, as [`Database::open`] does, unless the database was removed. Snapshots
    /// and subscriptions stay good.
    ///
    /// # Errors
    /// As [`Database::open`]; the database still follows then.
    pub fn begin_writing(&self) -> Result<(), DocdbError> {
        self.follow()?;
        let shared = &self.shared;
        let _alone = shared.following.lock();
        if !self.is_following() || self.is_deleted() {
            return Ok(());
        }
        let (storage, path) = (shared.storage.as_ref(), &shared.path);
        let options = tree_options(&shared.options);
        let file = TreeFile::open_keeping(storage, path, options.clone())?;
        let newest = Snapshot::new(file.snapshot(), path)?;
        let mut next_dictionary = newest.header().next_dictionary;
        if !file.is_read_only() {
            next_dictionary =
                next_dictionary.max(compact::keep_begun(storage, path, options, &file)?);
        }
        shared.training.skip_to(next_dictionary);
        let file = Arc::new(file);
        *shared.current.write() = Current { file, newest };
        shared.is_following.store(false, Ordering::Release);
        Ok(())
    }

    /// Makes this process follow the file again, which another one is to write. `release` is called when no commit is under way,
    /// and is to make sure that none can follow. Returns false, and calls nothing, while a compaction is under way. Writers that
    /// come later get [`DocdbError::Following`]; snapshots and subscriptions stay good.
    ///
    /// # Errors
    /// Those of `release`; damage, and errors of the storage. The database has to be opened again then.
    pub fn end_writing<E>(&self, release: impl FnOnce() -> Result<(), E>) -> Result<bool, E>
    where
        E: From<DocdbError>,
    {
        if self.is_following() || self.is_deleted() {
            return Ok(true);
        }
        if !self.claim_compaction() {
            return Ok(false);
        }
        let ended = self.end_writing_alone(release);
        self.end_compaction();
        ended.map(|()| true)
    }

    fn end_writing_alone<E>(&self, release: impl FnOnce() -> Result<(), E>) -> Result<(), E>
    where
        E: From<DocdbError>,
    {
        let shared = &self.shared;
        let mut ended = Ok(());
        let waited = self.write(|_, txn| {
            let mut seen = shared.following.lock();
            ended = release().and_then(|()| {
                let file = Arc::new(self.open_file_in_place()?);
                let newest = Snapshot::new(file.snapshot(), &shared.path)?;
                *seen = Some(newest.commit_id()?);
                shared.is_following.store(true, Ordering::Release);
                *shared.current.write() = Current { file, newest };
                Ok(())
            });
            drop(txn);
            Ok(())
        });
        waited?;
        ended
    }
}
