//! Changegroups of every version: framed groups are read back, one by one; lengths that lie are refused.

use crate::ExchangeError;
use crate::format::changegroup::{
    ChangegroupReader, ChangegroupVersion, DeltaHeader, Group, full_text_hunk, write_chunk,
    write_end,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A delta with its patch.
type Delta = (DeltaHeader, Vec<u8>);

/// Deltas of the changelog, of the manifest, and of files with their paths.
#[derive(Clone, Debug)]
struct Groups {
    changesets: Vec<Delta>,
    manifests: Vec<Delta>,
    files: Vec<(Vec<u8>, Vec<Delta>)>,
}

fn deltas() -> impl Strategy<Value = Vec<Delta>> {
    let delta = (
        any::<[[u8; 20]; 5]>(),
        any::<u16>(),
        vec(any::<u8>(), 0..40),
    );
    let delta = delta.prop_map(|([node, p1, p2, base, changeset], flags, patch)| {
        let header = DeltaHeader {
            node,
            p1,
            p2,
            base,
            changeset,
            flags,
        };
        (header, patch)
    });
    vec(delta, 0..4)
}

fn groups() -> impl Strategy<Value = Groups> {
    let files = vec((vec(any::<u8>(), 1..20), deltas()), 0..4);
    (deltas(), deltas(), files).prop_map(|(changesets, manifests, files)| Groups {
        changesets,
        manifests,
        files,
    })
}

impl Groups {
    fn all(&self) -> Vec<(Group, &[Delta])> {
        let mut all = vec![
            (Group::Changesets, &self.changesets[..]),
            (Group::Manifests, &self.manifests[..]),
        ];
        let files = self.files.iter();
        all.extend(files.map(|(path, deltas)| (Group::File(path.clone()), &deltas[..])));
        all
    }

    fn encode(&self, version: ChangegroupVersion) -> Vec<u8> {
        let mut out = Vec::new();
        for (group, deltas) in self.all() {
            if let Group::File(path) = &group {
                write_chunk(path, &mut out).unwrap();
            }
            for (header, patch) in deltas {
                header.write(version, patch.len(), &mut out).unwrap();
                out.extend(patch);
            }
            write_end(&mut out).unwrap();
            if group == Group::Manifests && version == ChangegroupVersion::V3 {
                // No manifests of directories.
                write_end(&mut out).unwrap();
            }
        }
        write_end(&mut out).unwrap();
        out
    }
}

/// The header as a reader of this version knows it.
fn as_read(
    version: ChangegroupVersion,
    header: &DeltaHeader,
    before: Option<&Delta>,
) -> DeltaHeader {
    let mut header = *header;
    if version != ChangegroupVersion::V3 {
        header.flags = 0;
    }
    if version == ChangegroupVersion::V1 {
        header.base = before.map_or(header.p1, |(before, _)| before.node);
    }
    header
}

fn read(
    bytes: &[u8],
    version: ChangegroupVersion,
) -> Result<Vec<(Group, Vec<Delta>)>, ExchangeError> {
    let mut reader = ChangegroupReader::new(bytes, version);
    let (mut found, mut patch) = (Vec::new(), Vec::new());
    while let Some(group) = reader.next_group()? {
        let mut deltas = Vec::new();
        while let Some(header) = reader.next_delta(&mut patch)? {
            deltas.push((header, patch.clone()));
        }
        found.push((group, deltas));
    }
    Ok(found)
}

fn versions() -> impl Strategy<Value = ChangegroupVersion> {
    prop::sample::select(ChangegroupVersion::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn groups_are_read_as_they_were_written(groups in groups(), version in versions()) {
        let found = read(&groups.encode(version), version).unwrap();
        let all = groups.all();
        prop_assert_eq!(found.len(), all.len());
        for ((group, deltas), (expected_group, expected)) in found.iter().zip(all) {
            prop_assert_eq!(group, &expected_group);
            prop_assert_eq!(deltas.len(), expected.len());
            for (at, (header, patch)) in deltas.iter().enumerate() {
                let before = at.checked_sub(1).map(|before| &expected[before]);
                prop_assert_eq!(*header, as_read(version, &expected[at].0, before));
                prop_assert_eq!(patch, &expected[at].1);
            }
        }
    }

    #[test]
    fn a_changegroup_that_is_cut_anywhere_is_refused(groups in groups(), version in versions()) {
        let bytes = groups.encode(version);
        for len in 0..bytes.len() {
            prop_assert!(read(&bytes[..len], version).is_err(), "{} of {}", len, bytes.len());
        }
    }

    /// The deltas of a group may be left unread in part.
    #[test]
    fn groups_that_are_left_are_skipped(groups in groups(), version in versions(), taken in 0_usize..3) {
        let bytes = groups.encode(version);
        let mut reader = ChangegroupReader::new(&bytes[..], version);
        let mut patch = Vec::new();
        for (expected, deltas) in groups.all() {
            prop_assert_eq!(reader.next_group().unwrap(), Some(expected));
            for (_, expected) in deltas.iter().take(taken) {
                prop_assert!(reader.next_delta(&mut patch).unwrap().is_some());
                prop_assert_eq!(&patch, expected);
            }
        }
        prop_assert_eq!(reader.next_group().unwrap(), None);
        prop_assert_eq!(reader.next_delta(&mut patch).unwrap(), None);
        prop_assert_eq!(reader.next_group().unwrap(), None, "the end stays the end");
    }

    /// The length of the first chunk is replaced by one that cannot hold a header.
    #[test]
    fn chunks_too_short_for_a_header_are_refused(
        groups in groups(), version in versions(), len in prop_oneof![1..5_i32, 5..84_i32, i32::MIN..0],
    ) {
        prop_assume!(!groups.changesets.is_empty());
        let mut bytes = groups.encode(version);
        bytes[..4].copy_from_slice(&len.to_be_bytes());
        let refused = read(&bytes, version).unwrap_err();
        let is_told = matches!(
            refused,
            ExchangeError::ChunkLength(told) if told == len
        ) || matches!(refused, ExchangeError::StreamEnded { .. });
        prop_assert!(is_told, "{}", refused);
    }

    #[test]
    fn a_text_from_nothing_is_one_hunk(text in vec(any::<u8>(), 0..60)) {
        let patch = [&full_text_hunk(text.len()).unwrap()[..], &text].concat();
        let hunks: Vec<_> = varve_delta::Hunks::new(&patch).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(hunks.len(), 1);
        prop_assert_eq!((hunks[0].start, hunks[0].end), (0, 0));
        prop_assert_eq!(hunks[0].data, &text[..]);
    }
}

/// Manifests of directories, which only version 03 can have, are refused by name and not taken for files.
#[test]
fn manifests_of_directories_are_refused() {
    let mut out = Vec::new();
    write_end(&mut out).unwrap();
    write_end(&mut out).unwrap();
    write_chunk(b"sub/", &mut out).unwrap();
    out.extend([0; 12]);
    let refused = read(&out, ChangegroupVersion::V3).unwrap_err();
    let words = "unknown bundle feature, manifest of the directory sub/";
    assert_eq!(refused.to_string(), words);
    let files = read(&out, ChangegroupVersion::V2).unwrap();
    assert_eq!(files.last().unwrap().0, Group::File(b"sub/".to_vec()));
}

#[test]
fn the_newest_known_version_is_chosen() {
    let best = |names: &[&str]| ChangegroupVersion::best_of(names.iter().copied());
    assert_eq!(best(&[]), None);
    assert_eq!(best(&["04", "", "1", "03 "]), None);
    assert_eq!(best(&["02", "03", "01"]), Some(ChangegroupVersion::V3));
    assert_eq!(best(&["99", "01"]), Some(ChangegroupVersion::V1));
    for version in ChangegroupVersion::ALL {
        assert_eq!(ChangegroupVersion::named(version.name()).unwrap(), version);
    }
}
