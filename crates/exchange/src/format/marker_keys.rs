//! Obsolescence markers as keys, for clients that know no bundle2: markers of version 0, in parts,
//! each as text of 85 characters.
//!
//! ```text
//! dump0   0 marker marker …    the last ones of all, sorted
//! dump1   0 marker …           those before
//! …
//! ```

use std::collections::BTreeMap;
use varve_base::base85;

/// Bytes of markers in one part, unless it has only one.
const MOST: usize = 5300;
/// Prefix of the names of keys.
const NAME: &[u8] = b"dump";
/// The first byte of a part.
const VERSION: u8 = 0;

/// The keys of these markers.
pub(crate) fn marker_keys(markers: &[Vec<u8>]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for marker in markers {
        match parts.last_mut() {
            // The byte of the version does not count.
            Some(part) if part.len() - 1 + marker.len() <= MOST => part.extend_from_slice(marker),
            _ => parts.push([&[VERSION], &marker[..]].concat()),
        }
    }
    let named = parts.iter().rev().enumerate();
    let named =
        named.map(|(number, part)| (format!("dump{number}").into_bytes(), base85::encode(part)));
    named.collect()
}

/// Whether a key may have this name.
pub(crate) fn is_name(key: &[u8]) -> bool {
    key.starts_with(NAME)
}
