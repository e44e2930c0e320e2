//! Obsolescence markers as keys, for clients that know no bundle2: markers of version 0, in parts,
//! each as text of 85 characters.
//!
//! ```text
//! dump0   0 marker marker …    the last ones of all, sorted
//! dump1   0 marker …           those before
//! …
//! ```
//! Four bytes are five characters, the higher digits first, as in RFC 1924; what is left of a last
//! group of less than four bytes has one character more than bytes.

use crate::ExchangeError;
use std::collections::BTreeMap;
use varve_repo::RepoView;

/// Bytes of markers in one part, unless it has only one.
const MOST: usize = 5300;
/// What the names of keys begin with.
const NAME: &[u8] = b"dump";
/// The first byte of a part.
const VERSION: u8 = 0;

const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// All markers, by names.
pub(crate) fn marker_keys(view: &RepoView) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, ExchangeError> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for marker in view.markers_of_version_0()? {
        match parts.last_mut() {
            // The byte of the version does not count.
            Some(part) if part.len() - 1 + marker.len() <= MOST => part.extend(marker),
            _ => parts.push([&[VERSION], &marker[..]].concat()),
        }
    }
    let named = parts.iter().rev().enumerate();
    let named = named.map(|(number, part)| (format!("dump{number}").into_bytes(), encode(part)));
    Ok(named.collect())
}

/// Whether a key may have this name.
pub(crate) fn is_name(key: &[u8]) -> bool {
    key.starts_with(NAME)
}

fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 5 + 5);
    for group in bytes.chunks(4) {
        let mut padded = [0; 4];
        padded[..group.len()].copy_from_slice(group);
        let mut number = u32::from_be_bytes(padded);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(number % 85) as usize];
            number /= 85;
        }
        out.extend_from_slice(&digits[..=group.len()]);
    }
    out
}

/// The bytes of a value; `None` if it is none.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 5 * 4 + 4);
    for group in text.chunks(5) {
        // What is missing is taken for the highest digit, so that what is cut off does not count.
        let mut digits = [84; 5];
        for (digit, byte) in digits.iter_mut().zip(group) {
            *digit = DIGITS.iter().position(|known| known == byte)?;
        }
        let number = digits
            .iter()
            .fold(0, |number, digit| number * 85 + *digit as u64);
        let bytes = u32::try_from(number).ok()?.to_be_bytes();
        out.extend_from_slice(&bytes[..group.len() - 1]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mercurial_writes_is_read_and_written() {
        let golden = [
            (&b"\0\x01\0\0\0\x39\0"[..], &b"009610672"[..]),
            (b"", b""),
            (b"\xff\xff\xff\xff", b"|NsC0"),
        ];
        for (bytes, text) in golden {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).unwrap(), bytes);
        }
        for len in 0..9 {
            let bytes = &b"\xff\xfe\x80\0\x01\x7f\xff\xff\xff"[..len];
            assert_eq!(decode(&encode(bytes)).unwrap(), bytes);
        }
        for bad in ["\"", "00000\"", "~~~~~", "|NsC1", " 0000"] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
    }
}
