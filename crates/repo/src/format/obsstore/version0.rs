//! Version 0 of obsolescence markers, in which they still travel as keys.
//!
//! ```text
//! byte 0         then, repeated:
//!      +---------+  +------+------------+-------+----------+------------+-------+
//!      | version |  | succ | metadata len | flags | old node | successors | metadata |
//!      | 0       |  | u8   | u32        | u8    | 20 B     | 20 B each  |       |
//!      +---------+  +------+------------+-------+----------+------------+-------+
//! ```
//! Metadata are `key:value`, sorted, with zero bytes between. Two of them are fields in later
//! versions: `date`, a number as Python writes it and the zone in seconds, and `p1` and `p2`, the
//! parents in hexadecimal.

use super::{FixedFields, LONG_NODES, Marker, VERSION, encode};
use crate::format::RepoError;
use std::collections::BTreeMap;
use varve_revlog::Node;

mod at {
    pub const SUCCESSORS: usize = 0;
    pub const METADATA: usize = SUCCESSORS + 1;
    pub const FLAGS: usize = METADATA + 4;
    pub const OLD_NODE: usize = FLAGS + 1;
    pub const END: usize = OLD_NODE + 20;
}

const _: () = assert!(at::OLD_NODE == 6);

/// The first byte.
pub(super) const VERSION_0: u8 = 0;
/// Metadata that are fields in later versions.
const PARENTS: [&[u8]; 2] = [b"p1", b"p2"];
const DATE: &[u8] = b"date";

type Metadata = BTreeMap<Vec<u8>, Vec<u8>>;

/// The same markers in this version, of which `bytes` are a whole file in the usual one. Markers that
/// this version cannot express are left out; without markers the result is empty.
///
/// # Errors
/// [`RepoError::BadMarker`].
pub fn encode_markers_v0(bytes: &[u8]) -> Result<Vec<u8>, RepoError> {
    let bad = |(number, reason)| RepoError::BadMarker {
        reason: format!("marker {number}: {reason}"),
    };
    let mut out = Vec::new();
    for marker in super::parse(bytes).map_err(bad)? {
        let numbers = FixedFields::of(&bytes[marker.range.clone()]);
        if let Some(marker) = encode_0(&marker, &numbers) {
            out.extend((out.is_empty()).then_some(VERSION_0));
            out.extend(marker);
        }
    }
    Ok(out)
}

/// All markers in this version, each without the version's byte, sorted as Mercurial sorts them.
/// Markers that the version cannot express are left out. `file` are the bytes that they were read from.
pub(crate) fn as_version_0(mut markers: Vec<Marker>, file: &[u8]) -> Vec<Vec<u8>> {
    let numbers = |marker: &Marker| FixedFields::of(&file[marker.range.clone()]);
    markers.sort_by(|a, b| {
        let nodes = |marker: &Marker| (marker.old, marker.successors.clone());
        let (of_a, of_b) = (numbers(a), numbers(b));
        (nodes(a), of_a.flags, &a.metadata)
            .cmp(&(nodes(b), of_b.flags, &b.metadata))
            .then(of_a.time.total_cmp(&of_b.time))
            .then_with(|| (of_a.zone, &a.parents).cmp(&(of_b.zone, &b.parents)))
    });
    let each = markers.iter();
    each.filter_map(|m| encode_0(m, &numbers(m))).collect()
}

fn encode_0(marker: &Marker, numbers: &FixedFields) -> Option<Vec<u8>> {
    let mut metadata: Metadata = marker.metadata.iter().cloned().collect();
    let zone = i32::from(numbers.zone) * 60;
    let date = format!("{} {zone}", python_float(numbers.time));
    metadata.insert(DATE.to_vec(), date.into_bytes());
    for (key, parent) in PARENTS.iter().zip(&marker.parents) {
        metadata.insert(key.to_vec(), parent.to_hex().to_vec());
    }
    let splits =
        |key: &[u8], value: &[u8]| key.contains(&b':') || key.contains(&0) || value.contains(&0);
    if metadata.iter().any(|(key, value)| splits(key, value)) {
        return None;
    }
    let metadata: Vec<Vec<u8>> = metadata
        .iter()
        .map(|(key, value)| [key, &b":"[..], value].concat())
        .collect();
    let metadata = metadata.join(&0);
    let mut out = vec![u8::try_from(marker.successors.len()).ok()?];
    out.extend_from_slice(&u32::try_from(metadata.len()).ok()?.to_be_bytes());
    out.push(u8::try_from(numbers.flags).ok()?);
    out.extend_from_slice(&marker.old.0);
    marker
        .successors
        .iter()
        .for_each(|node| out.extend_from_slice(&node.0));
    out.extend_from_slice(&metadata);
    Some(out)
}

