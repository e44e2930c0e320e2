//! Bodies of the fuzz targets; also run by plain tests.

use crate::format::manifest::{ManifestEntries, push_entry};
use crate::format::obsstore;
use crate::format::store_path::{self, encode_directories};
use crate::format::{Changeset, FileText, fncache, journal, phases};
use crate::read::bisection;
use crate::read::caches::{BranchNames, Key, TagFiles};
use varve_revlog::Rev;

/// Never panics on any changeset's text.
pub fn changeset(data: &[u8]) {
    if let Ok(changeset) = Changeset::parse(data) {
        let _ = (changeset.branch(), changeset.closes_branch());
        assert!(
            changeset
                .files()
                .chain([changeset.user])
                .all(|part| part.len() <= data.len())
        );
    }
}

/// Never panics; a manifest that is read whole is written back to the same bytes, but for the
/// case of digits.
pub fn manifest(data: &[u8]) {
    let mut again = Vec::new();
    for entry in ManifestEntries::new(data) {
        match entry {
            Ok(entry) => push_entry(&entry, &mut again),
            Err(_) => return,
        }
    }
    assert!(again.eq_ignore_ascii_case(data));
    let _ = ManifestEntries::find(data, &data[..data.len().min(3)]);
}

/// Never panics; a file's text without metadata is encoded back to its content.
pub fn file_text(data: &[u8]) {
    let text = FileText::parse(data);
    let encoded = text.encode();
    assert_eq!(FileText::parse(&encoded), text);
}

/// Never panics on any size in a fileset.
pub fn fileset_size(data: &[u8]) {
    crate::read::fileset::fuzz_size(data);
}

/// Never panics on any bytes that should be obsolescence markers. Those of version 0 become some
/// that can be stored.
pub fn obsolete_markers(data: &[u8]) {
    let _ = obsstore::parse(data);
    if let Ok(stored) = obsstore::as_version_1(data) {
        assert!(obsstore::parse(&stored).is_ok());
    }
}

/// Never panics on any cache of branches: a key, names up to an empty line, and records whose
/// changesets are those that the records say. A decoded cache is encoded and decoded as the same.
pub fn branch_caches(data: &[u8]) {
    if let Some(key) = Key::parse(data) {
        assert_eq!(Key::parse(&key.encode()), Some(key));
    }
    let middle = data.windows(2).position(|pair| pair == b"\n\n");
    let (names, revs) = data.split_at(middle.unwrap_or_default());
    let revs = revs.strip_prefix(b"\n\n").unwrap_or(revs);
    let prefix = |rev: usize| {
        let record = revs.as_chunks::<8>().0.get(rev);
        record.map_or([0; 4], |[a, b, c, d, ..]| [*a, *b, *c, *d])
    };
    let len = revs.len() / 8 + 1;
    let found = BranchNames::decode(names.to_vec(), revs, len, &prefix);
    let (names, revs) = found.encode(&|rev| prefix(rev.index()));
    let again = BranchNames::decode(names, &revs, len, &prefix);
    for rev in (0..len as u32).map(Rev) {
        assert_eq!(again.get(rev), found.get(rev));
        assert!(
            found
                .get(rev)
                .is_none_or(|(number, _)| !found.name(number).is_empty())
        );
    }
}

/// Never panics on any cache of tags; decoded records encode to the same bytes.
pub fn tag_caches(data: &[u8]) {
    for record in data.chunks(24) {
        let prefix = record.first_chunk().copied().unwrap_or_default();
        if let Some(node) = TagFiles::decode(record, prefix) {
            assert_eq!(TagFiles::encode(prefix, &node), record);
        }
    }
}

/// Never panics; a decoded journal encodes to the same bytes, except for torn ends and odd
/// spellings of numbers.
pub fn journal(data: &[u8]) {
    if let Ok(lengths) = journal::decode_lengths(data) {
        let again = journal::encode_lengths(&lengths);
        assert_eq!(journal::decode_lengths(&again).as_ref(), Ok(&lengths));
    }
    if let Ok(backups) = journal::decode_backups(data) {
        let again = journal::encode_backups(&backups);
        assert_eq!(journal::decode_backups(&again).as_ref(), Ok(&backups));
    }
}

