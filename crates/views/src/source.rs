//! What a view index needs of a database.

use crate::ViewError;

/// One moment of a database: its documents by sequence, each once, with its newest change.
pub trait Documents: Sync {
    /// What is known of a document before it is read.
    type Change: Send;

    /// The database's own id, which no other database has. An index of another one is not used.
    fn identity(&self) -> [u8; 16];

    /// The sequence of the last change.
    fn update_seq(&self) -> u64;

    /// How many changes come after `since`; for progress only.
    ///
    /// # Errors
    /// The database cannot be read.
    fn count_since(&self, since: u64) -> Result<u64, ViewError>;

    /// The changes after `since`, in the order of their sequences.
    ///
    /// # Errors
    /// The database cannot be read; the iterator can meet that later.
    fn changes_since(
        &self,
        since: u64,
    ) -> Result<impl Iterator<Item = Result<Self::Change, ViewError>>, ViewError>;

    /// The change's sequence.
    fn seq(change: &Self::Change) -> u64;

    /// The document's id.
    fn id(change: &Self::Change) -> &str;

    /// Whether the winning revision is a deletion.
    fn is_deleted(change: &Self::Change) -> bool;

    /// Appends the winning revision as JSON text, with `_id`, `_rev` and attachment stubs.
    ///
    /// # Errors
    /// The database cannot be read.
    fn read(&self, change: &Self::Change, json: &mut Vec<u8>) -> Result<(), ViewError>;
}
