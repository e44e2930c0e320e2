//! All files at one slot, as ranges of segments.
//!
//! ```text
//! body: slot varint | count varint, then each entry in the order of paths:
//!       path counted | kind u8
//!       kind 1, file:       count varint, then each run: segment (slot varint, hash 16, nonce 16),
//!                           offset varint, length varint
//!       kind 2, directory:  nothing more
//!       kind 3, link:       target counted
//! ```

use super::SegmentName;
use super::envelope::{self, MAGIC_LEN};
use super::operation::{put_path, put_segment, read_path, read_segment};
use std::path::PathBuf;
use varve_base::varint::{self, Reader};

const MAGIC: [u8; MAGIC_LEN] = *b"vrv-chk\n";
const FILE: u8 = 1;
const DIRECTORY: u8 = 2;
const SYMLINK: u8 = 3;

/// A run of bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRun {
    pub(crate) segment: SegmentName,
    /// Begin of the run in the segment.
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// An entry of the tree of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeEntry {
    /// The runs that make the file, without gaps.
    File(Vec<FileRun>),
    Directory,
    /// A symbolic link with its target.
    Symlink(String),
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Slot of the record that announces it.
    pub(crate) slot: u64,
    /// In the order of paths.
    pub(crate) entries: Vec<(PathBuf, TreeEntry)>,
}

impl Checkpoint {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = envelope::begin(MAGIC);
        varint::put(self.slot, &mut out);
        varint::put(self.entries.len() as u64, &mut out);
        for (path, entry) in &self.entries {
            put_path(path, &mut out);
            match entry {
                TreeEntry::File(runs) => {
                    out.push(FILE);
                    varint::put(runs.len() as u64, &mut out);
                    for run in runs {
                        put_segment(&run.segment, &mut out);
                        varint::put(run.offset, &mut out);
                        varint::put(run.len, &mut out);
                    }
                }
                TreeEntry::Directory => out.push(DIRECTORY),
                TreeEntry::Symlink(target) => {
                    out.push(SYMLINK);
                    varint::put_counted(target.as_bytes(), &mut out);
                }
            }
        }
        envelope::seal(&mut out);
        out
    }

    /// # Errors
    /// The rule that the bytes break.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Checkpoint, &'static str> {
        let (body, _) = envelope::open(bytes, MAGIC)?;
        let mut reader = Reader::new(body);
        let checkpoint = read(&mut reader).ok_or("its fields are not those of a checkpoint")?;
        let in_order = |pair: &[(PathBuf, TreeEntry)]| pair[0].0 < pair[1].0;
        if !checkpoint.entries.windows(2).all(in_order) {
            return Err("its paths are not in order");
        }
        match reader.is_empty() {
            true => Ok(checkpoint),
            false => Err("it has bytes behind its end"),
        }
    }
}

fn read(reader: &mut Reader<'_>) -> Option<Checkpoint> {
    let (slot, count) = (reader.u64()?, reader.u64()?);
    let mut entries = Vec::new();
    for _ in 0..count {
        let path = read_path(reader)?;
        let entry = match reader.byte()? {
            FILE => TreeEntry::File(read_runs(reader)?),
            DIRECTORY => TreeEntry::Directory,
            SYMLINK => {
                let target = reader.counted()?.to_vec();
                TreeEntry::Symlink(String::from_utf8(target).ok()?)
            }
            _ => return None,
        };
        entries.push((path, entry));
    }
    Some(Checkpoint { slot, entries })
}

fn read_runs(reader: &mut Reader<'_>) -> Option<Vec<FileRun>> {
    let count = reader.u64()?;
    let (mut runs, mut total) = (Vec::new(), 0_u64);
    for _ in 0..count {
        let run = FileRun {
            segment: read_segment(reader)?,
            offset: reader.u64()?,
            len: reader.u64()?,
        };
        run.offset.checked_add(run.len)?;
        total = total.checked_add(run.len)?;
        runs.push(run);
    }
    Some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checkpoint() -> impl Strategy<Value = Checkpoint> {
        let run = (any::<[u64; 3]>(), any::<[u8; 16]>(), any::<[u8; 16]>());
        let run = run.prop_map(|([slot, offset, len], hash, nonce)| FileRun {
            segment: SegmentName { slot, hash, nonce },
            offset: offset >> 2,
            len: len >> 8,
        });
        let entry = prop_oneof![
            proptest::collection::vec(run, 0..4).prop_map(TreeEntry::File),
            Just(TreeEntry::Directory),
            "[a-z]{0,5}".prop_map(TreeEntry::Symlink),
        ];
        let entries = proptest::collection::btree_map("[a-z]{1,5}(/[a-z]{1,3})?", entry, 0..6);
        (any::<u64>(), entries).prop_map(|(slot, entries)| Checkpoint {
            slot,
            entries: {
                let paths = entries
                    .into_iter()
                    .map(|(path, it)| (PathBuf::from(path), it));
                let mut entries: Vec<_> = paths.collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                entries
            },
        })
    }

    proptest! {
        #[test]
        fn checkpoints_decode_to_what_was_encoded(checkpoint in checkpoint()) {
            let bytes = checkpoint.encode();
            prop_assert_eq!(Checkpoint::decode(&bytes), Ok(checkpoint));
        }

        #[test]
        fn a_changed_checkpoint_is_refused(checkpoint in checkpoint(), at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
            let mut bytes = checkpoint.encode();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert!(Checkpoint::decode(&bytes).is_err());
        }

        #[test]
        fn no_bytes_panic_behind_a_right_checksum(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = envelope::begin(MAGIC);
            bytes.extend_from_slice(&body);
            envelope::seal(&mut bytes);
            if let Ok(checkpoint) = Checkpoint::decode(&bytes) {
                prop_assert_eq!(Checkpoint::decode(&checkpoint.encode()), Ok(checkpoint));
            }
        }
    }
}
