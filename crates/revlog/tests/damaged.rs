//! Damaged and cut files give an error with file, place and reason.

use crate::golden::{CHANGELOG_DATA, CHANGELOG_INDEX, FILELOG, storage};
use std::path::Path;
use varve_revlog::{ENTRY_LEN, Revlog, RevlogError};

/// Everything that can be read of a revlog; the first error if there is one.
fn read_everything(index: &[u8], data: &[u8]) -> Result<(), RevlogError> {
    let revlog = Revlog::open(&storage(index, data), Path::new("x.i"))?;
    let (mut reader, mut delta, mut first) = (revlog.reader(), Vec::new(), Ok(()));
    for rev in revlog.revs() {
        let found = revlog
            .text(rev)
            .map(|_| ())
            .and(reader.stored_delta(rev, &mut delta))
            .and(reader.stored_chunk(rev).map(|_| ()));
        first = first.and(found);
        assert!(revlog.rev(&revlog.node(rev)).is_some());
    }
    first
}

#[test]
fn every_cut_of_an_index_is_noticed() {
    for len in 1..FILELOG.len() {
        let result = read_everything(&FILELOG[..len], b"");
        let whole = Revlog::open(&storage(&FILELOG[..len], b""), Path::new("x.i"));
        assert_eq!(result.is_ok(), whole.is_ok(), "cut at {len}");
        assert!(result.is_err() || whole.unwrap().len() < 5, "cut at {len}");
    }
    for len in 1..CHANGELOG_INDEX.len() {
        let result = read_everything(&CHANGELOG_INDEX[..len], CHANGELOG_DATA);
        assert_eq!(result.is_ok(), len % ENTRY_LEN == 0, "cut at {len}");
    }
}

#[test]
fn every_cut_of_a_data_file_is_noticed() {
    for len in 1..CHANGELOG_DATA.len() {
        let error = read_everything(CHANGELOG_INDEX, &CHANGELOG_DATA[..len]).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("x.i: revision ") && message.contains("lies outside the file"),
            "{message}"
        );
    }
    let error = read_everything(CHANGELOG_INDEX, b"").unwrap_err();
    assert!(error.to_string().contains("x.d"), "{error}");
}

#[test]
fn no_changed_byte_panics_and_none_in_a_text_goes_unseen() {
    for at in 0..CHANGELOG_DATA.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut data = CHANGELOG_DATA.to_vec();
            data[at] ^= change;
            assert!(
                read_everything(CHANGELOG_INDEX, &data).is_err(),
                "byte {at}"
            );
        }
    }
    for at in 0..FILELOG.len() {
        for change in [0x01, 0x40, 0x80, 0xff] {
            let mut bytes = FILELOG.to_vec();
            bytes[at] ^= change;
            let _ = read_everything(&bytes, b"");
        }
    }
}

#[test]
fn messages_name_file_place_and_reason() {
    let change = |at: usize, byte: u8| {
        let mut index = CHANGELOG_INDEX.to_vec();
        index[at] = byte;
        read_everything(&index, CHANGELOG_DATA)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        change(2 * ENTRY_LEN + 27, 9),
        "x.i is damaged at byte 128: revision 2 has a parent that comes after it"
    );
    assert_eq!(change(1, 8), "unknown flags (0x08) in version 1 revlog x");
    assert_eq!(
        change(2 * ENTRY_LEN + 6, 0x80),
        "x.i: revision 2 is censored, which this program does not read"
    );
    assert_eq!(
        change(2 * ENTRY_LEN + 40, 0),
        "x.i: text of revision 2 does not have the hash 7d7a0f6723c39b8500e7be80402ca2d4ce9e7806"
    );
}
