//! Archives against those of Mercurial and against readers of the formats.
#![allow(clippy::unwrap_used, reason = "a test that cannot do its work fails")]

mod golden;
mod kinds;
mod tar_format;
mod zip_format;

use varve_archive::{ArchiveEntry, ArchiveKind, ArchiveWriter};

/// A file that is to be archived.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedEntry {
    name: Vec<u8>,
    mode: u32,
    is_link: bool,
    content: Vec<u8>,
}

impl OwnedEntry {
    fn file(name: impl Into<Vec<u8>>, content: impl Into<Vec<u8>>) -> OwnedEntry {
        OwnedEntry {
            name: name.into(),
            mode: 0o644,
            is_link: false,
            content: content.into(),
        }
    }

    fn link(name: impl Into<Vec<u8>>, target: impl Into<Vec<u8>>) -> OwnedEntry {
        OwnedEntry {
            is_link: true,
            ..OwnedEntry::file(name, target)
        }
    }
}

fn write(kind: ArchiveKind, time: i64, file_name: &str, entries: &[OwnedEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = ArchiveWriter::begin(kind, &mut out, time, file_name.as_bytes()).unwrap();
    for entry in entries {
        let entry = ArchiveEntry {
            name: &entry.name,
            mode: entry.mode,
            is_link: entry.is_link,
            content: &entry.content,
        };
        archive.add(&entry).unwrap();
    }
    archive.finish().unwrap();
    out
}

/// Any few files; their names are of several lengths and encodings.
fn entries() -> impl proptest::strategy::Strategy<Value = Vec<OwnedEntry>> {
    use proptest::prelude::*;
    let name = prop_oneof![
        "[a-z]{1,8}(/[a-z]{1,8}){0,3}",
        "[a-z]{95,104}",
        "[a-zé€😀]{1,40}",
    ];
    let bytes = proptest::collection::vec(1..=u8::MAX, 1..130);
    let name = prop_oneof![3 => name.prop_map(String::into_bytes), 1 => bytes];
    let content = proptest::collection::vec(any::<u8>(), 0..1100);
    let modes = proptest::sample::select(vec![0o644_u32, 0o755]);
    let entry = (name, modes, any::<bool>(), content).prop_map(|(name, mode, is_link, content)| {
        match is_link {
            true => OwnedEntry::link(
                name,
                content
                    .iter()
                    .map(|byte| byte | 1)
                    .take(200)
                    .collect::<Vec<u8>>(),
            ),
            false => OwnedEntry {
                mode,
                ..OwnedEntry::file(name, content)
            },
        }
    });
    proptest::collection::vec(entry, 0..6)
}
