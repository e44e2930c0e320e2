//! The errors of reading and applying patches.

use thiserror::Error;

/// A patch that cannot be read or applied. The texts are Mercurial's.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatchError {
    /// The line `@@` of a hunk, or of a context hunk the lines that stand for it.
    #[error("bad hunk #{number}")]
    BadHunk {
        /// Counted from 1 in each file.
        number: usize,
    },
    /// The patch ends within a hunk.
    #[error("bad hunk #{number}: incomplete hunk")]
    IncompleteHunk {
        /// Counted from 1 in each file.
        number: usize,
    },
    /// A line of a context hunk that cannot be one.
    #[error("bad hunk #{number} old text line {line}")]
    BadContextLine {
        /// Counted from 1 in each file.
        number: usize,
        /// Counted from 0 on each side.
        line: usize,
    },
    /// The numbers of lines are not those that the hunk announces.
    #[error("bad hunk #{number} {line} ({} {} {} {})", old.0, old.1, new.0, new.1)]
    WrongLengths {
        /// Counted from 1 in each file.
        number: usize,
        /// The line `@@`.
        line: String,
        /// Old lines there are, and old lines that were announced.
        old: (usize, usize),
        /// The same of new lines.
        new: (usize, usize),
    },
    /// `diff --git` without the metadata that were read ahead.
    #[error("failed to synchronize metadata for \"{0}\"")]
    Unsynchronized(String),
    /// A file that both sides call `/dev/null`.
    #[error("undefined source and destination files")]
    NoFile,
    /// A binary patch with neither `literal` nor `delta`.
    #[error("could not extract \"{0}\" binary data")]
    NoBinary(String),
    /// A line of a binary patch that is not base 85.
    #[error("could not decode \"{path}\" binary patch: {reason}")]
    BadBinary {
        /// The patched file.
        path: String,
        /// The fault of the line.
        reason: String,
    },
    /// The compressed content is damaged.
    #[error("could not decompress \"{0}\" binary patch")]
    BadStream(String),
    /// A binary patch of another length than it announces.
    #[error("\"{path}\" length is {found} bytes, should be {expected}")]
    BinaryLength {
        /// The patched file.
        path: String,
        /// Length of the content that there is.
        found: usize,
        /// The announced length.
        expected: u64,
    },
    /// A binary patch whose delta reaches beyond the file that it is for.
    #[error("binary delta of \"{0}\" does not fit the file")]
    BadDelta(String),
    /// A binary patch whose content is too long to be held.
    #[error("binary patch of \"{0}\" is too large")]
    TooLarge(String),
    /// `-p` is more than the path has directories.
    #[error("unable to strip away {left} of {strip} dirs from {path}")]
    Strip {
        /// Directories that are missing.
        left: usize,
        /// Directories to strip.
        strip: usize,
        /// The path as the patch has it.
        path: String,
    },
    /// The source of a copy or rename is not there.
    #[error("source file '{0}' does not exist")]
    NoSource(String),
    /// The file to be made is there already.
    #[error("cannot create {0}: destination already exists")]
    Exists(String),
    /// The file to be patched is not tracked.
    #[error("cannot patch {0}: file is not tracked")]
    NotTracked(String),
    /// Hunks were rejected.
    #[error("patch failed to apply")]
    Rejected,
}

impl PatchError {
    /// Whether the text of the patch is at fault, and not the files that it is for.
    pub fn is_malformed(&self) -> bool {
        use PatchError::{Exists, NoSource, NotTracked, Rejected, Strip};
        !matches!(
            self,
            Exists(_) | NoSource(_) | NotTracked(_) | Rejected | Strip { .. }
        )
    }
}

/// Bytes of a path or a line for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
