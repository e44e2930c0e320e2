//! Bodies of the fuzz targets; plain tests run them over mutated inputs.

mod damaged;

pub use damaged::{changed_database, database_file};

use crate::access::names_in;
use crate::compact::Checkpoint;
use crate::record::fields::Malformed;
use crate::record::{AccessRow, decode_leaves, id_prefix, leaves_key, rows, seq_prefix};
use crate::record::{Change, DocumentRecord, Purge, decode_attachments, encode_attachments};
use varve_btree::ChunkRef;

/// Never panics; a document's value that decodes is equal after encoding and decoding.
pub fn document_record(data: &[u8]) {
    read_document(data, &[]);
    // Once more with a chunk: the first byte says how long the value before it is.
    let parts = data.split_first();
    let parts = parts.and_then(|(len, rest)| rest.split_at_checked(usize::from(*len)));
    if let Some((value, chunk)) = parts {
        read_document(value, chunk);
    }
}

fn read_document(value: &[u8], chunk: &[u8]) {
    // The second chunk is the one that is written here.
    let read = |at: ChunkRef, chunks: [Option<&[u8]>; 2], out: &mut Vec<u8>| {
        let chunk = chunks[usize::from(at.offset == 1)].ok_or(Malformed)?;
        out.extend_from_slice(chunk);
        Ok(())
    };
    let decode = |value: &[u8], written| {
        DocumentRecord::decode(value, |at, out| read(at, [Some(chunk), written], out)).flatten()
    };
    if let Ok(record) = decode(value, None) {
        let (mut encoded, mut written) = (Vec::new(), None);
        let store = |text: &[u8]| {
            written = Some(text.to_vec());
            let len = text.len() as u32;
            Ok::<_, Malformed>(ChunkRef { offset: 1, len })
        };
        assert!(record.encode(store, &mut encoded).is_ok());
        let again = decode(&encoded, written.as_deref());
        assert_eq!(again.map(|again| again.tree), Ok(record.tree.clone()));
        record.tree.winner();
        for leaf in record.tree.ranked_leaves() {
            record.tree.history(&leaf.rev);
        }
    }
}

/// Never panics; a change's value that decodes is equal after encoding and decoding.
pub fn change_record(data: &[u8]) {
    let key = 7u64.to_be_bytes();
    if let Ok(change) = Change::decode(&key, data) {
        let mut encoded = Vec::new();
        change.encode(&mut encoded);
        assert_eq!(Change::decode(&key, &encoded), Ok(change));
    }
}

/// Never panics; a purge that decodes is equal after encoding and decoding.
pub fn purge_record(data: &[u8]) {
    let key = 7u64.to_be_bytes();
    if let Ok(purge) = Purge::decode(&key, data) {
        let mut encoded = Vec::new();
        purge.encode(&mut encoded);
        assert_eq!(Purge::decode(&key, &encoded), Ok(purge));
    }
}

/// Never panics; a list of attachments that decodes is equal after encoding and decoding.
pub fn attachment_list(data: &[u8]) {
    if let Ok(attachments) = decode_attachments(data) {
        let mut encoded = Vec::new();
        encode_attachments(&attachments, &mut encoded);
        assert_eq!(decode_attachments(&encoded), Ok(attachments));
    }
}

/// Never panics; leaves with their names that decode are equal after encoding and decoding, and their rows do.
pub fn access_leaves(data: &[u8]) {
    let _ = names_in(data);
    let _ = AccessRow::decode(data);
    if let Ok(leaves) = decode_leaves(data).map(|leaves| (rows("x", &leaves), leaves)) {
        let (rows, leaves) = leaves;
        let encoded = rows.get(&leaves_key(b"x"));
        let again = encoded.map_or(Ok(Vec::new()), |encoded| decode_leaves(encoded));
        assert_eq!(again, Ok(leaves));
        for value in rows
            .range(id_prefix("")..seq_prefix(""))
            .map(|(_, value)| value)
        {
            assert!(AccessRow::decode(value).is_ok());
        }
    }
}

