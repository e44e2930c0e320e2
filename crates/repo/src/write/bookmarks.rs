//! Writing bookmarks.

use crate::format::journal::BaseDir;
use crate::format::lock::Lock;
use crate::format::{RepoError, bookmarks};
use crate::read::{Repository, ViewFilter};
use crate::write::transaction::Transaction;
use std::collections::BTreeMap;
use varve_base::storage::read_if_there;
use varve_revlog::Node;

impl Repository {
    /// Creates a bookmark or moves it, in a transaction of its own under the store's lock.
    ///
    /// # Errors
    /// If the bookmarks are damaged; [`RepoError::Hook`]; a failure of the storage.
    pub fn set_bookmark(&self, lock: Lock, name: &[u8], node: Node) -> Result<(), RepoError> {
        let mut bookmarks = self.view_for(ViewFilter::Unfiltered)?.bookmarks().clone();
        bookmarks.insert(name.to_vec(), node);
        let mut transaction = self.transaction(lock, "bookmark")?;
        transaction.set_bookmarks(&bookmarks)?;
        transaction.finish()
    }
}

impl Transaction {
    /// Replaces all bookmarks.
    ///
    /// # Errors
    /// If those that are there cannot be read.
    pub fn set_bookmarks(&mut self, bookmarks: &BTreeMap<Vec<u8>, Node>) -> Result<(), RepoError> {
        let bytes = bookmarks::encode(bookmarks);
        self.note_bookmarks(bookmarks)?;
        let place = if self.context.requirements.has("bookmarksinstore") {
            BaseDir::Store
        } else {
            BaseDir::Hg
        };
        self.replace(place, b"bookmarks", bytes);
        Ok(())
    }

    /// Keeps the changes for hooks.
    fn note_bookmarks(&mut self, after: &BTreeMap<Vec<u8>, Node>) -> Result<(), RepoError> {
        let Some(hooks) = &mut self.hooks else {
            return Ok(());
        };
        let context = &self.context;
        let path = bookmarks::path(&context.hg(), &context.requirements);
        let bytes = read_if_there(context.storage.as_ref(), &path)?;
        let before = bookmarks::parse(&bytes.unwrap_or_default());
        hooks.set_bookmark_changes(&before.by_name, after);
        Ok(())
    }
}