/// A number as Python shows it: Rust shows the same digits, but for the exponent.
fn python_float(number: f64) -> String {
    let text = format!("{number:?}").to_ascii_lowercase();
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

/// The same markers as a file of the version that this program stores; `bytes` begin with version 0.
/// The error is the number of the damaged marker, from 1, and its damage.
pub(crate) fn as_version_1(bytes: &[u8]) -> Result<Vec<u8>, (usize, &'static str)> {
    let mut out = vec![VERSION];
    let mut rest = bytes.get(1..).unwrap_or_default();
    let mut count = 0;
    while !rest.is_empty() {
        count += 1;
        let (marker, behind) = convert(rest).map_err(|reason| (count, reason))?;
        out.extend(marker);
        rest = behind;
    }
    Ok(out)
}

/// One marker, and the bytes behind it.
fn convert(bytes: &[u8]) -> Result<(Vec<u8>, &[u8]), &'static str> {
    let cut = "the marker is cut";
    let (head, rest) = bytes.split_first_chunk::<{ at::END }>().ok_or(cut)?;
    let successors = Node::LEN * usize::from(head[at::SUCCESSORS]);
    let (successors, rest) = rest.split_at_checked(successors).ok_or(cut)?;
    let len = [
        head[at::METADATA],
        head[at::METADATA + 1],
        head[at::METADATA + 2],
        head[at::METADATA + 3],
    ];
    let len = u32::from_be_bytes(len) as usize;
    let (metadata, rest) = rest.split_at_checked(len).ok_or(cut)?;
    let flags = u16::from(head[at::FLAGS]);
    if flags & LONG_NODES != 0 {
        return Err("the marker claims to have longer nodes than its version has");
    }
    let mut metadata = parse_metadata(metadata).ok_or("a fact has no name")?;
    let (time, zone) = metadata
        .remove(DATE)
        .and_then(|date| parse_date(&date))
        .unwrap_or_default();
    let zone = i16::try_from(zone.div_euclid(60)).map_err(|_| "the zone is out of range")?;
    let nodes = successors.as_chunks::<{ Node::LEN }>().0;
    let successors: Vec<Node> = nodes.iter().copied().map(Node).collect();
    let mut old = [0; Node::LEN];
    old.copy_from_slice(&head[at::OLD_NODE..]);
    let numbers = FixedFields { time, zone, flags };
    let parents = take_parents(&mut metadata);
    let fits = |text: &[u8]| text.len() <= usize::from(u8::MAX);
    if metadata.len() > usize::from(u8::MAX) || metadata.iter().any(|(k, v)| !fits(k) || !fits(v)) {
        return Err("a fact is too long, or there are too many");
    }
    let metadata: Vec<(&[u8], &[u8])> = metadata.iter().map(|(k, v)| (&k[..], &v[..])).collect();
    let nodes = (Node(old), &successors[..], parents.as_deref());
    Ok((encode(&numbers, nodes, &metadata), rest))
}

/// Of several with one name, the last counts.
fn parse_metadata(bytes: &[u8]) -> Option<Metadata> {
    let mut metadata = Metadata::new();
    for fact in bytes.split(|byte| *byte == 0).filter(|_| !bytes.is_empty()) {
        let colon = fact.iter().position(|byte| *byte == b':')?;
        metadata.insert(fact[..colon].to_vec(), fact[colon + 1..].to_vec());
    }
    Some(metadata)
}

/// Seconds, and the zone in seconds.
fn parse_date(date: &[u8]) -> Option<(f64, i32)> {
    let (time, zone) = std::str::from_utf8(date).ok()?.split_once(' ')?;
    let time: f64 = time.parse().ok()?;
    Some((time, zone.parse().ok()?)).filter(|_| time.is_finite())
}

