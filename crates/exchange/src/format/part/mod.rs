//! Parts of a bundle2: the types that there are, the header that all of them have, and one codec per type.
//!
//! A [`Part`] is a header with a payload. Bundles that are read have payloads that are still to come, bundles
//! that are written have them at hand or make them while they are written; the header, its decoder and its
//! encoder are the same.

pub mod bookmarks;
pub(crate) mod branch_cache;
pub(crate) mod capabilities;
pub(crate) mod changegroup;
pub(crate) mod error;
mod header;
pub(crate) mod list_keys;
pub(crate) mod node_list;
mod part_type;
pub mod phase_heads;
pub(crate) mod pushkey;
pub(crate) mod remote_changegroup;
pub(crate) mod reply;
pub(crate) mod stream2;
pub(crate) mod tags_fnodes;

pub use header::{PartHeader, PartParameter};
pub use part_type::PartType;

use super::input::read_into;
use crate::ExchangeError;
use std::io::Read;

/// One part; `P` is its payload, or where that comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<P> {
    /// Type, number and parameters.
    pub header: PartHeader,
    /// Data behind the header.
    pub payload: P,
}

/// Longest payload that is held in memory as a whole: bookmarks, phases, markers.
const LONGEST_WHOLE: usize = 256 << 20;

/// Reads a payload to its end.
///
/// # Errors
/// [`ExchangeError::DamagedBundle`] for one of more than 256 MiB; errors of the reader.
pub fn read_whole(payload: &mut impl Read) -> Result<Vec<u8>, ExchangeError> {
    let mut bytes = Vec::new();
    match read_into(payload, LONGEST_WHOLE, &mut bytes) {
        Err(ExchangeError::StreamEnded { expected, .. }) if expected == LONGEST_WHOLE => Ok(bytes),
        other => other.and_then(|()| {
            let reason = format!("a part has more than {LONGEST_WHOLE} bytes");
            Err(ExchangeError::DamagedBundle(reason))
        }),
    }
}

/// The payload of a part of this type does not have its form.
fn damaged(part_type: PartType) -> ExchangeError {
    let name = part_type.name();
    ExchangeError::DamagedBundle(format!("the part {name} is cut or makes no sense"))
}
