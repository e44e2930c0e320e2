//! Obsolescence markers: which changesets were rewritten or dropped, from `store/obsstore`.
//!
//! ```text
//! byte 0         then, repeated:
//!      +---------+  +--------+---------+-------+-------+------+------+------+----------+------------+
//!      | version |  | marker | date    | zone  | flags | succ | par  | meta | old node | successors |
//!      | 1       |  | len u32| 8 bytes | i16   | u16   | u8   | u8   | u8   | 20 B     | 20 B each  |
//!      +---------+  +--------+---------+-------+-------+------+------+------+----------+------------+
//!      then parents, if "par" is not 3 (unknown); per fact u8 length of its key, u8 of its value;
//!      then keys and values
//! ```
//! The length counts the whole marker. The date is a number of seconds as a float, the zone is in
//! minutes west of UTC. With flag bit 2 nodes have 32 bytes; such markers speak of no changeset
//! that this program can store and are passed over.

use crate::format::RepoError;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use varve_base::Storage;
use varve_base::storage::read_if_there;
use varve_lang::date::Date;
use varve_revlog::Node;
use version0::VERSION_0;

mod display;
mod version0;

pub use display::{FormattedMarkers, format_markers, python_repr};
pub use version0::encode_markers_v0;
pub(crate) use version0::{as_version_0, as_version_1};

mod at {
    pub const LEN: usize = 0;
    pub const DATE: usize = LEN + 4;
    pub const ZONE: usize = DATE + 8;
    pub const FLAGS: usize = ZONE + 2;
    pub const SUCCESSORS: usize = FLAGS + 2;
    pub const PARENTS: usize = SUCCESSORS + 1;
    pub const METADATA: usize = PARENTS + 1;
    pub const OLD_NODE: usize = METADATA + 1;
    pub const END: usize = OLD_NODE + 20;
}

const _: () = assert!(at::OLD_NODE == 19);

pub(crate) const VERSION: u8 = 1;
const BUMPED_FIX: u16 = 1;
const LONG_NODES: u16 = 2;
/// In range of the number of parents that were recorded.
const NO_PARENTS: u8 = 3;
/// Name of the file below the store.
pub(crate) const FILE: &str = "obsstore";

/// One changeset that became obsolete, and its successors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub old: Node,
    pub successors: Vec<Node>,
    /// Of the old changeset, where they were recorded.
    pub parents: Vec<Node>,
    /// Where all of it stands in the file.
    pub range: Range<usize>,
    /// Whether the successors redo changes of a public changeset, and are right so.
    pub is_bumped_fix: bool,
    pub date: Date,
    pub metadata: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Marker {
    pub(crate) fn metadata_value(&self, wanted: &[u8]) -> Option<&[u8]> {
        let mut metadata = self.metadata.iter();
        let found = metadata.find(|(key, _)| key == wanted);
        found.map(|(_, value)| &value[..])
    }
}

/// A marker as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMarker {
    /// The obsolete changeset.
    pub old: Node,
    /// Its successors; none for a changeset that was dropped.
    pub successors: Vec<Node>,
    /// Its parents, where they were recorded.
    pub parents: Option<Vec<Node>>,
    /// The bits of [`NewMarker::flags`].
    pub flags: u16,
    /// When it was made.
    pub date: Date,
    /// Further metadata, sorted by key.
    pub metadata: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Marker {
    /// The marker as it is listed; `file` is where it was read from.
    pub(crate) fn listed(&self, file: &[u8]) -> ListedMarker {
        let bytes = file.get(self.range.clone()).unwrap_or_default();
        let has_parents = bytes
            .get(at::PARENTS)
            .is_some_and(|count| *count != NO_PARENTS);
        let mut metadata = self.metadata.clone();
        metadata.sort();
        ListedMarker {
            old: self.old,
            successors: self.successors.clone(),
            parents: has_parents.then(|| self.parents.clone()),
            flags: FixedFields::of(bytes).flags,
            date: self.date,
            metadata,
        }
    }
}

/// A marker to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewMarker<'a> {
    /// The obsolete changeset.
    pub old: Node,
    /// Its successors; none for a changeset that was dropped.
    pub successors: &'a [Node],
    /// Its parents, which Mercurial records where there is no successor.
    pub parents: Option<&'a [Node]>,
    /// Bits, of which Mercurial knows one: the successors redo the changes of a public changeset.
    pub flags: u16,
    /// Seconds since 1970 and seconds west of UTC.
    pub date: (i64, i32),
    /// Further metadata, sorted by key; neither keys nor values have more than 255 bytes.
    pub metadata: &'a [(&'a [u8], &'a [u8])],
}

/// Markers in no order, perhaps several for one changeset.
pub(crate) fn read(storage: &dyn Storage, store: &Path) -> Result<Vec<Marker>, RepoError> {
    Ok(read_with_file(storage, store)?.0)
}