/// The parents, if they were recorded: `p0` says that there are none.
fn take_parents(metadata: &mut Metadata) -> Option<Vec<Node>> {
    let named: Vec<Vec<u8>> = PARENTS
        .iter()
        .filter_map(|key| metadata.remove(*key))
        .collect();
    if named.is_empty() && !metadata.contains_key(&b"p0"[..]) {
        return None;
    }
    named.iter().map(|hex| Node::from_hex(hex)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two markers as `hg` 7.2.4 writes them in version 0.
    const GOLDEN: &[u8] = b"\0\0\0\0\0\x43\0\x89\x20\x4b\x16\x04\x45\x63\x13\x9a\x3e\x72\xe5\x5c\x67\
        \x61\x3a\x02\x05\x8e\xa3date:7.0 -3600\0p1:b27c57648fa08a97bc61601e91e0d6ee9203e339\0user:bob\
        \x02\0\0\0\x13\x01aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbccccccccccccccccccccdate:7.0 0\0\
        user:ada";

    #[test]
    fn golden_markers_become_those_that_are_stored_and_come_back() {
        let stored = as_version_1(GOLDEN).unwrap();
        // As hg has them in its store.
        let first = b"\x01\0\0\0\x44\x40\x1c\0\0\0\0\0\0\xff\xc4\0\0\0\x01\x01\x89\x20\x4b\x16\x04\x45\
            \x63\x13\x9a\x3e\x72\xe5\x5c\x67\x61\x3a\x02\x05\x8e\xa3\xb2\x7c\x57\x64\x8f\xa0\x8a\x97\
            \xbc\x61\x60\x1e\x91\xe0\xd6\xee\x92\x03\xe3\x39\x04\x03userbob";
        assert_eq!(stored[..first.len()], first[..]);
        let markers = super::super::parse(&stored).unwrap();
        let encoded = markers.iter().map(|marker| {
            let numbers = FixedFields::of(&stored[marker.range.clone()]);
            encode_0(marker, &numbers).unwrap()
        });
        assert_eq!(encoded.collect::<Vec<_>>().concat(), GOLDEN[1..]);
    }

    #[test]
    fn numbers_as_python_shows_them() {
        let cases = [
            (1e16, "1e+16"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (f64::MAX, "1.7976931348623157e+308"),
            (1_795_346_168.005_001_8, "1795346168.0050018"),
            (f64::NAN, "nan"),
        ];
        for (number, text) in cases {
            assert_eq!(python_float(number), text);
        }
    }

    #[test]
    fn cuts_and_nonsense_are_noticed() {
        let second = GOLDEN.len() - 85;
        for len in 1..GOLDEN.len() {
            let whole = len == 1 || len == second;
            assert_eq!(as_version_1(&GOLDEN[..len]).is_ok(), whole, "{len}");
        }
        let one = |flags: u8, metadata: &[u8]| {
            let len = (metadata.len() as u32).to_be_bytes();
            as_version_1(&[&[0, 0], &len[..], &[flags], &[b'a'; 20], metadata].concat())
        };
        for dateless in [
            &b""[..],
            b"date:x",
            b"date:1 x",
            b"date:1",
            b"date:1 2 3",
            b"date:nan 0",
        ] {
            assert_eq!(one(0, dateless), one(0, b"date:0.0 0"));
        }
        assert!(one(4, b"a:b:c\0:").is_ok());
        let long = [&b"a:"[..], &[b'x'; 256]].concat();
        for (flags, metadata) in [
            (2, &b""[..]),
            (0, b"abc"),
            (0, b"date:0 99999999"),
            (0, &long),
        ] {
            assert!(one(flags, metadata).is_err(), "{metadata:?}");
        }
        // Without parents, with none, with some that make no sense.
        let parents = |metadata: &[u8]| one(0, metadata).unwrap()[1 + super::super::at::PARENTS];
        assert_eq!(parents(b""), 3);
        assert_eq!(parents(b"p0:"), 0);
        assert_eq!(parents(b"p1:6161"), 3);
        assert_eq!(parents(b"p2:6161616161616161616161616161616161616161"), 1);
    }
}
