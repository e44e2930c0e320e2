//! The values in each tree, and the user header. Numbers are varints unless said otherwise.

mod access;
mod attachment;
mod change;
mod dictionary;
mod document;
pub(crate) mod fields;
mod header;
mod history;
mod local;
mod purge;
mod reduction;

pub(crate) use access::{
    AccessEdits, AccessLeaf, AccessRow, decode_leaves, id_prefix, leaves_key, replace, rows,
    seq_prefix,
};
pub use attachment::Attachment;
pub(crate) use attachment::{decode_attachments, encode_attachments};
pub use change::{Change, Leaf};
pub(crate) use dictionary::{DictionaryRecord, append_twice};
pub(crate) use document::{
    DocumentHead, DocumentRecord, append_plain, first_if_winner, is_deleted,
};
pub(crate) use header::Header;
pub(crate) use local::{LocalBody, LocalRecord};
pub use purge::Purge;
pub(crate) use purge::{DEFAULT_LIMIT, LIMIT_KEY, decode_limit, encode_limit};
pub(crate) use reduction::{DocumentReducer, Totals};

use crate::{Digest, Rev};
use fields::{Malformed, Reader};

/// Documents by id.
pub(crate) const BY_ID: usize = 0;
/// Changes by update sequence; keys are big-endian numbers of 64 bits.
pub(crate) const BY_SEQ: usize = 1;
/// Local documents by their ids behind [`LOCAL_PREFIX`].
pub(crate) const LOCAL: usize = 2;
/// Prefix of the ids of local documents.
pub const LOCAL_PREFIX: &str = "_local/";
/// Purges by their sequence, and how many are kept.
pub(crate) const PURGES: usize = 3;
/// How many trees every database has.
pub(crate) const TREES: usize = PURGES + 1;
/// Documents by the names that may see them, in a database with access.
pub(crate) const ACCESS: usize = TREES;
/// How many trees a database with access has.
pub(crate) const MOST_TREES: usize = ACCESS + 1;
const _: () = assert!(BY_ID == 0 && BY_SEQ == 1 && LOCAL == 2 && TREES == 4);

/// Appends generation, length of the digest, digest.
fn put_rev(rev: &Rev, out: &mut Vec<u8>) {
    fields::put(rev.generation, out);
    fields::put_counted(rev.digest.as_bytes(), out);
}

fn read_rev(reader: &mut Reader<'_>) -> Result<Rev, Malformed> {
    Ok(Rev {
        generation: reader.number()?,
        digest: Digest::from_bytes(reader.bytes()?),
    })
}
