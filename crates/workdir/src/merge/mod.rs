//! Merging one file: the choice of the tool, the merged text and the mode.

mod conflict_markers;
mod labels;
mod program;
mod tag_merge;
mod tool;

pub(crate) use conflict_markers::has_markers;
pub use labels::MergeLabels;
pub use program::{
    FileTraits, MergeProgram, OnObstacle, PickedTool, ToolObstacle, ToolTable, quote_for_shell,
};
pub(crate) use program::{Premerge, fill};
pub(crate) use tag_merge::merge_tags;
pub use tool::{CopyTraceMode, MarkerStyle, MergeOptions, MergeTool, PartialTool, ToolSelection};
use varve_delta::TouchingChanges;

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

/// Whether Mercurial takes a content for binary.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content.contains(&0)
}

/// The merge of three texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    pub content: Vec<u8>,
    /// Whether conflicts remain.
    pub conflicts: bool,
    /// True if the tool has settled conflicts.
    pub settled: bool,
}

/// Merges three texts, the base, ours and theirs; `tool` selects the text in place of a conflict.
pub(crate) fn merge_texts(
    tool: MergeTool,
    touching: TouchingChanges,
    labels: &MergeLabels,
    texts: [&[u8]; 3],
) -> Merged {
    conflict_markers::merge((tool, touching), labels, texts)
}

/// The mode of a merged file, and whether it is ambiguous because there is no `base`.
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

#[cfg(test)]
mod tests;
