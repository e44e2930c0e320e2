//! Filters between the files on the disk and the contents that are stored.

use std::fmt::Debug;

/// Changes contents on their way from the working copy to the store and back; also the targets of links.
pub trait FileFilters: Debug + Send + Sync {
    /// The content to be stored for a file that has `content` on the disk.
    ///
    /// # Errors
    /// The words about a filter that failed.
    fn encode(&self, path: &[u8], content: Vec<u8>) -> Result<Vec<u8>, String>;

    /// The content to be written to the disk for a file whose stored content is `content`.
    ///
    /// # Errors
    /// The words about a filter that failed.
    fn decode(&self, path: &[u8], content: Vec<u8>) -> Result<Vec<u8>, String>;
}
