//! The first bytes of a new file: its header and a commit of empty trees.

use crate::commit::{self, Commit, Root};
use crate::header::Header;
use crate::snapshot::CommitState;
use crate::{TreeError, error::check_len};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Longest file that may be announced before its bytes are durable. A file with a second commit is longer: records begin
/// at multiples of 64, and this is one of them.
pub(crate) const MOST_UNSYNCED: u64 = 256;
const _: () = assert!(MOST_UNSYNCED.is_multiple_of(commit::ALIGN));

/// The bytes of a file to which nothing was written yet.
pub(crate) struct FirstCommit {
    pub(crate) header: Header,
    pub(crate) bytes: Vec<u8>,
    pub(crate) state: CommitState,
}

impl FirstCommit {
    /// The commit's record stands at `from` or behind it.
    ///
    /// # Errors
    /// [`TreeError::TooLong`], [`TreeError::NoRandom`].
    pub(crate) fn new(
        path: &Path,
        (kind, trees): ([u8; 8], usize),
        user_header: &[u8],
        from: u64,
    ) -> Result<FirstCommit, TreeError> {
        check_len("list of trees", trees, 255)?;
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|_| TreeError::NoRandom {
            path: path.to_owned(),
        })?;
        let header = Header {
            kind,
            trees: trees as u8,
            id,
        };
        let mut bytes = header.encode().to_vec();
        let end = from.max(bytes.len() as u64);
        let at = end + commit::padding(end) as u64;
        bytes.resize(usize::try_from(at).unwrap_or(usize::MAX), 0);
        let commit = Commit {
            previous: 0,
            durable: 0,
            span: 0,
            span_sum: xxh3_64(&bytes),
            roots: vec![Root::default(); trees],
            user_header: user_header.to_vec(),
        };
        commit.encode(&header, at, &mut bytes)?;
        let end = bytes.len() as u64;
        Ok(FirstCommit {
            header,
            bytes,
            state: CommitState { commit, at, end },
        })
    }
}
