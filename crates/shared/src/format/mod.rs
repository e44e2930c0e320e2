//! Bytes and names of the objects; `docs/formats/shared-log.md` describes them.

mod checkpoint;
mod derived;
mod envelope;
mod key;
mod operation;
mod record;

pub(crate) use checkpoint::{Checkpoint, FileRun, TreeEntry};
pub(crate) use derived::{DERIVED, DerivedKeys, DerivedManifest, Part, VersionName};
pub(crate) use key::{CheckpointName, LogKeys, SegmentName};
pub(crate) use operation::{AppendedBytes, Operation};
pub(crate) use record::{Record, RecordBody};

use crate::error::SharedError;

/// Random bytes that make each attempt to create an object recognizable.
pub(crate) type Nonce = [u8; 16];

/// A new [`Nonce`].
///
/// # Errors
/// [`SharedError::NoRandom`]
pub(crate) fn nonce() -> Result<Nonce, SharedError> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|_| SharedError::NoRandom)?;
    Ok(nonce)
}
