//! Bodies of the fuzz targets; plain tests run them over mutated inputs.

use crate::record::{Change, DocumentRecord, decode_attachments, encode_attachments};

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

/// Never panics; a list of attachments that decodes, encodes to what decodes equal.
pub fn attachment_list(data: &[u8]) {
    if let Ok(attachments) = decode_attachments(data) {
        let mut encoded = Vec::new();
        encode_attachments(&attachments, &mut encoded);
        assert_eq!(decode_attachments(&encoded), Ok(attachments));
    }
}
