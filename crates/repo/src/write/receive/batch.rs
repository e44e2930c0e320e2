//! Revisions on their way to the thread that stores them.

use crate::format::RepoError;
use crate::write::worker::{Batch, Worker};
use varve_revlog::Received;

/// What an item takes besides its patch.
const ITEM_LEN: usize = size_of::<Item>();

/// Revisions in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Revisions {
    items: Vec<Item>,
    /// Of all revisions, one after the other.
    patches: Vec<u8>,
}

#[derive(Debug)]
enum Item {
    /// Revisions of this file follow.
    Begin(Vec<u8>),
    /// Its patch is the next that many bytes.
    Revision(Received<'static>, usize),
    /// The file is complete.
    End,
}

/// Stores revisions.
pub(crate) trait Storing: Send + 'static {
    /// A file begins.
    ///
    /// # Errors
    /// What is damaged.
    fn begin(&mut self, _path: Vec<u8>) -> Result<(), RepoError> {
        Ok(())
    }

    /// A revision comes.
    ///
    /// # Errors
    /// What is not as it says it is.
    fn revision(&mut self, received: &Received<'_>) -> Result<(), RepoError>;

    /// The file ends.
    ///
    /// # Errors
    /// What the storage answers.
    fn end(&mut self) -> Result<(), RepoError> {
        Ok(())
    }
}

impl Revisions {
    pub fn begin(&mut self, path: Vec<u8>) {
        self.items.push(Item::Begin(path));
    }

    pub fn revision(&mut self, received: &Received<'_>) {
        self.patches.extend_from_slice(received.patch);
        let len = received.patch.len();
        let without_patch = Received {
            patch: &[],
            ..*received
        };
        self.items.push(Item::Revision(without_patch, len));
    }

    pub fn end(&mut self) {
        self.items.push(Item::End);
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn work(self, worker: &mut impl Storing) -> Result<(), RepoError> {
        let mut patches = &self.patches[..];
        for item in self.items {
            match item {
                Item::Begin(path) => worker.begin(path)?,
                Item::End => worker.end()?,
                Item::Revision(received, len) => {
                    let (patch, rest) = patches.split_at(len);
                    patches = rest;
                    worker.revision(&Received { patch, ..received })?;
                }
            }
        }
        Ok(())
    }
}

impl Batch for Revisions {
    fn len(&self) -> usize {
        self.patches.len() + self.items.len() * ITEM_LEN
    }
}

impl<S: Storing> Worker for S {
    type Batch = Revisions;

    fn work(&mut self, batch: Revisions) -> Result<(), RepoError> {
        batch.work(self)
    }
}
