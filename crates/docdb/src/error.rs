//! Errors of a database, and of one edit of it.

use crate::access::AccessError;
use crate::{PartitionError, RevError};
use std::path::PathBuf;
use std::sync::Arc;
use varve_base::StorageError;
use varve_btree::TreeError;
use varve_json::JsonError;

/// A call on a database failed as a whole.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocdbError {
    /// The file could not be read or written; shared by all requests of one commit.
    #[error(transparent)]
    Tree(Arc<TreeError>),
    /// The storage refused.
    #[error(transparent)]
    Storage(Arc<StorageError>),
    /// A value in a tree has not the form that this version writes.
    #[error("{path} is damaged: the {what} of {key:?} does not decode", path = path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The kind of record that was read, such as `document`.
        what: &'static str,
        /// The document's id, or the sequence.
        key: String,
    },
    /// A document's record cannot be read.
    #[error("document {id:?} cannot be read: {source}")]
    Unreadable {
        /// Id of the document.
        id: String,
        /// Error of the tree.
        source: Arc<TreeError>,
    },
    /// The stored JSON text of a revision does not parse.
    #[error("{path} is damaged: the body of {id:?} is no JSON: {source}", path = path.display())]
    Body {
        /// Path of the file.
        path: PathBuf,
        /// Id of the document.
        id: String,
        /// Where it ends to be JSON.
        source: JsonError,
    },
    /// The database was deleted while this handle was open.
    #[error("database {path} was deleted", path = path.display())]
    Deleted {
        /// Path of the file.
        path: PathBuf,
    },
    /// The database can be read, but not written to.
    #[error("{path} is open for reading only: {reason}", path = path.display())]
    ReadOnly {
        /// Which file.
        path: PathBuf,
        /// Why, and what can be done about it.
        reason: String,
    },
    /// Another process writes the database.
    #[error("another process writes to {path}", path = path.display())]
    Following {
        /// Which file.
        path: PathBuf,
    },
    /// The file was removed by another program while it was open.
    #[error("{path} was removed while it was open, so nothing is written to it", path = path.display())]
    Removed {
        /// Which file.
        path: PathBuf,
    },
    /// A commit panicked; its requests are not done.
    #[error("the commit of {path} was abandoned", path = path.display())]
    Abandoned {
        /// Path of the file.
        path: PathBuf,
    },
    /// The system has no random bytes for an id.
    #[error("no random bytes")]
    NoRandom,
    /// The database is being compacted already.
    #[error("{path} is being compacted already", path = path.display())]
    CompactionRuns {
        /// Path of the file.
        path: PathBuf,
    },
    /// An automatic compaction would leave old revisions of damaged documents behind.
    #[error(
        "{path} is not compacted by itself, because something cannot be read of {what}; \
         `varve verify --salvage` may still find older revisions of it, and `_compact` compacts it all the same",
        path = path.display()
    )]
    LeftUncompacted {
        /// Path of the file.
        path: PathBuf,
        /// The documents.
        what: String,
    },
    /// Damage that a compaction cannot go around: data behind the damaged bytes would be lost.
    #[error(
        "not compacted: {source}; `varve verify FILE` says what is hit, and \
         `varve verify --salvage NEW FILE` makes a new database of what can be read"
    )]
    Uncompacted {
        /// The damage.
        source: Box<DocdbError>,
    },
    /// The copy with which a compaction was to go on is damaged; the database is not.
    #[error(
        "{source}; this is only a copy that was begun, and the next compaction begins a new one"
    )]
    DamagedCopy {
        /// The damage.
        source: Box<DocdbError>,
    },
    /// The disk has no room for a compacted copy.
    #[error("compacting {path} needs about {needed} bytes, but its disk has only {free} free",
            path = path.display())]
    NoRoom {
        /// Path of the file.
        path: PathBuf,
        /// Bytes that the copy would take.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A document could not be copied into a compacted file.
    #[error("cannot copy document {id:?}: {source}")]
    Uncopied {
        /// Id of the document.
        id: String,
        /// The cause.
        source: Box<DocdbError>,
    },
    /// The operation was asked to stop; the database is as it was.
    #[error("interrupted")]
    Interrupted,
    /// A snapshot that reads only from the cache needs the disk, or work that takes long. The same call with
    /// [`ReadMode::Blocking`](varve_base::ReadMode::Blocking) goes on.
    #[error("the read would block")]
    WouldBlock,
}

impl From<TreeError> for DocdbError {
    fn from(error: TreeError) -> Self {
        match error.is_would_block() {
            true => DocdbError::WouldBlock,
            false => DocdbError::Tree(Arc::new(error)),
        }
    }
}

impl From<StorageError> for DocdbError {
    fn from(error: StorageError) -> Self {
        match error.is_would_block() {
            true => DocdbError::WouldBlock,
            false => DocdbError::Storage(Arc::new(error)),
        }
    }
}