/// The same, with the bytes of the file.
pub(crate) fn read_with_file(
    storage: &dyn Storage,
    store: &Path,
) -> Result<(Vec<Marker>, Vec<u8>), RepoError> {
    let path = store.join(FILE);
    let bytes = read_if_there(storage, &path)?.unwrap_or_default();
    let damaged = |(line, reason)| RepoError::DamagedLine { path, line, reason };
    Ok((parse(&bytes).map_err(damaged)?, bytes))
}

/// The error is the number of the damaged marker, from 1, and its damage.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Marker>, (usize, &'static str)> {
    let mut markers = Vec::new();
    let mut rest = match bytes.split_first() {
        None => return Ok(markers),
        Some((&VERSION, rest)) => rest,
        Some(_) => return Err((1, "markers are of an unknown version")),
    };
    let mut count = 0;
    while !rest.is_empty() {
        count += 1;
        let cut = (count, "the marker is cut");
        let head = rest.first_chunk::<{ at::END }>().ok_or(cut)?;
        let len = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let marker = rest.get(..len).ok_or(cut)?;
        let start = bytes.len() - rest.len();
        if len < at::END {
            return Err((count, "the marker claims to be shorter than one can be"));
        }
        let numbers = FixedFields::of(head);
        if numbers.flags & LONG_NODES == 0 {
            let number = usize::from(head[at::SUCCESSORS]);
            let parents = match head[at::PARENTS] {
                NO_PARENTS => 0,
                parents => usize::from(parents),
            };
            let (nodes, _) = marker[at::OLD_NODE..].as_chunks::<{ Node::LEN }>();
            let metadata = at::OLD_NODE + Node::LEN * (1 + number + parents);
            let metadata = marker.get(metadata..).ok_or(cut)?;
            let others = nodes.get(1..=number + parents).ok_or(cut)?;
            let (successors, parents) = others.split_at(number);
            markers.push(Marker {
                old: Node(nodes[0]),
                successors: successors.iter().copied().map(Node).collect(),
                parents: parents.iter().copied().map(Node).collect(),
                range: start..start + len,
                is_bumped_fix: numbers.flags & BUMPED_FIX != 0,
                date: date(&numbers),
                metadata: parse_metadata(metadata, usize::from(head[at::METADATA])).ok_or(cut)?,
            });
        }
        rest = &rest[len..];
    }
    Ok(markers)
}

fn date(numbers: &FixedFields) -> Date {
    Date {
        time: numbers.time as i64,
        zone: i32::from(numbers.zone) * 60,
    }
}

fn parse_metadata(bytes: &[u8], count: usize) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let (lengths, mut rest) = bytes.split_at_checked(2 * count)?;
    let mut metadata = Vec::with_capacity(count);
    for pair in lengths.chunks_exact(2) {
        let (key, after) = rest.split_at_checked(usize::from(pair[0]))?;
        let (value, after) = after.split_at_checked(usize::from(pair[1]))?;
        metadata.push((key.to_vec(), value.to_vec()));
        rest = after;
    }
    Some(metadata)
}

/// The numeric fields of a marker.
struct FixedFields {
    time: f64,
    /// Minutes west of UTC.
    zone: i16,
    flags: u16,
}

impl FixedFields {
    /// Of a marker that [`parse`] has accepted.
    fn of(marker: &[u8]) -> FixedFields {
        fn field<const LEN: usize>(marker: &[u8], at: usize) -> [u8; LEN] {
            let bytes = marker.get(at..).and_then(|bytes| bytes.first_chunk());
            *bytes.unwrap_or(&[0; LEN])
        }
        FixedFields {
            time: f64::from_be_bytes(field(marker, at::DATE)),
            zone: i16::from_be_bytes(field(marker, at::ZONE)),
            flags: u16::from_be_bytes(field(marker, at::FLAGS)),
        }
    }
}

/// A marker of the old node, its successors, and its parents, if they are recorded. None of the
/// numbers and lengths is above 255.
fn encode(
    numbers: &FixedFields,
    (old, successors, parents): (Node, &[Node], Option<&[Node]>),
    metadata: &[(&[u8], &[u8])],
) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(&numbers.time.to_be_bytes());
    out.extend_from_slice(&numbers.zone.to_be_bytes());
    out.extend_from_slice(&numbers.flags.to_be_bytes());
    let parent_count = parents.map_or(NO_PARENTS, |parents| parents.len() as u8);
    out.extend_from_slice(&[successors.len() as u8, parent_count, metadata.len() as u8]);
    let nodes = [&[old], successors, parents.unwrap_or_default()];
    for node in nodes.into_iter().flatten() {
        out.extend_from_slice(&node.0);
    }
    for (key, value) in metadata {
        out.extend_from_slice(&[key.len() as u8, value.len() as u8]);
    }
    for (key, value) in metadata {
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    }
    let len = (out.len() as u32).to_be_bytes();
    out[..4].copy_from_slice(&len);
    out
}

