//! Errors of a revlog.

use crate::{Node, Rev};
use std::path::{Path, PathBuf};
use varve_base::StorageError;
use varve_codec::CodecError;
use varve_delta::PatchError;

/// Reading or writing a revlog failed.
#[derive(Debug, thiserror::Error)]
pub enum RevlogError {
    /// The storage refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The first four bytes announce a format that this program does not read.
    #[error("{} revlog {}", unknown_format(*header, *flags), name_of(path).trim_start_matches("data/"))]
    UnknownFormat {
        /// The index file.
        path: PathBuf,
        /// The four bytes.
        header: u32,
        /// Those of its flags that are not known in its version.
        flags: u16,
    },
    /// The index makes no sense.
    #[error("{path} is damaged at byte {offset}: {reason}", path = path.display())]
    DamagedIndex {
        /// The index file.
        path: PathBuf,
        /// Where the entry begins in the file.
        offset: u64,
        /// Damage that was found.
        reason: String,
    },
    /// A chunk lies outside the file, or does not expand.
    #[error("{path}: revision {rev} is damaged, chunk at byte {offset}: {reason}", path = path.display())]
    DamagedChunk {
        /// The index file.
        path: PathBuf,
        /// Which revision.
        rev: Rev,
        /// Where the chunk begins among the chunks.
        offset: u64,
        /// Damage that was found.
        reason: String,
    },
    /// The deltas of a chain do not fit.
    #[error("{path}: revision {rev} cannot be put together: {source}", path = path.display())]
    DamagedChain {
        /// The index file.
        path: PathBuf,
        /// Which revision.
        rev: Rev,
        /// The misfit.
        source: PatchError,
    },
    /// The text is not the one that the node names.
    #[error("{path}: text of revision {rev} does not have the hash {node}", path = path.display())]
    WrongHash {
        /// The index file.
        path: PathBuf,
        /// Which revision.
        rev: Rev,
        /// The hash that it should have.
        node: Node,
    },
    /// The revision is there, but its text is not an ordinary one.
    #[error("{path}: revision {rev} is {what}, which this program does not read", path = path.display())]
    Flagged {
        /// The index file.
        path: PathBuf,
        /// Which revision.
        rev: Rev,
        /// `censored`, for instance.
        what: String,
    },
    /// A revision from elsewhere builds on one that is not there.
    #[error("{}@{node}: unknown {what}", name_of(path))]
    UnknownNode {
        /// The index file.
        path: PathBuf,
        /// The one that is not there.
        node: Node,
        /// Its role: `parent` or `delta base`.
        what: &'static str,
    },
    /// The text of a revision from elsewhere does not match its node.
    #[error("integrity check failed on {}:{rev}", name_of(path))]
    WrongName {
        /// The index file.
        path: PathBuf,
        /// The number that it would have had.
        rev: Rev,
    },
    /// A chunk could not be compressed.
    #[error("cannot compress a revision for {path}: {source}", path = path.display())]
    Compress {
        /// The index file.
        path: PathBuf,
        /// The codec's reason.
        source: CodecError,
    },
    /// A revision would not fit into the format.
    #[error("cannot append to {path}: {reason}", path = path.display())]
    CannotAppend {
        /// The index file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// An index file as Mercurial names it in messages: from the store on, without its ending.
fn name_of(path: &Path) -> String {
    let path = path.with_extension("");
    let parts: Vec<_> = path.iter().collect();
    let store = parts.iter().rposition(|part| *part == "store");
    let below = parts
        .get(store.map_or(0, |at| at + 1)..)
        .unwrap_or_default();
    let below: PathBuf = below.iter().collect();
    below.display().to_string()
}

/// Mercurial's words for a format that it does not know.
fn unknown_format(header: u32, flags: u16) -> String {
    let version = header & 0xffff;
    match flags {
        0 => format!("unknown version ({version}) in"),
        flags => format!("unknown flags (0x{flags:02x}) in version {version}"),
    }
}
