//! Revisions on their way to the thread that stores them.

use crate::format::RepoError;
use crate::write::worker::{Batch, BatchHandler};
use varve_revlog::ReceivedRevision;

/// Bytes of an item besides its patch.
const BATCH_ITEM_LEN: usize = size_of::<BatchItem>();

/// Revisions in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct RevisionBatch {
    items: Vec<BatchItem>,
    /// Of all revisions, one after the other.
    patches: Vec<u8>,
}

#[derive(Debug)]
enum BatchItem {
    /// Revisions of this file follow.
    Begin(Vec<u8>),
    /// Its patch is the next that many bytes.
    Revision(ReceivedRevision<'static>, usize),
    /// The file is complete.
    End,
}

/// Stores revisions.
pub(crate) trait RevisionSink: Send + 'static {
    /// A file begins.
    ///
    /// # Errors
    /// A damaged revlog.
    fn begin(&mut self, _path: Vec<u8>) -> Result<(), RepoError> {
        Ok(())
    }

    /// A revision comes.
    ///
    /// # Errors
    /// A revision whose text, parents or node disagree.
    fn revision(&mut self, received: &ReceivedRevision<'_>) -> Result<(), RepoError>;

    /// The file ends.
    ///
    /// # Errors
    /// Errors of the storage.
    fn end(&mut self) -> Result<(), RepoError> {
        Ok(())
    }
}

impl RevisionBatch {
    pub fn begin(&mut self, path: Vec<u8>) {
        self.items.push(BatchItem::Begin(path));
    }

    pub fn revision(&mut self, received: &ReceivedRevision<'_>) {
        self.patches.extend_from_slice(received.patch);
        let len = received.patch.len();
        let without_patch = ReceivedRevision {
            patch: &[],
            ..*received
        };
        self.items.push(BatchItem::Revision(without_patch, len));
    }

    pub fn end(&mut self) {
        self.items.push(BatchItem::End);
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn store_into(self, handler: &mut impl RevisionSink) -> Result<(), RepoError> {
        let mut patches = &self.patches[..];
        for item in self.items {
            match item {
                BatchItem::Begin(path) => handler.begin(path)?,
                BatchItem::End => handler.end()?,
                BatchItem::Revision(received, len) => {
                    let (patch, rest) = patches.split_at(len);
                    patches = rest;
                    handler.revision(&ReceivedRevision { patch, ..received })?;
                }
            }
        }
        Ok(())
    }
}

impl Batch for RevisionBatch {
    fn len(&self) -> usize {
        self.patches.len() + self.items.len() * BATCH_ITEM_LEN
    }
}

impl<S: RevisionSink> BatchHandler for S {
    type Batch = RevisionBatch;

    fn handle(&mut self, batch: RevisionBatch) -> Result<(), RepoError> {
        batch.store_into(self)
    }
}
