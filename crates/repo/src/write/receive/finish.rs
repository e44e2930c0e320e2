//! From what was received to what counts.

use super::{ReceiveReport, Receiver, keep_caches_warm};
use crate::format::context::RepoContext;
use crate::format::journal::Place;
use crate::format::lock::Lock;
use crate::format::{RepoError, fncache, pending};
use crate::write::commit::finish::with_names;
use crate::write::transaction::Steps;
use std::sync::Arc;
use varve_revlog::Appender;

/// The revlogs that are written last.
struct Last {
    context: Arc<RepoContext>,
    manifest: Option<Appender>,
    changelog: Appender,
    /// Number of new changesets.
    added: usize,
}

impl Steps for Last {
    fn bring_revisions(&self) -> bool {
        self.added > 0
    }

    fn first(&mut self) -> Result<(), RepoError> {
        if let Some(manifest) = self.manifest.take() {
            manifest.write_unsynced()?;
        }
        // The chunks of the changelog too: its index alone is left.
        self.changelog.spill()?;
        Ok(self.context.storage.sync_tree(&self.context.store())?)
    }

    fn pending(&self) -> Result<(), RepoError> {
        let path = self.context.store().join(pending::CHANGELOG);
        Ok(self.changelog.write_beside(&path)?)
    }

    fn last(self) -> Result<(), RepoError> {
        self.changelog.write()?;
        Ok(self.context.storage.sync_folder(&self.context.store())?)
    }
}

impl Receiver {
    /// Makes everything count; gives the store's lock back.
    ///
    /// # Errors
    /// [`RepoError::Hook`]; what the storage answers. Everything is then as it was.
    pub fn finish(mut self) -> Result<(ReceiveReport, Lock), RepoError> {
        if let Err(error) = self.prepare() {
            self.abandon();
            return Err(error);
        }
        let before = self.view.changelog().len();
        let added = self.numbers.len();
        self.report.new = before as u32..(before + added) as u32;
        let context = Arc::clone(&self.view.context);
        let steps = Last {
            context: Arc::clone(&context),
            manifest: Some(self.manifests.into_worker().log),
            changelog: self.changesets.into_worker().log,
            added,
        };
        let lock = self.transaction.run(before, steps)?;
        if added > 0 {
            // The changesets are there, whatever becomes of the caches.
            let _ = keep_caches_warm(&context, (before, added), None);
        }
        Ok((self.report, lock))
    }

    /// Tells the transaction of all files that are replaced.
    fn prepare(&mut self) -> Result<(), RepoError> {
        self.changesets.rest()?;
        let manifests = self.manifests.rest()?;
        self.files.settle(&mut self.transaction)?;
        let new_names = std::mem::take(&mut self.files.new_names);
        if !new_names.is_empty() {
            let context = &self.view.context;
            let bytes = with_names(context.storage.as_ref(), &context.store(), &new_names)?;
            let name = fncache::FILE.as_bytes();
            self.transaction.replace(Place::Store, name, bytes);
        }
        if manifests.log.will_replace_index() {
            self.transaction.will_replace(b"00manifest.i");
        }
        self.write_phases();
        if let Some(bookmarks) = self.bookmarks.take() {
            self.transaction.set_bookmarks(&bookmarks)?;
        }
        Ok(())
    }
}
