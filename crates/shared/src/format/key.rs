//! Names of objects.
//!
//! ```text
//! LOG/log/SLOT                    a record; SLOT has 20 digits
//! LOG/segment/SLOT-HASH-NONCE     bytes of files; SLOT is that of the record that was to name it
//! LOG/checkpoint/SLOT-NONCE       all files as of the slot before; the record in SLOT announces it
//! ```
//!
//! The slot in the name of a segment or checkpoint says when it can no longer be wanted: once the slot is taken by a
//! record that does not name it.

use super::Nonce;
use sha2::{Digest, Sha256};
use std::fmt::Write;

pub(super) const SLOT_DIGITS: usize = 20;
const LOG: &str = "/log/";
const SEGMENT: &str = "/segment/";
const CHECKPOINT: &str = "/checkpoint/";

/// Makes the keys of one log.
#[derive(Clone, Debug)]
pub(crate) struct LogKeys(String);

impl LogKeys {
    pub(crate) fn new(log: &str) -> LogKeys {
        LogKeys(log.to_owned())
    }

    pub(crate) fn records(&self) -> String {
        format!("{}{LOG}", self.0)
    }

    pub(crate) fn record(&self, slot: u64) -> String {
        format!("{}{LOG}{slot:0SLOT_DIGITS$}", self.0)
    }

    /// The slot of a record's key.
    pub(crate) fn slot_of(&self, key: &str) -> Option<u64> {
        parse_slot(key.strip_prefix(self.0.as_str())?.strip_prefix(LOG)?)
    }

    pub(crate) fn segments(&self) -> String {
        format!("{}{SEGMENT}", self.0)
    }

    pub(crate) fn segment(&self, name: &SegmentName) -> String {
        format!("{}{SEGMENT}{}", self.0, name.text())
    }

    pub(crate) fn segment_of(&self, key: &str) -> Option<SegmentName> {
        SegmentName::parse(key.strip_prefix(self.0.as_str())?.strip_prefix(SEGMENT)?)
    }

    pub(crate) fn checkpoints(&self) -> String {
        format!("{}{CHECKPOINT}", self.0)
    }

    pub(crate) fn checkpoint(&self, name: &CheckpointName) -> String {
        let (slot, nonce) = (name.slot, hex(&name.nonce));
        format!("{}{CHECKPOINT}{slot:0SLOT_DIGITS$}-{nonce}", self.0)
    }

    pub(crate) fn checkpoint_of(&self, key: &str) -> Option<CheckpointName> {
        let rest = key
            .strip_prefix(self.0.as_str())?
            .strip_prefix(CHECKPOINT)?;
        let (slot, nonce) = rest.split_once('-')?;
        Some(CheckpointName {
            slot: parse_slot(slot)?,
            nonce: parse_hex(nonce)?,
        })
    }

    /// The log of any object of one.
    pub(crate) fn log_of(key: &str) -> Option<&str> {
        let split = |middle| key.rsplit_once(middle).map(|(log, _)| log);
        split(LOG)
            .or_else(|| split(SEGMENT))
            .or_else(|| split(CHECKPOINT))
    }

    /// The log, if the key is that of a record.
    pub(crate) fn log_of_record(key: &str) -> Option<&str> {
        let (log, slot) = key.rsplit_once(LOG)?;
        parse_slot(slot).map(|_| log)
    }
}

pub(super) fn parse_slot(text: &str) -> Option<u64> {
    let is_slot = text.len() == SLOT_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    is_slot.then(|| text.parse().ok())?
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

pub(super) fn parse_hex(text: &str) -> Option<[u8; 16]> {
    let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 32 || !text.bytes().all(is_lower) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

/// Segments of equal hashes count as equal, and users choose the bytes: a fast hash would not do.
pub(super) fn hash(bytes: &[u8]) -> [u8; 16] {
    let (mut half, digest) = ([0; 16], Sha256::digest(bytes));
    half.copy_from_slice(&digest[..16]);
    half
}

/// Name of an immutable object with bytes of files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    /// Slot of the record that was to name it first.
    pub(crate) slot: u64,
    /// The first half of the SHA-256 of its bytes.
    pub(crate) hash: [u8; 16],
    /// Makes equal bytes of two attempts two objects, so that removing one never concerns the other.
    pub(crate) nonce: Nonce,
}

impl SegmentName {
    pub(crate) fn of(bytes: &[u8], slot: u64, nonce: Nonce) -> SegmentName {
        let hash = hash(bytes);
        SegmentName { slot, hash, nonce }
    }

    pub(crate) fn is_of(&self, bytes: &[u8]) -> bool {
        hash(bytes) == self.hash
    }

    fn text(&self) -> String {
        let (slot, hash, nonce) = (self.slot, hex(&self.hash), hex(&self.nonce));
        format!("{slot:0SLOT_DIGITS$}-{hash}-{nonce}")
    }

    fn parse(text: &str) -> Option<SegmentName> {
        let (slot, rest) = text.split_once('-')?;
        let (hash, nonce) = rest.split_once('-')?;
        Some(SegmentName {
            slot: parse_slot(slot)?,
            hash: parse_hex(hash)?,
            nonce: parse_hex(nonce)?,
        })
    }
}

/// Name of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CheckpointName {
    /// Slot of the record that announces it.
    pub(crate) slot: u64,
    pub(crate) nonce: Nonce,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_they_were_made_of() {
        let keys = LogKeys::new("db/x");
        assert_eq!(keys.record(7), "db/x/log/00000000000000000007");
        assert_eq!(keys.slot_of(&keys.record(u64::MAX)), Some(u64::MAX));
        assert_eq!(LogKeys::log_of_record(&keys.record(7)), Some("db/x"));
        let segment = SegmentName::of(b"bytes", 3, [9; 16]);
        let key = keys.segment(&segment);
        assert_eq!(keys.segment_of(&key), Some(segment.clone()));
        assert!(segment.is_of(b"bytes") && !segment.is_of(b"other"));
        let checkpoint = CheckpointName {
            slot: 1,
            nonce: [0xab; 16],
        };
        let key = keys.checkpoint(&checkpoint);
        assert_eq!(keys.checkpoint_of(&key), Some(checkpoint));
        for foreign in [
            "db/x/log/7",
            "db/x/log/+0000000000000000007",
            "db/log/00000000000000000007",
        ] {
            assert_eq!(keys.slot_of(foreign), None, "{foreign}");
        }
    }
}