impl NewMarker<'_> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let numbers = FixedFields {
            // Dates of changesets are far below 2^53.
            time: self.date.0 as f64,
            zone: (self.date.1 / 60) as i16,
            flags: self.flags,
        };
        encode(
            &numbers,
            (self.old, self.successors, self.parents),
            self.metadata,
        )
    }
}

/// Adds what markers name as successors of each changeset.
pub(crate) fn add_successors(markers: Vec<Marker>, successors: &mut HashMap<Node, Vec<Node>>) {
    for marker in markers {
        let all = successors.entry(marker.old).or_default();
        all.extend(marker.successors);
    }
}

/// Markers that came, as they are stored.
pub(crate) fn to_stored_form(bytes: &[u8]) -> Result<Vec<u8>, RepoError> {
    let bad = |(number, reason)| RepoError::BadMarker {
        reason: format!("marker {number}: {reason}"),
    };
    let bytes = match bytes.first() {
        Some(&VERSION_0) => as_version_1(bytes).map_err(bad)?,
        _ => bytes.to_vec(),
    };
    parse(&bytes).map_err(bad)?;
    Ok(bytes)
}

/// Whether a marker has the null changeset as a successor.
pub(crate) fn has_null_successor(bytes: &[u8]) -> bool {
    let markers = parse(bytes).unwrap_or_default();
    let mut successors = markers.iter().flat_map(|marker| &marker.successors);
    successors.any(|node| node.is_null())
}

/// The bytes of each marker of a file that [`parse`] has accepted.
pub(crate) fn raw_markers(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let len = u32::from_be_bytes(*rest.first_chunk()?) as usize;
        let (marker, behind) = rest.split_at_checked(len)?;
        rest = behind;
        Some(marker)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `hg` 7.2.4 wrote it for an amended changeset.
    const GOLDEN: &[u8] = b"\x01\0\0\0\x64\x41\xd9\x54\xfc\x40\0\0\0\0\0\0\0\x01\x03\x03\
        \x3b\x14\x58\x42\x38\x08\x09\x79\xf5\x8a\xe2\xc2\x50\xe8\x59\x98\x37\xf0\xc5\xaa\
        \x04\x1a\xdd\x86\xd9\x16\x84\x4b\x9a\x72\x9d\xb1\xfd\x9a\x7c\x19\x66\x77\xd8\xbe\
        \x03\x01\x09\x05\x04\x0def11operationamenduserAda <a@e.org>";

    /// The successor of the golden marker.
    const NEW: Node =
        Node(*b"\x04\x1a\xdd\x86\xd9\x16\x84\x4b\x9a\x72\x9d\xb1\xfd\x9a\x7c\x19\x66\x77\xd8\xbe");

    fn golden<'a>() -> NewMarker<'a> {
        let node = |hex: &str| Node::from_hex(hex.as_bytes()).unwrap();
        NewMarker {
            old: node("3b14584238080979f58ae2c250e8599837f0c5aa"),
            successors: &[NEW],
            parents: None,
            flags: 0,
            date: (1_700_000_000, 0),
            metadata: &[
                (b"ef1", b"1"),
                (b"operation", b"amend"),
                (b"user", b"Ada <a@e.org>"),
            ],
        }
    }

    #[test]
    fn golden_marker_is_read_and_written() {
        let marker = golden();
        assert_eq!([&[VERSION], &marker.encode()[..]].concat(), GOLDEN);
        let found = Marker {
            old: marker.old,
            successors: marker.successors.to_vec(),
            parents: Vec::new(),
            range: 1..GOLDEN.len(),
            is_bumped_fix: false,
            date: Date {
                time: 1_700_000_000,
                zone: 0,
            },
            metadata: marker
                .metadata
                .iter()
                .map(|(key, value)| (key.to_vec(), value.to_vec()))
                .collect(),
        };
        assert_eq!(parse(GOLDEN).unwrap(), [found]);
    }

    #[test]
    fn cuts_are_noticed() {
        let bytes = [GOLDEN, &golden().encode()].concat();
        assert_eq!(parse(&bytes).unwrap().len(), 2);
        for len in 2..bytes.len() {
            assert_eq!(parse(&bytes[..len]).is_ok(), len == GOLDEN.len(), "{len}");
        }
        assert!(parse(&[]).unwrap().is_empty());
        assert!(parse(&[0, 1]).is_err());
        let mut greedy = GOLDEN.to_vec();
        greedy[1 + at::SUCCESSORS] = 200;
        assert!(parse(&greedy).is_err());
    }
}
