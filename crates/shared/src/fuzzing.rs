//! Entry points of a fuzzer; a plain test runs them over mutated inputs.

use crate::file_table::FileTable;
use crate::format::{Checkpoint, DerivedManifest, Record, RecordBody};

/// Never panics; a record that decodes encodes to bytes that decode to the same, and its changes leave a table whole.
pub fn record(data: &[u8]) {
    let Ok((record, _)) = Record::decode(data) else {
        return;
    };
    let (again, _) = record.encode();
    let Ok((decoded, _)) = Record::decode(&again) else {
        unreachable!("a record does not decode from its own encoding");
    };
    assert_eq!(record, decoded);
    let RecordBody::Operations(operations) = record.body else {
        return;
    };
    let mut table = FileTable::default();
    for operation in &operations {
        let _ = table.apply(operation);
        for (_, file) in table.files() {
            assert!(file.sealed <= file.len);
            assert_eq!(
                file.sealed,
                file.runs.iter().map(|run| run.len).sum::<u64>()
            );
        }
    }
}

/// Never panics; a checkpoint that decodes encodes to bytes that decode to the same.
pub fn checkpoint(data: &[u8]) {
    let Ok(checkpoint) = Checkpoint::decode(data) else {
        return;
    };
    assert_eq!(
        Checkpoint::decode(&checkpoint.encode()).as_ref(),
        Ok(&checkpoint)
    );
    let table = FileTable::from_checkpoint(checkpoint);
    let _ = table.segments();
}

/// Never panics; a version of a derived file that decodes encodes to bytes that decode to the same.
pub fn derived_version(data: &[u8]) {
    if let Ok(manifest) = DerivedManifest::decode(data) {
        assert_eq!(DerivedManifest::decode(&manifest.encode()), Ok(manifest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{AppendedBytes, Operation, SegmentName};
    use proptest::prelude::*;

    fn operation() -> impl Strategy<Value = Operation> {
        let path = || prop::sample::select(vec!["a", "b", "a/c", ""]).prop_map(Into::into);
        let name = SegmentName {
            slot: 1,
            hash: [0; 16],
            nonce: [0; 16],
        };
        let number = || prop_oneof![0..20_u64, any::<u64>()];
        let append = (path(), number(), number(), any::<bool>());
        prop_oneof![
            path().prop_map(Operation::Create),
            append.prop_map(move |(path, offset, len, is_inline)| Operation::Append {
                path,
                offset,
                bytes: match is_inline {
                    true => AppendedBytes::Inline(vec![0; 3]),
                    false => AppendedBytes::Segment {
                        name: name.clone(),
                        offset,
                        len,
                    },
                },
            }),
            (path(), number()).prop_map(|(path, len)| Operation::Truncate { path, len }),
            (path(), path()).prop_map(|(from, to)| Operation::Rename { from, to }),
            (path(), path()).prop_map(|(one, other)| Operation::Exchange { one, other }),
            path().prop_map(Operation::CreateDirectory),
            (path(), path()).prop_map(|(from, to)| Operation::Link { from, to }),
        ]
    }

    proptest! {
        #[test]
        fn hostile_changes_leave_tables_whole(operations in proptest::collection::vec(operation(), 0..30)) {
            let record_of_them = Record {
                slot: 1,
                epoch: 1,
                time: 1,
                previous: 0,
                nonce: [0; 16],
                body: RecordBody::Operations(operations),
            };
            record(&record_of_them.encode().0);
        }
    }
}
