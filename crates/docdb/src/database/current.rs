//! The file that a database is in at the moment, the right to write to it, and its replacement by a compaction.

use super::{Current, Database};
use crate::{DocdbError, InPlace, Snapshot};
use parking_lot::MutexGuard;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use varve_btree::{Transaction, TreeError, TreeFile};

impl Database {
    /// The file as long as no compaction replaces it.
    pub(crate) fn file(&self) -> Arc<TreeFile> {
        let current = self.shared.current.read();
        Arc::clone(&current.file)
    }

    /// Calls `work` while no other thread writes or deletes.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Arc<TreeFile>, Transaction<'_>) -> Result<T, DocdbError>,
    ) -> Result<T, DocdbError> {
        loop {
            let file = self.file();
            let txn = match file.begin() {
                Err(TreeError::ReadOnly { .. }) => return Err(self.read_only_error()),
                begun => begun?,
            };
            // While this one waited, a compaction may have put another file in the place.
            if !Arc::ptr_eq(&file, &self.file()) {
                continue;
            }
            if self.is_deleted() {
                return Err(self.deleted());
            }
            if file.is_removed() {
                return Err(DocdbError::Removed {
                    path: self.shared.path.clone(),
                });
            }
            self.sync_swap()?;
            return work(&file, txn);
        }
    }

    /// Refuses to replace a file that is kept as it is.
    pub(crate) fn check_writable(&self) -> Result<(), DocdbError> {
        match self.file().is_read_only() {
            true => Err(self.read_only_error()),
            false => Ok(()),
        }
    }

    fn read_only_error(&self) -> DocdbError {
        let path = self.shared.path.clone();
        if self.is_following() {
            return DocdbError::Following { path };
        }
        DocdbError::ReadOnly {
            path,
            reason: self.why_read_only().unwrap_or_default(),
        }
    }

    /// Makes a commit the newest one. The writer of its file is free again by then: if a compaction was waiting for
    /// that, it has taken the commit over and shows it already, and another writer may have been quicker to show a
    /// later one.
    pub(crate) fn publish(&self, file: &Arc<TreeFile>, snapshot: Snapshot) {
        let mut current = self.shared.current.write();
        let is_newer = snapshot.tree().position() > current.newest.tree().position();
        if Arc::ptr_eq(&current.file, file) && is_newer {
            current.newest = snapshot;
        }
    }

    /// Puts a file that holds the same into the place of the one that is locked against writers.
    /// The new file has been renamed already.
    pub(crate) fn replace_file(
        &self,
        file: Arc<TreeFile>,
        newest: Snapshot,
    ) -> Result<(), DocdbError> {
        self.shared.is_swap_in_doubt.store(true, Ordering::Release);
        {
            let mut current = self.shared.current.write();
            *current = Current { file, newest };
        }
        self.sync_swap()
    }

    /// Nothing may be committed into a file before its name is durable.
    fn sync_swap(&self) -> Result<(), DocdbError> {
        let shared = &self.shared;
        if shared.is_swap_in_doubt.load(Ordering::Acquire) {
            let directory = shared.path.parent().unwrap_or(Path::new(""));
            shared.storage.sync_directory(directory)?;
            shared.is_swap_in_doubt.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// When compactions are done in place.
    pub(crate) fn in_place(&self) -> InPlace {
        self.shared.options.in_place
    }

    /// Whether nothing is known against holes in the file.
    pub(crate) fn may_have_holes(&self) -> bool {
        !self.shared.has_no_holes.load(Ordering::Relaxed)
    }

    /// There are no holes here; the next compactions need not try.
    pub(crate) fn has_no_holes(&self) {
        self.shared.has_no_holes.store(true, Ordering::Relaxed);
    }

    /// Whether a compaction is under way.
    pub fn is_compacting(&self) -> bool {
        *self.compacting()
    }

    pub(super) fn compacting(&self) -> MutexGuard<'_, bool> {
        self.shared.is_compacting.lock()
    }

    /// Whether the caller may begin a compaction, and has to say when it ends.
    pub(crate) fn claim_compaction(&self) -> bool {
        !std::mem::replace(&mut *self.compacting(), true)
    }

    pub(crate) fn end_compaction(&self) {
        *self.compacting() = false;
        self.shared.compacted.notify_all();
    }
}
