//! `store/fncache`: the names of all files of the store that hold tracked files' history.
//!
//! One name per line, such as `data/src/a.c.i` and, for a split revlog, also `data/src/a.c.d`;
//! directories that look like revlogs are encoded (step 1 of the store's path encoding). The order is
//! free. Every line ends with a newline.

use crate::format::RepoError;
use crate::format::store_path::{decode_directories, encode_directories};
use std::path::Path;
use varve_base::Storage;
use varve_base::storage::read_if_there;

/// Name of the file below the store.
pub(crate) const FILE: &str = "fncache";

/// The names, decoded, sorted, each once.
pub(crate) fn read(storage: &dyn Storage, store: &Path) -> Result<Vec<Vec<u8>>, RepoError> {
    let bytes = read_if_there(storage, &store.join(FILE))?.unwrap_or_default();
    decode(&bytes).ok_or(RepoError::TornFncache)
}

/// The bytes of a list of these names, which are without any encoding.
pub(crate) fn encode<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend_from_slice(&encode_directories(name));
        bytes.push(b'\n');
    }
    bytes
}

/// The names, or `None` if the last line has no end.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    if bytes.last().is_some_and(|last| *last != b'\n') {
        return None;
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut names: Vec<Vec<u8>> = lines
        .filter(|line| !line.is_empty())
        .map(|line| decode_directories(line).into_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    Some(names)
}
