//! The contents of a commit.

use crate::format::Phase;
use crate::format::manifest::FileKind;
use varve_revlog::Node;

/// A changeset to be written. Names and texts are bytes, as in the repository.
#[derive(Clone, Copy, Debug)]
pub struct NewChangeset<'a> {
    /// Changesets that it follows, older ones of the same [`super::CommitBatch`] included;
    /// [`Node::NULL`] for none.
    pub parents: [Node; 2],
    /// The author, usually `Name <address>`.
    pub user: &'a [u8],
    /// Seconds since 1970 and seconds west of UTC.
    pub date: (i64, i32),
    /// The named branch.
    pub branch: &'a [u8],
    /// Further facts, key and value, in any order; `close` with `1` closes the branch.
    pub extras: &'a [(&'a [u8], &'a [u8])],
    /// Commit message.
    pub description: &'a [u8],
    /// Whether others may see it, and whether it may still change. Never less than its parents'.
    pub phase: Phase,
    /// Changes against the first parent. A file that only the second parent changed counts: it
    /// is written with the content it has there.
    pub changes: &'a [FileChange<'a>],
}

/// One file that differs from the first parent.
#[derive(Clone, Copy, Debug)]
pub enum FileChange<'a> {
    /// The file is there, with this content.
    Write {
        /// Path with slashes, without a leading one.
        path: &'a [u8],
        /// All of it; the target of a symbolic link.
        content: &'a [u8],
        /// Plain, executable or link.
        kind: FileKind,
        /// The file of the first parent, or else of the second, that it was copied or renamed
        /// from.
        copied_from: Option<&'a [u8]>,
    },
    /// The file is gone; it was in one of the parents.
    Remove {
        /// Path with slashes.
        path: &'a [u8],
    },
}

impl<'a> FileChange<'a> {
    /// The file that differs.
    pub fn path(&self) -> &'a [u8] {
        match self {
            FileChange::Write { path, .. } | FileChange::Remove { path } => path,
        }
    }
}

/// The fault of a path for a tracked file; `None` if it has none.
pub(super) fn path_fault(path: &[u8]) -> Option<&'static str> {
    let is_part = |part: &[u8]| !matches!(part, b"" | b"." | b".." | b".hg");
    let has_line_end = path.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0));
    let fine = !has_line_end && path.split(|byte| *byte == b'/').all(is_part);
    (!fine).then_some("cannot be the path of a tracked file")
}
