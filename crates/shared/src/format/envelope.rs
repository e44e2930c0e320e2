//! The frame that records and checkpoints share.
//!
//! ```text
//! 0      magic     8 bytes
//! 8      version   u8, 1
//! 9      body
//! n - 8  checksum  u64 little-endian, xxh3 of everything before
//! ```

use xxhash_rust::xxh3::xxh3_64;

pub(crate) const MAGIC_LEN: usize = 8;
const VERSION: u8 = 1;
const BODY: usize = MAGIC_LEN + 1;
const CHECKSUM_LEN: usize = 8;

/// Starts an object; its body is appended next.
pub(super) fn begin(magic: [u8; MAGIC_LEN]) -> Vec<u8> {
    let mut out = magic.to_vec();
    out.push(VERSION);
    out
}

/// Appends the checksum and returns it.
pub(super) fn seal(out: &mut Vec<u8>) -> u64 {
    let checksum = xxh3_64(out);
    out.extend_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The body and the checksum.
///
/// # Errors
/// The rule that the bytes break.
pub(super) fn open(bytes: &[u8], magic: [u8; MAGIC_LEN]) -> Result<(&[u8], u64), &'static str> {
    if bytes.len() < BODY + CHECKSUM_LEN {
        return Err("it is too short");
    }
    let (sealed, checksum) = bytes.split_at(bytes.len() - CHECKSUM_LEN);
    if sealed[..MAGIC_LEN] != magic {
        return Err("it begins with other bytes");
    }
    if sealed[MAGIC_LEN] != VERSION {
        return Err("a later version of Varve wrote it");
    }
    let stored = checksum.try_into().map(u64::from_le_bytes);
    match stored {
        Ok(stored) if stored == xxh3_64(sealed) => Ok((&sealed[BODY..], stored)),
        _ => Err("its checksum is wrong"),
    }
}
