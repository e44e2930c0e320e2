//! A copy that was begun, and with which a later compaction goes on.
//!
//! While documents are copied by sequence, the copy is committed now and then, and then whenever it
//! was brought up to date. It is no database yet, so these commits have a header of their own:
//! ```text
//! byte 0           8      24
//!      +-----------+------+----------+------------------------+
//!      | "copying1"| commit | sequence | header of the copy     |
//!      | 8 B       | 16 B | varint   | as a database's (rest) |
//!      +-----------+------+----------+------------------------+
//! ```
//! - `commit`: the commit of the old file that was copied. Only a file that follows it is gone on
//!   with: in another one, or in one that lost it, the same sequences may mean other updates.
//! - `sequence`: documents whose last update is not later are in the tree by sequence, with their bodies. Documents
//!   edited or purged since then have a later sequence, or none. The other trees do not count: they are soon built,
//!   without bodies, and an older copy has them empty.

use super::files::{copy_path, sort_path};
use crate::beside::remove_if_there;
use crate::record::Header;
use crate::record::fields::{self, Malformed, Reader};
use crate::{DocdbError, Snapshot};
use std::path::Path;
use varve_base::Storage;
use varve_btree::{ChunkStats, CommitId, Options, Transaction, TreeFile};

const MAGIC: &[u8; 8] = b"copying1";
const _: () = assert!(MAGIC.len() + CommitId::LEN == 24);

/// State that an unfinished copy records in its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) commit: CommitId,
    pub(crate) seq: u64,
    pub(crate) header: Header,
}

impl Checkpoint {
    /// One of a copy that has the documents of `of` up to a sequence.
    pub(super) fn new(of: &Snapshot, seq: u64, header: Header) -> Result<Self, DocdbError> {
        let commit = of.tree().commit_id()?;
        Ok(Checkpoint {
            commit,
            seq,
            header,
        })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.commit.encode());
        fields::put(self.seq, &mut out);
        out.extend_from_slice(&self.header.encode());
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Checkpoint, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.array()? != MAGIC {
            return Err(Malformed);
        }
        Ok(Checkpoint {
            commit: CommitId::decode(reader.array()?),
            seq: reader.number()?,
            header: Header::decode(reader.rest())?,
        })
    }

    /// Snapshot of the copy so far, with its dictionaries: the tree by sequence.
    pub(super) fn snapshot(self, copy: &TreeFile, path: &Path) -> Snapshot {
        let header = Header {
            update_seq: self.seq,
            ..self.header
        };
        Snapshot::with_header(copy.snapshot(), header, path)
    }

    /// Whether the newest commit of a copy is a checkpoint.
    pub(super) fn is_in(copy: &TreeFile) -> bool {
        Checkpoint::decode(copy.snapshot().user_header()).is_ok()
    }
}

/// A copy with which a compaction can go on.
pub(super) struct Begun {
    pub(super) copy: TreeFile,
    pub(super) checkpoint: Checkpoint,
}

impl Begun {
    /// Finds the copy that a compaction of a file has left. One that cannot be read is none.
    pub(super) fn find(
        storage: &dyn Storage,
        path: &Path,
        options: Options,
        old: &TreeFile,
    ) -> Result<Option<Begun>, DocdbError> {
        let at = copy_path(path);
        if storage.kind(&at)?.is_none() {
            return Ok(None);
        }
        let Ok(copy) = TreeFile::open(storage, &at, options) else {
            return Ok(None);
        };
        if copy.recovery().is_header_damaged {
            return Ok(None);
        }
        let Ok(checkpoint) = Checkpoint::decode(copy.snapshot().user_header()) else {
            return Ok(None);
        };
        let is_of = old.follows(&checkpoint.commit)?;
        Ok(is_of.then_some(Begun { copy, checkpoint }))
    }

    /// Bytes of the copy.
    pub(super) fn len(&self) -> u64 {
        self.copy.sizes().file
    }
}

/// Removes the files of an unfinished compaction, but for a copy with which the next one can go on. Returns the number
/// that the next dictionary may have because of it.
pub(crate) fn keep_begun(
    storage: &dyn Storage,
    path: &Path,
    options: Options,
    old: &TreeFile,
) -> Result<u32, DocdbError> {
    remove_if_there(storage, &sort_path(path))?;
    if let Some(begun) = Begun::find(storage, path, options, old)? {
        return Ok(begun.checkpoint.header.next_dictionary);
    }
    remove_if_there(storage, &copy_path(path))?;
    Ok(1)
}

/// Whether a copy was begun.
pub(crate) fn has_begun(storage: &dyn Storage, path: &Path) -> Result<bool, DocdbError> {
    Ok(storage.kind(&copy_path(path))?.is_some())
}

/// A copy under way, committed in steps.
pub(super) struct Steps<'f> {
    copy: &'f TreeFile,
    checkpoint: Checkpoint,
    /// Bytes of documents between two steps.
    pub(super) every: u64,
    /// Whether an earlier compaction has begun it.
    pub(super) is_resumed: bool,
}

impl<'f> Steps<'f> {
    pub(super) fn new(
        copy: &'f TreeFile,
        (every, is_resumed): (u64, bool),
        checkpoint: Checkpoint,
    ) -> Self {
        Steps {
            copy,
            checkpoint,
            every,
            is_resumed,
        }
    }

    /// Up to where documents are copied.
    pub(super) fn seq(&self) -> u64 {
        self.checkpoint.seq
    }

    /// All chunks and nodes of the commits so far.
    pub(super) fn chunk_stats(&self) -> ChunkStats {
        self.checkpoint.header.chunk_stats.unwrap_or_default()
    }

    /// Commits a step that ends with a sequence, and begins the next one.
    pub(super) fn step(
        &mut self,
        mut txn: Transaction<'f>,
        seq: u64,
    ) -> Result<Transaction<'f>, DocdbError> {
        self.checkpoint.seq = seq;
        self.checkpoint.header.chunk_stats = Some(self.chunk_stats().plus(txn.chunk_stats()));
        txn.set_user_header(&self.checkpoint.encode());
        txn.commit()?;
        Ok(self.copy.begin()?)
    }
}