impl DocdbError {
    /// Whether the file's bytes are wrong, as opposed to the call or the machine.
    pub fn is_damage(&self) -> bool {
        match self {
            DocdbError::Tree(error) | DocdbError::Unreadable { source: error, .. } => {
                error.is_damage()
            }
            DocdbError::Uncopied { source, .. } => source.is_damage(),
            DocdbError::Damaged { .. }
            | DocdbError::Body { .. }
            | DocdbError::Uncompacted { .. }
            | DocdbError::DamagedCopy { .. } => true,
            _ => false,
        }
    }

    /// Damage to a copy that was begun.
    pub(crate) fn of_copy(self) -> Self {
        match self.is_damage() {
            true => DocdbError::DamagedCopy {
                source: Box::new(self),
            },
            false => self,
        }
    }

    /// The error that ends a compaction; for damage it says how to go on.
    pub(crate) fn of_compaction(self) -> Self {
        match self {
            known @ (DocdbError::Uncompacted { .. } | DocdbError::DamagedCopy { .. }) => known,
            damage if damage.is_damage() => DocdbError::Uncompacted {
                source: Box::new(damage),
            },
            other => other,
        }
    }

    /// An error about a document.
    pub(crate) fn of_document(id: &str) -> impl FnOnce(TreeError) -> DocdbError + '_ {
        move |source| match source.is_would_block() {
            true => DocdbError::WouldBlock,
            false => DocdbError::Unreadable {
                id: id.to_owned(),
                source: Arc::new(source),
            },
        }
    }

    /// Whether a reader that may wait for the disk would have gone on.
    pub fn is_would_block(&self) -> bool {
        matches!(self, DocdbError::WouldBlock)
    }

    /// Whether the disk has no room.
    pub fn is_full(&self) -> bool {
        match self {
            DocdbError::NoRoom { .. } => true,
            DocdbError::Storage(error) => error.is_full(),
            DocdbError::Tree(error) => {
                matches!(&**error, TreeError::Storage(error) if error.is_full())
            }
            _ => false,
        }
    }

    /// Whether creating found the file already there.
    pub fn is_already_there(&self) -> bool {
        match self {
            DocdbError::Storage(error) => error.is_already_there(),
            DocdbError::Tree(error) => {
                matches!(&**error, TreeError::Storage(error) if error.is_already_there())
            }
            _ => false,
        }
    }

    /// Whether opening found no file.
    pub fn is_not_found(&self) -> bool {
        match self {
            DocdbError::Tree(error) => {
                matches!(&**error, TreeError::Storage(error) if error.is_not_found())
            }
            _ => false,
        }
    }
}

/// One edit was refused; the others of its request are not touched by that. `Display` is the
/// reason that CouchDB gives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The edit does not continue a leaf of the document.
    #[error("Document update conflict.")]
    Conflict,
    /// Bytes that are no JSON object.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// JSON, but not an object.
    #[error("Document must be a JSON object")]
    NotAnObject,
    /// A member that begins with `_` and is unknown, or of the wrong type.
    #[error("Bad special document member: {0}")]
    BadMember(String),
    /// `_id` has another type than text.
    #[error("Document id must be a string")]
    IdNotAString,
    /// `_id` is `""`.
    #[error("Document id must not be empty")]
    IdEmpty,
    /// An `_id` that begins with `_` without being reserved.
    #[error("Only reserved document ids may start with underscore.")]
    IdReserved,
    /// An id with more bytes than the database takes.
    #[error("Document id is too long")]
    IdTooLong,
    /// An id without a partition, where the database is partitioned.
    #[error("Doc id must be of form partition:id")]
    NoPartition,
    /// An id with a partition of a name that none has.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The author may not write the document, or not so.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// `_rev` or `_revisions` holds no revision id.
    #[error(transparent)]
    InvalidRev(#[from] RevError),
    /// A replicated edit without revision.
    #[error("When `new_edits: false`, the document needs `_rev` or `_revisions` specified")]
    RevNeeded,
    /// An attachment's name begins with `_`.
    #[error("Attachment name '{0}' starts with prohibited character '_'")]
    AttachmentName(String),
    /// An attachment's data is not base64, or not of the coding it claims.
    #[error("Invalid attachment data for {0}")]
    AttachmentData(String),
    /// The document's text is longer than the database takes; its id.
    #[error("{0}")]
    DocumentTooLarge(String),
    /// Other bytes came for an attachment than its length says: `shorter` or `longer`.
    #[error("attachment {0} than expected")]
    AttachmentLength(&'static str),
    /// An attachment is longer than the database takes; its name.
    #[error("{0}")]
    AttachmentTooLarge(String),
    /// A document with more attachments than the database takes; its id.
    #[error("{0} has too many attachments")]
    TooManyAttachments(String),
    /// A stub of an attachment that the parent revision does not have.
    #[error("Invalid attachment stub in {id} for {name}")]
    MissingStub {
        /// The document.
        id: String,
        /// The attachment.
        name: String,
    },
}
