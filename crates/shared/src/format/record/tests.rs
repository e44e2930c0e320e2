use super::*;
use crate::format::{AppendedBytes, SegmentName};
use proptest::prelude::*;
use std::path::PathBuf;

fn path() -> impl Strategy<Value = PathBuf> {
    "[a-z]{1,8}(/[a-z.]{1,4}x){0,2}".prop_map(PathBuf::from)
}

fn operation() -> impl Strategy<Value = Operation> {
    let inline = proptest::collection::vec(any::<u8>(), 0..50).prop_map(AppendedBytes::Inline);
    let segment = (any::<u64>(), any::<[u8; 16]>(), any::<u64>(), any::<u64>());
    let segment = segment.prop_map(|(slot, hash, offset, len)| AppendedBytes::Segment {
        name: SegmentName {
            slot,
            hash,
            nonce: hash,
        },
        offset,
        len,
    });
    let bytes = prop_oneof![inline, segment];
    let append = (path(), any::<u64>(), bytes);
    prop_oneof![
        path().prop_map(Operation::Create),
        append.prop_map(|(path, offset, bytes)| Operation::Append {
            path,
            offset,
            bytes
        }),
        (path(), any::<u64>()).prop_map(|(path, len)| Operation::Truncate { path, len }),
        (path(), path()).prop_map(|(from, to)| Operation::Rename { from, to }),
        (path(), path()).prop_map(|(one, other)| Operation::Exchange { one, other }),
        path().prop_map(Operation::Remove),
        path().prop_map(Operation::RemoveTree),
        path().prop_map(Operation::CreateDirectory),
        (path(), path()).prop_map(|(from, to)| Operation::Link { from, to }),
        (path(), "[a-z:]{0,9}").prop_map(|(path, target)| Operation::Symlink { target, path }),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let body = prop_oneof![
        Just(RecordBody::Fence),
        proptest::collection::vec(operation(), 0..6).prop_map(RecordBody::Operations),
        any::<[u8; 16]>().prop_map(RecordBody::Checkpoint),
    ];
    let numbers = any::<[u64; 4]>();
    (numbers, any::<[u8; 16]>(), body).prop_map(|([slot, epoch, time, previous], nonce, body)| {
        Record {
            slot,
            epoch,
            time,
            previous,
            nonce,
            body,
        }
    })
}

proptest! {
    #[test]
    fn records_decode_to_what_was_encoded(record in record()) {
        let (bytes, checksum) = record.encode();
        prop_assert_eq!(Record::decode(&bytes), Ok((record, checksum)));
    }

    #[test]
    fn a_changed_or_cut_record_is_refused(record in record(), at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let (mut bytes, _) = record.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(Record::decode(&bytes).is_err());
        prop_assert!(Record::decode(&bytes[..at]).is_err());
    }

    #[test]
    fn no_bytes_panic_behind_a_right_checksum(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = envelope::begin(MAGIC);
        bytes.extend_from_slice(&body);
        envelope::seal(&mut bytes);
        if let Ok((record, _)) = Record::decode(&bytes) {
            let (again, _) = record.encode();
            prop_assert_eq!(Record::decode(&again).map(|it| it.0), Ok(record));
        }
    }
}

/// Bytes as they were written first; they must stay readable.
#[test]
fn golden_bytes() {
    let record = Record {
        slot: 2,
        epoch: 1,
        time: 300,
        previous: 0x0102_0304_0506_0708,
        nonce: [7; 16],
        body: RecordBody::Operations(vec![Operation::Append {
            path: "a".into(),
            offset: 5,
            bytes: AppendedBytes::Inline(b"xyz".to_vec()),
        }]),
    };
    let mut expected = b"vrv-log\n\x01".to_vec();
    expected.extend_from_slice(&[2, 1, 0xac, 2, 8, 7, 6, 5, 4, 3, 2, 1]);
    expected.extend_from_slice(&[7; 16]);
    expected.extend_from_slice(&[2, 1, 2, 1, b'a', 5, 3, b'x', b'y', b'z']);
    let (bytes, checksum) = record.encode();
    assert_eq!(bytes[..bytes.len() - 8], expected);
    assert_eq!(bytes[bytes.len() - 8..], checksum.to_le_bytes());
}

#[test]
fn paths_that_leave_the_root_are_refused() {
    for bad in ["../x", "/x", "a/../b", "a//b", "a/", "./a", "a\0b"] {
        let mut out = Vec::new();
        varint::put_counted(bad.as_bytes(), &mut out);
        let read = super::super::operation::read_path(&mut Reader::new(&out));
        assert_eq!(read, None, "{bad:?}");
    }
}
