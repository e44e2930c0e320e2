//! Merging one file: which tool does it, what comes out, and which mode the file gets.

mod markers;
mod tool;

pub use tool::{Chosen, Tool, ToolChoice};

use varve_repo::FileKind;

/// A file as one side has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub content: Vec<u8>,
    pub kind: FileKind,
}

impl Version {
    pub fn is_link(&self) -> bool {
        self.kind == FileKind::Symlink
    }
}

/// What Mercurial takes for no text.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content.contains(&0)
}

/// What the merge of three texts is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    pub content: Vec<u8>,
    /// Whether there are conflicts that a person has to look at.
    pub conflicts: bool,
}

/// Merges three texts; `tool` says what stands where they conflict.
pub(crate) fn merge_texts(tool: Tool, base: &[u8], ours: &[u8], theirs: &[u8]) -> Merged {
    markers::merge(tool, base, ours, theirs)
}

/// The mode of a merged file, and whether that could not be told because there is no `base`.
pub(crate) fn merge_kinds(
    base: Option<FileKind>,
    ours: FileKind,
    theirs: FileKind,
) -> (FileKind, bool) {
    match base {
        _ if ours == theirs => (ours, false),
        None => (ours, true),
        Some(base) if base == ours => (theirs, false),
        Some(_) => (ours, false),
    }
}
