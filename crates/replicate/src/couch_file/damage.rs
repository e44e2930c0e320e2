//! Damage of a part of a file.

use std::fmt;

/// A part of a CouchDB file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Position in the file, in bytes.
    pub offset: u64,
    /// The reason, without a full stop.
    pub reason: String,
}

impl Damage {
    pub(crate) fn new(offset: u64, reason: impl Into<String>) -> Damage {
        Damage {
            offset,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.reason)
    }
}

/// Bytes that are not the term that belongs there; the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl Malformed {
    /// The damage of the chunk at `offset`.
    pub(crate) fn at(self, offset: u64) -> Damage {
        Damage::new(offset, self.0)
    }
}
