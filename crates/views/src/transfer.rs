//! The file of an index for another process, and one that another process has built in its place.

use crate::ViewError;
use crate::error::is_of_no_use;
use crate::files::{fetched_path, remove_rest};
use crate::header::IndexHeader;
use crate::index::{ViewIndex, tree_options};
use parking_lot::MutexGuard;
use std::path::PathBuf;
use std::sync::Arc;
use varve_base::{OpenMode, StorageFile};
use varve_btree::{Tail, TreeFile};
use varve_docdb::Snapshot;

/// The beginning of an index's file: a whole index, which stays as it is while the file grows or is replaced.
#[derive(Clone, Debug)]
pub struct IndexExport {
    /// The file.
    pub file: Arc<dyn StorageFile>,
    /// Its length up to the end of the newest commit.
    pub len: u64,
    /// The sequence of the database that it covers.
    pub seq: u64,
}

/// An empty file that is filled to take the place of an index's file. Nothing is built meanwhile. The file goes when this is
/// dropped.
#[derive(Debug)]
pub struct IndexReplacement<'i> {
    index: &'i ViewIndex,
    file: Arc<dyn StorageFile>,
    path: PathBuf,
    _builder: MutexGuard<'i, ()>,
}

impl ViewIndex {
    /// All of the index in its file. `None` while it is being built, and if it is empty or its file was removed.
    ///
    /// # Errors
    /// Damage, and errors of the storage.
    pub fn export(&self) -> Result<Option<IndexExport>, ViewError> {
        let Some(_builder) = self.try_lock() else {
            return Ok(None);
        };
        let state = self.state();
        let Some(header) = IndexHeader::decode(state.rows.user_header()) else {
            return Ok(None);
        };
        let storage = self.storage.as_ref();
        let file = match storage.open(&self.path, OpenMode::Read) {
            Err(error) if error.is_not_found() => return Ok(None),
            opened => opened?,
        };
        if !state.file.is_at(storage, &self.path)? {
            return Ok(None);
        }
        let is_written = state.rows.changed_items() == 0
            && state.rows.user_header() == state.file.snapshot().user_header();
        if !is_written {
            self.write(Arc::clone(&state.file), &state.rows)?;
        }
        Ok(Some(IndexExport {
            file,
            len: state.file.sizes().file,
            seq: header.seq,
        }))
    }

    /// Begins to replace the index by one that another process has built. Waits for a build that is under way.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn begin_replacement(&self) -> Result<IndexReplacement<'_>, ViewError> {
        let _builder = self.lock();
        let path = fetched_path(&self.path);
        remove_rest(self.storage.as_ref(), &path)?;
        Ok(IndexReplacement {
            index: self,
            file: self.storage.open(&path, OpenMode::CreateNew)?,
            path,
            _builder,
        })
    }
}

impl IndexReplacement<'_> {
    /// The file.
    pub fn file(&self) -> &dyn StorageFile {
        self.file.as_ref()
    }

    /// Uses the file from now on, unless it is none of an index of this group over these documents which covers more of them than
    /// the present one; returns false then. The caller must know that the documents are what became of those that the index was
    /// built of: that is not in the file.
    ///
    /// # Errors
    /// [`ViewError::Interrupted`] once [`ViewIndex::end`] was called; errors of the storage.
    pub fn finish(self, documents: &Snapshot) -> Result<bool, ViewError> {
        let index = self.index;
        let storage = index.storage.as_ref();
        let options = || tree_options(&index.group, &index.options);
        let made = match TreeFile::open(storage, &self.path, options()) {
            Err(error) if is_of_no_use(&error) => return Ok(false),
            opened => opened?,
        };
        let is_whole = !made.is_read_only() && made.recovery().tail == Tail::None;
        let header = IndexHeader::decode(made.snapshot().user_header());
        let present = IndexHeader::decode(index.state().rows.user_header());
        let is_better = header.is_some_and(|header| {
            header.database == documents.uuid()
                && header.seq <= documents.update_seq()
                && present.is_none_or(|present| present.seq < header.seq)
        });
        if !(is_whole && is_better) {
            return Ok(false);
        }
        let renaming = index.renaming.lock();
        index.ended.check()?;
        storage.rename(&self.path, &index.path)?;
        drop(renaming);
        // Under its own name, so that messages say which file is meant.
        let renamed = TreeFile::open(storage, &index.path, options());
        index.use_compared_file(Arc::new(renamed.unwrap_or(made)));
        Ok(true)
    }
}

impl Drop for IndexReplacement<'_> {
    fn drop(&mut self) {
        // Once it was renamed there is none. If this fails, the next opening removes it.
        let _ = remove_rest(self.index.storage.as_ref(), &self.path);
    }
}
