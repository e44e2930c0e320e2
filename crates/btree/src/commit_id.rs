//! Identity of a commit, by which a file that was changed or replaced is checked for it.

use crate::TreeError;
use crate::commit::{HEAD_LEN, Head};
use crate::file::TreeFile;
use crate::pages::Pages;
use crate::snapshot::Snapshot;
use varve_base::ReadMode;

/// One commit of one file.
///
/// ```text
/// byte 0          8               16
///      +----------+---------------+
///      | position | head checksum |
///      | u64      | u64           |
///      +----------+---------------+
/// ```
/// Numbers are little-endian. The checksum is the one in the commit's record; it stands for file,
/// position and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitId {
    position: u64,
    sum: u64,
}

impl CommitId {
    /// Length of the encoded form.
    pub const LEN: usize = 16;

    /// The encoded form.
    pub fn encode(&self) -> [u8; CommitId::LEN] {
        let mut out = [0; CommitId::LEN];
        out[..8].copy_from_slice(&self.position.to_le_bytes());
        out[8..].copy_from_slice(&self.sum.to_le_bytes());
        out
    }

    /// Reads the output of [`CommitId::encode`].
    pub fn decode(bytes: &[u8; CommitId::LEN]) -> CommitId {
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        CommitId {
            position: number(0),
            sum: number(8),
        }
    }

    /// The id of the commit whose record is at a position; `None` if there is none.
    fn at(pages: &Pages, mode: ReadMode, position: u64) -> Result<Option<CommitId>, TreeError> {
        let mut bytes = [0; HEAD_LEN];
        if pages.file.read_by(mode, position, &mut bytes)? < HEAD_LEN {
            return Ok(None);
        }
        let head = Head::decode(&bytes, &pages.header, position);
        Ok(head.map(|head| CommitId {
            position,
            sum: head.sum,
        }))
    }
}

impl Snapshot {
    /// Identity of this commit.
    ///
    /// # Errors
    /// Damage; an error of the storage.
    pub fn commit_id(&self) -> Result<CommitId, TreeError> {
        let position = self.position();
        let damaged = || self.pages.damaged(position, "a commit record is gone");
        CommitId::at(&self.pages, self.mode, position)?.ok_or_else(damaged)
    }
}

impl TreeFile {
    /// Whether the newest commit is this one or follows it.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn follows(&self, id: &CommitId) -> Result<bool, TreeError> {
        let is_past = id.position <= self.snapshot().position();
        let found = CommitId::at(&self.pages, ReadMode::Blocking, id.position)?;
        Ok(is_past && found.as_ref() == Some(id))
    }
}
