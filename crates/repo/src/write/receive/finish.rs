//! Makes received revisions final.

use super::{ReceiveReport, Receiver, update_branch_caches};
use crate::format::context::RepoContext;
use crate::format::journal::BaseDir;
use crate::format::lock::Lock;
use crate::format::{RepoError, fncache, pending};
use crate::write::commit::finish::fncache_with;
use crate::write::transaction::WriteSteps;
use std::sync::Arc;
use varve_revlog::Appender;

/// The revlogs that are written last.
struct FinalWrites {
    context: Arc<RepoContext>,
    manifest: Option<Appender>,
    changelog: Appender,
    /// Number of new changesets.
    added: usize,
}

impl WriteSteps for FinalWrites {
    fn has_new_revisions(&self) -> bool {
        self.added > 0
    }

    fn write_revisions(&mut self) -> Result<(), RepoError> {
        if let Some(manifest) = self.manifest.take() {
            manifest.write_unsynced()?;
        }
        // The chunks of the changelog too: its index alone is left.
        self.changelog.spill()?;
        Ok(self.context.storage.sync_tree(&self.context.store())?)
    }

    fn write_pending_changelog(&self) -> Result<(), RepoError> {
        let path = self.context.store().join(pending::CHANGELOG);
        Ok(self.changelog.write_pending_index(&path)?)
    }

    fn write_changelog(self) -> Result<(), RepoError> {
        self.changelog.write()?;
        Ok(self.context.storage.sync_directory(&self.context.store())?)
    }
}

impl Receiver {
    /// Makes everything count; gives the store's lock back.
    ///
    /// # Errors
    /// [`RepoError::Hook`]; errors of the storage. Everything is then as it was.
    pub fn finish(mut self) -> Result<(ReceiveReport, Lock), RepoError> {
        if let Err(error) = self.prepare() {
            self.abandon();
            return Err(error);
        }
        let before = self.view.changelog().len();
        let added = self.numbers.len();
        self.report.new = before as u32..(before + added) as u32;
        let context = Arc::clone(&self.view.context);
        let steps = FinalWrites {
            context: Arc::clone(&context),
            manifest: Some(self.manifests.into_handler().log),
            changelog: self.changesets.into_handler().log,
            added,
        };
        let lock = self.transaction.run(before, steps)?;
        if added > 0 {
            // The changesets are there, whatever becomes of the caches.
            let _ = update_branch_caches(&context, (before, added), None);
        }
        Ok((self.report, lock))
    }

    /// Tells the transaction of all files that are replaced.
    fn prepare(&mut self) -> Result<(), RepoError> {
        self.changesets.drain()?;
        let manifests = self.manifests.drain()?;
        self.files.write_all(&mut self.transaction)?;
        let new_names = std::mem::take(&mut self.files.new_names);
        if !new_names.is_empty() {
            let context = &self.view.context;
            let bytes = fncache_with(context.storage.as_ref(), &context.store(), &new_names)?;
            let name = fncache::FILE.as_bytes();
            self.transaction.replace(BaseDir::Store, name, bytes);
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