/// Never panics; names of the list are encoded back to lines of it.
pub fn fncache(data: &[u8]) {
    for name in fncache::decode(data).unwrap_or_default() {
        let line = encode_directories(&name);
        assert_eq!(store_path::decode_directories(&line).as_ref(), name);
    }
}

/// Never panics; an error names an existing line, and no more changesets are marked than there are lines.
pub fn bisect_state(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n').count();
    match bisection::parse(data) {
        Ok(state) => assert!(state.good.len() + state.bad.len() <= lines),
        Err((line, _)) => assert!((1..=lines).contains(&line)),
    }
}

/// Never panics; an error names an existing line, and there are no more roots than lines.
pub fn phase_roots(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n').count();
    match phases::parse(data) {
        Ok(roots) => assert!(roots.len() <= lines),
        Err(line) => assert!((1..=lines).contains(&line)),
    }
}

/// Never panics on any name; a name that can be decoded comes back.
pub fn store_name(data: &[u8]) {
    let encoded = encode_directories(data);
    assert_eq!(store_path::decode_directories(&encoded).as_ref(), data);
    let escaped = store_path::escape(data, true);
    assert_eq!(store_path::unescape(&escaped).as_deref(), Some(data));
    let hashed = store_path::StoreLayout::Listed { dotencode: true };
    let _ = hashed.path(data);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    const CHANGESET: &[u8] =
        b"6e73304f01e642d841e7ff07571d3af18717ccf6\ntest\n5 -7200 branch:a\\\\b\0close:1\na\n\nc";
    const MANIFEST: &[u8] = b"a\x006e73304f01e642d841e7ff07571d3af18717ccf6x\nb\x006e73304f01e642d841e7ff07571d3af18717ccf6\n";
    const COPY: &[u8] =
        b"\x01\ncopy: a\ncopyrev: 6e73304f01e642d841e7ff07571d3af18717ccf6\n\x01\nx";

    const BRANCHES: &[u8] =
        b"default\0stable\n\n\x8dJKL\0\0\0\0\x96Oy \x80\0\0\x01\0\0\0\0\0\0\0\0";
    const KEY: &[u8] =
        b"6e73304f01e642d841e7ff07571d3af18717ccf6 9 28bde25f327eb5088d0a4af0fcaaecd47588f9cd\n";
    const TAG_FILES: &[u8] =
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\
          \x8f\x17\xe1\x53\x9b\xb9\x6c\x9e\x0f\xa2\x12\xd3\xd8\xfb\x31\x98\x0f\xc5\xda\x7e\xb6\xb2\x22\x5a";

    proptest! {
        #[test]
        fn changed_texts_keep_the_promises(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let changed = |golden: &[u8]| {
                let mut bytes = golden.to_vec();
                for (at, byte) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                bytes
            };
            super::changeset(&changed(CHANGESET));
            super::manifest(&changed(MANIFEST));
            super::file_text(&changed(COPY));
            super::branch_caches(&changed(BRANCHES));
            super::branch_caches(&changed(KEY));
            super::tag_caches(&changed(TAG_FILES));
            super::obsolete_markers(&changed(&[&[1, 0, 0, 0, 50][..], &[0; 60]].concat()));
            let marker = [&[0, 1, 0, 0, 0, 10, 4][..], &[7; 40], b"date:1.5 0"].concat();
            super::obsolete_markers(&changed(&marker));
            super::fncache(&changed(b"data/a.i\ndata/x.i.hg/y.d\n"));
            super::phase_roots(&changed(b"1 6e73304f01e642d841e7ff07571d3af18717ccf6\n"));
            super::bisect_state(&changed(b"bad 6e73304f01e642d841e7ff07571d3af18717ccf6\n"));
            super::fileset_size(&changed(b"4k - 1.5MB"));
            super::store_name(&changed(b"data/x.i/y.hg/A_b~.i"));
        }
    }
}
