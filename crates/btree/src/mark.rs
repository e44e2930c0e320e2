//! What tells a commit from all others: whether a file still has it, whatever became of the file
//! meanwhile.

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
pub struct Mark {
    position: u64,
    sum: u64,
}

impl Mark {
    /// Length of the encoded form.
    pub const LEN: usize = 16;

    /// The mark as bytes.
    pub fn encode(&self) -> [u8; Mark::LEN] {
        let mut out = [0; Mark::LEN];
        out[..8].copy_from_slice(&self.position.to_le_bytes());
        out[8..].copy_from_slice(&self.sum.to_le_bytes());
        out
    }

    /// Reads what [`Mark::encode`] made.
    pub fn decode(bytes: &[u8; Mark::LEN]) -> Mark {
        let number = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        };
        Mark {
            position: number(0),
            sum: number(8),
        }
    }

    /// The mark of the commit whose record is at a position; `None` if there is none.
    fn at(pages: &Pages, mode: ReadMode, position: u64) -> Result<Option<Mark>, TreeError> {
        let mut bytes = [0; HEAD_LEN];
        if pages.file.read_by(mode, position, &mut bytes)? < HEAD_LEN {
            return Ok(None);
        }
        let head = Head::decode(&bytes, &pages.header, position);
        Ok(head.map(|head| Mark {
            position,
            sum: head.sum,
        }))
    }
}

impl Snapshot {
    /// What tells this commit from all others.
    ///
    /// # Errors
    /// Damage; what the storage answers.
    pub fn mark(&self) -> Result<Mark, TreeError> {
        let position = self.position();
        let damaged = || self.pages.damaged(position, "a commit record is gone");
        Mark::at(&self.pages, self.mode, position)?.ok_or_else(damaged)
    }
}

impl TreeFile {
    /// Whether the newest commit is this one or follows it.
    ///
    /// # Errors
    /// What the storage answers.
    pub fn follows(&self, mark: &Mark) -> Result<bool, TreeError> {
        let is_past = mark.position <= self.snapshot().position();
        let found = Mark::at(&self.pages, ReadMode::Blocking, mark.position)?;
        Ok(is_past && found.as_ref() == Some(mark))
    }
}
