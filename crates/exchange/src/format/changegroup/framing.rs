//! Changegroup framing: chunks, groups, and the header of a delta.
//!
//! ```text
//! chunk:   u32 length, itself included | bytes        an empty group, list or end is u32 0
//!
//! delta    0      20    40    60     80          100     102
//! chunk:   +------+-----+-----+------+-----------+-------+----------
//!   02     | node | p1  | p2  | base | changeset |       | patch …
//!   03     | node | p1  | p2  | base | changeset | flags | patch …
//!          | 20 B | 20  | 20  | 20   | 20        | u16   |
//!          +------+-----+-----+------+-----------+-------+----------
//!   01     | node | p1  | p2  | changeset |                patch against the chunk before,
//!          +------+-----+-----+-----------+                the first one against p1
//!
//! patch:   hunks of  u32 start  u32 end  u32 length  bytes ;  a full text is one hunk 0 0 length
//! ```
//!
//! Source: Mercurial `helptext/internals/changegroups.txt`.

use crate::ExchangeError;
use std::io::{self, Write};

/// A node as it travels: the SHA-1 of parents and text.
pub type NodeBytes = [u8; 20];

/// Which form of changegroup is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangegroupVersion {
    /// Deltas against the previous revision of the group.
    V1,
    /// Deltas name their base.
    V2,
    /// As 02, with flags and a section for tree manifests.
    V3,
}

impl ChangegroupVersion {
    /// All versions, the oldest first.
    pub const ALL: [ChangegroupVersion; 3] = [
        ChangegroupVersion::V1,
        ChangegroupVersion::V2,
        ChangegroupVersion::V3,
    ];

    /// The value of a part's `version` parameter.
    pub fn name(self) -> &'static str {
        match self {
            ChangegroupVersion::V1 => "01",
            ChangegroupVersion::V2 => "02",
            ChangegroupVersion::V3 => "03",
        }
    }

    /// The version of a name.
    ///
    /// # Errors
    /// [`ExchangeError::ChangegroupVersion`] if nothing here knows it.
    pub fn named(name: &str) -> Result<ChangegroupVersion, ExchangeError> {
        match name {
            "01" => Ok(ChangegroupVersion::V1),
            "02" => Ok(ChangegroupVersion::V2),
            "03" => Ok(ChangegroupVersion::V3),
            _ => Err(ExchangeError::ChangegroupVersion(name.to_owned())),
        }
    }

    /// The newest of these that is written here.
    pub(crate) fn best_of<'a>(names: impl Iterator<Item = &'a str>) -> Option<ChangegroupVersion> {
        let known = names.filter_map(|name| ChangegroupVersion::named(name).ok());
        known.max_by_key(|version| version.name())
    }

    /// Bytes of a delta's header, without its length.
    pub(crate) fn header_len(self) -> usize {
        match self {
            ChangegroupVersion::V1 => 80,
            ChangegroupVersion::V2 => 100,
            ChangegroupVersion::V3 => 102,
        }
    }
}

/// Everything before the patch in a delta chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaHeader {
    /// Name of the revision.
    pub node: NodeBytes,
    /// First parent; zeros for none, here and below.
    pub p1: NodeBytes,
    /// Second parent.
    pub p2: NodeBytes,
    /// Base of the patch.
    pub base: NodeBytes,
    /// The changeset that introduces the revision.
    pub changeset: NodeBytes,
    /// Bits of [`varve_revlog::flag`]; only version 03 has them.
    pub flags: u16,
}

/// Bytes of the longest header: length, five nodes, flags.
const LONGEST: usize = 4 + 5 * 20 + 2;

impl DeltaHeader {
    /// Takes a header apart; `previous` is the revision before it in the group. `None` if the
    /// bytes are not exactly a header of the version.
    pub(crate) fn parse(
        bytes: &[u8],
        version: ChangegroupVersion,
        previous: Option<NodeBytes>,
    ) -> Option<DeltaHeader> {
        let (nodes, rest) = bytes.as_chunks::<20>();
        let (node, p1, p2) = (*nodes.first()?, *nodes.get(1)?, *nodes.get(2)?);
        let (base, changeset) = match (version, nodes.get(3..)?) {
            (ChangegroupVersion::V1, [changeset]) => (previous.unwrap_or(p1), *changeset),
            (ChangegroupVersion::V2 | ChangegroupVersion::V3, [base, changeset]) => {
                (*base, *changeset)
            }
            _ => return None,
        };
        let flags = match (version, rest) {
            (ChangegroupVersion::V3, [high, low]) => u16::from_be_bytes([*high, *low]),
            (ChangegroupVersion::V1 | ChangegroupVersion::V2, []) => 0,
            _ => return None,
        };
        Some(DeltaHeader {
            node,
            p1,
            p2,
            base,
            changeset,
            flags,
        })
    }

