//! Bodies of the fuzz targets; also run by plain tests.

use crate::changeset::Changeset;
use crate::file_text::FileText;
use crate::manifest::{ManifestEntries, push_entry};
use crate::{encode_folders, fncache, journal, obsolete, phases, store_path};

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

/// Never panics; a file's text without metadata is encoded back to what it says.
pub fn file_text(data: &[u8]) {
    let text = FileText::parse(data);
    let encoded = text.encode();
    assert_eq!(FileText::parse(&encoded), text);
}

/// Never panics on any bytes that should be obsolescence markers.
pub fn obsolete_markers(data: &[u8]) {
    let _ = obsolete::parse(data);
}

/// Never panics; what is read of a journal is written back to the same bytes, but for torn ends
/// and odd spellings of numbers.
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
        let line = encode_folders(&name);
        assert_eq!(store_path::decode_folders(&line).as_ref(), name);
    }
}

/// Never panics; tells of a line that there is, or has no more roots than lines.
pub fn phase_roots(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n').count();
    match phases::parse(data) {
        Ok(roots) => assert!(roots.len() <= lines),
        Err(line) => assert!((1..=lines).contains(&line)),
    }
}

/// Never panics on any name; what can be undone comes back.
pub fn store_name(data: &[u8]) {
    let encoded = encode_folders(data);
    assert_eq!(store_path::decode_folders(&encoded).as_ref(), data);
    let escaped = store_path::escape(data, true);
    assert_eq!(store_path::unescape(&escaped).as_deref(), Some(data));
    let hashed = store_path::StoreLayout::Listed { dotencode: true };
    let _ = hashed.path(data);
}

/// Never panics on any pattern.
pub fn pattern(data: &[u8]) {
    crate::patterns::fuzz(data);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    const CHANGESET: &[u8] =
        b"6e73304f01e642d841e7ff07571d3af18717ccf6\ntest\n5 -7200 branch:a\\\\b\0close:1\na\n\nc";
    const MANIFEST: &[u8] = b"a\x006e73304f01e642d841e7ff07571d3af18717ccf6x\nb\x006e73304f01e642d841e7ff07571d3af18717ccf6\n";
    const COPY: &[u8] =
        b"\x01\ncopy: a\ncopyrev: 6e73304f01e642d841e7ff07571d3af18717ccf6\n\x01\nx";

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
            super::obsolete_markers(&changed(&[&[1, 0, 0, 0, 50][..], &[0; 60]].concat()));
            super::pattern(&changed(b"re:(?i)[a-c]{2,3}\\d*(x|y)?\naa1"));
            super::pattern(&changed(b"relglob:**/{*.[ch],a?}\na/b.c"));
            super::fncache(&changed(b"data/a.i\ndata/x.i.hg/y.d\n"));
            super::phase_roots(&changed(b"1 6e73304f01e642d841e7ff07571d3af18717ccf6\n"));
            super::store_name(&changed(b"data/x.i/y.hg/A_b~.i"));
        }
    }
}
