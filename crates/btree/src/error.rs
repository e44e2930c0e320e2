//! Errors of a tree file.

use std::path::{Path, PathBuf};
use varve_base::StorageError;
use varve_codec::CodecError;

/// A call on a tree file failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The storage refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The file begins with other bytes than a tree file does.
    #[error("{path} is not a varve file", path = path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// A later Varve wrote the file.
    #[error("{path} has format version {found}; this build reads version {known}", path = path.display())]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// The version it has.
        found: u8,
        /// The version that this build reads and writes.
        known: u8,
    },
    /// A tree file, but made for something else.
    #[error("{path} is a {found} with {found_trees} trees, not a {expected} with {expected_trees}",
            path = path.display())]
    WrongKind {
        /// Path of the file.
        path: PathBuf,
        /// The kind in the file's header.
        found: String,
        /// How many trees it has.
        found_trees: usize,
        /// The kind that was asked for.
        expected: String,
        /// How many trees were asked for.
        expected_trees: usize,
    },
    /// The file's creation was cut short: it holds no commit, so creation has not returned.
    #[error("{path} was never finished: it holds no commit", path = path.display())]
    Unfinished {
        /// Path of the file.
        path: PathBuf,
    },
    /// Bytes that differ from the written ones.
    #[error("{path} is damaged at byte {offset}: {reason}", path = path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Where the damaged structure begins.
        offset: u64,
        /// The violated rule.
        reason: &'static str,
    },
    /// A chunk's checksum holds, but it does not expand.
    #[error("cannot expand the chunk at byte {offset} of {path}: {source}", path = path.display())]
    Expand {
        /// Path of the file.
        path: PathBuf,
        /// Where the chunk begins.
        offset: u64,
        /// The codec's reason.
        source: CodecError,
    },
    /// A chunk could not be compressed.
    #[error("cannot compress a chunk: {0}")]
    Compress(#[source] CodecError),
    /// The file was opened for reading only.
    #[error("{path} is open for reading only", path = path.display())]
    ReadOnly {
        /// Path of the file.
        path: PathBuf,
    },
    /// Keys that were to come in ascending order, each once, did not.
    #[error("key {position} of a batch for tree {tree} does not come after the key before it")]
    Unsorted {
        /// Index of the tree.
        tree: usize,
        /// Index of the key in the batch.
        position: u64,
    },
    /// The file has fewer trees.
    #[error("{path} has {trees} trees, so none with number {tree}", path = path.display())]
    NoTree {
        /// Path of the file.
        path: PathBuf,
        /// The number that was asked for.
        tree: usize,
        /// How many there are.
        trees: usize,
    },
    /// A key, value, chunk or header is longer than the format takes.
    #[error("a {what} of {len} bytes is longer than {limit}")]
    TooLong {
        /// `key`, `value`, `chunk` and so on.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The longest that is taken.
        limit: usize,
    },
    /// The system has no random bytes for the name of a new file.
    #[error("cannot make an id for {path}: no random bytes", path = path.display())]
    NoRandom {
        /// Path of the file.
        path: PathBuf,
    },
}

impl TreeError {
    pub(crate) fn damaged(path: &Path, offset: u64, reason: &'static str) -> Self {
        TreeError::Damaged {
            path: path.to_owned(),
            offset,
            reason,
        }
    }

    /// Where the damaged chunk begins, if there is one.
    pub fn offset(&self) -> Option<u64> {
        match self {
            TreeError::Damaged { offset, .. } | TreeError::Expand { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Whether a reader that may wait for the disk would have gone on.
    pub fn is_would_block(&self) -> bool {
        matches!(self, TreeError::Storage(error) if error.is_would_block())
    }

    /// Whether the file's bytes are wrong, as opposed to the call or the machine.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            TreeError::Damaged { .. }
                | TreeError::Expand { .. }
                | TreeError::Storage(StorageError::Short { .. })
        )
    }
}

/// Refuses values that are longer than the format takes.
pub(crate) fn check_len(what: &'static str, len: usize, limit: usize) -> Result<(), TreeError> {
    if len <= limit {
        return Ok(());
    }
    Err(TreeError::TooLong { what, len, limit })
}
