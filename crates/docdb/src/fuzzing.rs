//! Bodies of the fuzz targets; plain tests run them over mutated inputs.

use crate::record::{Change, DocumentRecord, Purge, decode_attachments, encode_attachments};

/// Never panics; a document's value that decodes, encodes to what decodes equal.
pub fn document_record(data: &[u8]) {
    if let Ok(record) = DocumentRecord::decode(data) {
        let mut encoded = Vec::new();
        record.encode(&mut encoded);
        assert_eq!(DocumentRecord::decode(&encoded).as_ref(), Ok(&record));
        record.tree.winner();
        for leaf in record.tree.ranked_leaves() {
            record.tree.history(&leaf.rev);
        }
    }
}

/// Never panics; a change's value that decodes, encodes to what decodes equal.
pub fn change_record(data: &[u8]) {
    let key = 7u64.to_be_bytes();
    if let Ok(change) = Change::decode(&key, data) {
        let mut encoded = Vec::new();
        change.encode(&mut encoded);
        assert_eq!(Change::decode(&key, &encoded), Ok(change));
    }
}

/// Never panics; a purge that decodes, encodes to what decodes equal.
pub fn purge_record(data: &[u8]) {
    let key = 7u64.to_be_bytes();
    if let Ok(purge) = Purge::decode(&key, data) {
        let mut encoded = Vec::new();
        purge.encode(&mut encoded);
        assert_eq!(Purge::decode(&key, &encoded), Ok(purge));
    }
}

/// Never panics; a list of attachments that decodes, encodes to what decodes equal.
pub fn attachment_list(data: &[u8]) {
    if let Ok(attachments) = decode_attachments(data) {
        let mut encoded = Vec::new();
        encode_attachments(&attachments, &mut encoded);
        assert_eq!(decode_attachments(&encoded), Ok(attachments));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Attachment;
    use crate::revtree::{RevTree, Stored};
    use varve_btree::ChunkRef;

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

    #[test]
    fn mutated_values_never_panic() {
        let tree = sample_tree();
        let mut bytes = Vec::new();
        DocumentRecord {
            seq: 9,
            tree: tree.clone(),
        }
        .encode(&mut bytes);
        mutations(&bytes, document_record);
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
}