/// Never panics; a checkpoint of a copy that decodes is equal after encoding and decoding.
pub fn checkpoint(data: &[u8]) {
    if let Ok(checkpoint) = Checkpoint::decode(data) {
        assert_eq!(Checkpoint::decode(&checkpoint.encode()), Ok(checkpoint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{AccessLeaf, Attachment, Header};
    use crate::revtree::{RevTree, Stored};
    use varve_btree::CommitId;

    /// Every cut and every flipped bit of a sample.
    fn mutations(sample: &[u8], check: impl Fn(&[u8])) {
        for len in 0..=sample.len() {
            check(&sample[..len]);
        }
        for bit in 0..sample.len() * 8 {
            let mut damaged = sample.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            check(&damaged);
        }
    }

    fn sample_tree() -> RevTree {
        let stored = Stored {
            deleted: false,
            body: ChunkRef {
                offset: 999,
                len: 90,
            },
            attachments: Some(ChunkRef { offset: 5, len: 6 }),
            seq: 9,
            active: 90,
            external: 1000,
        };
        let mut tree = RevTree::default();
        for path in ["3-c 2-967a00dff5e02add41819138abb3284d 1-a", "2-b 1-a"] {
            let path: Vec<_> = path.split(' ').map(|rev| rev.parse().unwrap()).collect();
            tree.merge(&path, stored.clone());
        }
        tree
    }

    /// A value, the chunk with its history behind it.
    fn long_document() -> Vec<u8> {
        let mut tree = RevTree::default();
        let path = |branch| {
            (1..=40)
                .rev()
                .map(move |number| format!("{number}-{branch}"))
        };
        for branch in ["a", "b"] {
            let path: Vec<_> = path(branch).map(|rev| rev.parse().unwrap()).collect();
            tree.merge(
                &path,
                sample_tree().winner().unwrap().stored.clone().unwrap(),
            );
        }
        let (mut value, mut chunk) = (Vec::new(), Vec::new());
        let store = |text: &[u8]| {
            chunk = text.to_vec();
            let len = text.len() as u32;
            Ok::<_, Malformed>(ChunkRef { offset: 7, len })
        };
        DocumentRecord::new(9, tree)
            .encode(store, &mut value)
            .unwrap();
        assert!(!chunk.is_empty());
        [&[value.len() as u8], &value[..], &chunk[..]].concat()
    }

    #[test]
    fn damaged_rows_of_access_are_refused_or_read() {
        let leaf = |rev: &str, names: &[&str]| AccessLeaf {
            rev: rev.parse().unwrap(),
            deleted: rev.starts_with('1'),
            seq: 300,
            external: 7,
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        let leaves = [leaf("2-b", &["ann", "é"]), leaf("1-c", &[])];
        for value in rows("x", &leaves).values() {
            mutations(value, access_leaves);
        }
        mutations(br#"{"_access":["ann","\u00e9"],"x":1}"#, access_leaves);
    }

    #[test]
    fn mutated_values_never_panic() {
        let tree = sample_tree();
        let mut bytes = Vec::new();
        let no_chunk = |_: &[u8]| Err(Malformed);
        let record = DocumentRecord::new(9, tree.clone());
        record.encode(no_chunk, &mut bytes).unwrap();
        mutations(&bytes, document_record);
        mutations(&long_document(), document_record);
        bytes.clear();
        let change = Change::of("some-id", 7, &tree).unwrap();
        change.encode(&mut bytes);
        assert_eq!(Change::decode(&7u64.to_be_bytes(), &bytes), Ok(change));
        mutations(&bytes, change_record);
        bytes.clear();
        let attachment = Attachment {
            name: "a/b".into(),
            content_type: "text/plain".into(),
            md5: [7; 16],
            revpos: 2,
            is_gzip: true,
            length: 300,
            stored_length: 200,
            chunks: vec![ChunkRef {
                offset: 70,
                len: 213,
            }],
        };
        let list = [attachment.clone(), attachment];
        encode_attachments(&list, &mut bytes);
        assert_eq!(decode_attachments(&bytes).as_deref(), Ok(&list[..]));
        mutations(&bytes, attachment_list);
        bytes.clear();
        let purge = Purge {
            seq: 7,
            id: "some-id".into(),
            revs: vec![
                "3-c".parse().unwrap(),
                "1-967a00dff5e02add41819138abb3284d".parse().unwrap(),
            ],
        };
        purge.encode(&mut bytes);
        mutations(&bytes, purge_record);
    }

    #[test]
    fn mutated_checkpoints_never_panic() {
        let sample = Checkpoint {
            commit: CommitId::decode(b"0123456789abcdef"),
            seq: 300,
            header: Header::sample(),
        };
        let bytes = sample.encode();
        assert_eq!(Checkpoint::decode(&bytes), Ok(sample));
        mutations(&bytes, checkpoint);
    }
}