    /// Writes the chunk's length and header; `patch` bytes must follow.
    pub(crate) fn write(
        &self,
        version: ChangegroupVersion,
        patch: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut bytes = [0; LONGEST];
        let mut at = 4;
        let mut put = |field: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + field.len()) {
                place.copy_from_slice(field);
            }
            at += field.len();
        };
        put(&self.node);
        put(&self.p1);
        put(&self.p2);
        if version != ChangegroupVersion::V1 {
            put(&self.base);
        }
        put(&self.changeset);
        if version == ChangegroupVersion::V3 {
            put(&self.flags.to_be_bytes());
        }
        let len = chunk_len(at - 4 + patch)?;
        if let Some(place) = bytes.first_chunk_mut::<4>() {
            *place = len;
        }
        out.write_all(bytes.get(..at).unwrap_or_default())
    }
}

/// The length field of a chunk with `payload` bytes.
fn chunk_len(payload: usize) -> io::Result<[u8; 4]> {
    let len = payload.checked_add(4).and_then(|n| i32::try_from(n).ok());
    len.map(i32::to_be_bytes).ok_or_else(|| {
        let reason = format!("a revision of {payload} bytes does not fit a changegroup's chunk");
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })
}

/// Header of the patch that makes `len` bytes of full text from nothing.
pub(crate) fn full_text_hunk(len: usize) -> io::Result<[u8; 12]> {
    let mut hunk = [0; 12];
    let len = u32::try_from(len)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a text over 4 GiB"))?;
    if let Some(place) = hunk.last_chunk_mut::<4>() {
        *place = len.to_be_bytes();
    }
    Ok(hunk)
}

/// Writes a whole chunk, such as the name of a file.
pub(crate) fn write_chunk(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    out.write_all(&chunk_len(bytes.len())?)?;
    out.write_all(bytes)
}

/// Ends a group or a list of files.
pub(crate) fn write_end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(&[0; 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first chunk of a changegroup 03 as `hg serve` 7.2.4 sent it.
    const GOLDEN: &[u8] = include_bytes!("../../../tests/golden/changegroup03-first-chunk.bin");

    fn node(hex: &str) -> NodeBytes {
        let byte = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
        std::array::from_fn(byte)
    }

    fn golden_header() -> DeltaHeader {
        let node = node("d1ac084ee6413cd4e8451631c6606d4d4e1e5c3b");
        DeltaHeader {
            node,
            p1: [0; 20],
            p2: [0; 20],
            base: [0; 20],
            changeset: node,
            flags: 0,
        }
    }

    #[test]
    fn golden_chunk_of_a_changeset() {
        let text = b"a0c8bcbbb45c63b90b70ad007bf38961f64f2af0\ntest\n0 0\na\n\none";
        let mut out = Vec::new();
        let patch = 12 + text.len();
        golden_header()
            .write(ChangegroupVersion::V3, patch, &mut out)
            .unwrap();
        out.extend_from_slice(&full_text_hunk(text.len()).unwrap());
        out.extend_from_slice(text);
        assert_eq!(out, GOLDEN);
    }

    #[test]
    fn each_version_has_its_length() {
        for (version, header) in [
            (ChangegroupVersion::V1, 80),
            (ChangegroupVersion::V2, 100),
            (ChangegroupVersion::V3, 102),
        ] {
            let mut out = Vec::new();
            golden_header().write(version, 5, &mut out).unwrap();
            assert_eq!(out.len(), 4 + header);
            assert_eq!(version.header_len(), header);
            let back = DeltaHeader::parse(&out[4..], version, None);
            assert_eq!(back, Some(golden_header()));
            assert_eq!(DeltaHeader::parse(&out[5..], version, None), None);
            let len = u32::from_be_bytes(*out.first_chunk().unwrap());
            assert_eq!(len as usize, 4 + header + 5);
        }
    }

    #[test]
    fn too_long_is_an_error() {
        let huge = i32::MAX as usize;
        assert!(
            golden_header()
                .write(ChangegroupVersion::V2, huge, &mut Vec::new())
                .is_err()
        );
        assert_eq!(
            ChangegroupVersion::best_of(["01", "04", "02"].into_iter()),
            Some(ChangegroupVersion::V2)
        );
    }
}
