//! Tools that merge a file that both sides have changed.

use super::ToolTable;
use crate::{Backups, UntrackedFiles};
use std::sync::Arc;
use varve_delta::TouchingChanges;
use varve_lang::patterns::Matcher;

/// A way to merge that needs no other program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeTool {
    /// Writes both sides of each conflict into the file.
    Merge,
    /// The same with the common base of both sides.
    Merge3,
    /// Writes one side of each conflict into the file, and how the other one differs from the base.
    Mergediff,
    /// Where there is a conflict, our side.
    MergeLocal,
    /// Where there is a conflict, their side.
    MergeOther,
    /// Where there is a conflict, our side and then theirs.
    Union,
    /// Where there is a conflict, their side and then ours.
    UnionOtherFirst,
    /// Our file, unmerged.
    Local,
    /// Their file, unmerged.
    Other,
    /// Left as it is, to be resolved.
    Fail,
    /// Unless it merges without conflict, all three versions are put beside the file.
    Dump,
    /// As [`MergeTool::Dump`], without trying.
    ForceDump,
    /// The user says whose file it is.
    Prompt,
    /// Merges the histories of tags, of which alone the file consists.
    Tags,
}

const NAMES: &[(&str, MergeTool)] = &[
    ("merge", MergeTool::Merge),
    ("merge3", MergeTool::Merge3),
    ("mergediff", MergeTool::Mergediff),
    ("merge-local", MergeTool::MergeLocal),
    ("merge-other", MergeTool::MergeOther),
    ("union", MergeTool::Union),
    ("union-other-first", MergeTool::UnionOtherFirst),
    ("local", MergeTool::Local),
    ("other", MergeTool::Other),
    ("fail", MergeTool::Fail),
    ("dump", MergeTool::Dump),
    ("forcedump", MergeTool::ForceDump),
    ("prompt", MergeTool::Prompt),
    ("tagmerge", MergeTool::Tags),
];

impl MergeTool {
    /// The tool called `:NAME` or `internal:NAME`.
    pub fn named(name: &[u8]) -> Option<MergeTool> {
        let name = name
            .strip_prefix(b":")
            .or_else(|| name.strip_prefix(b"internal:"))?;
        let found = NAMES.iter().find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, tool)| *tool)
    }

    /// With a colon before it.
    pub fn name(self) -> String {
        let found = NAMES.iter().find(|(_, tool)| *tool == self);
        format!(":{}", found.map_or("", |(name, _)| name))
    }

    /// Whether it can decide about a file that one side has deleted.
    pub fn takes_deleted(self) -> bool {
        matches!(
            self,
            MergeTool::Local | MergeTool::Other | MergeTool::Prompt | MergeTool::Fail
        )
    }

    /// True if the tool can treat a file without lines: a binary one, or a symbolic link.
    pub(crate) fn takes_any_content(self) -> bool {
        self.takes_deleted() || matches!(self, MergeTool::Dump | MergeTool::ForceDump)
    }

    /// Whether the tool merges line by line.
    pub(crate) fn merges_lines(self) -> bool {
        !matches!(
            self,
            MergeTool::Local
                | MergeTool::Other
                | MergeTool::Fail
                | MergeTool::ForceDump
                | MergeTool::Prompt
                | MergeTool::Tags
        )
    }
}

/// The tool and the origin of the choice.
#[derive(Clone, Debug, Default)]
pub enum ToolSelection {
    /// None is configured: text files are merged, for others the user decides.
    #[default]
    Default,
    /// Given by the caller, for all files.
    Forced(MergeTool),
    /// By the name and kind of each file.
    Table(Arc<ToolTable>),
}

impl ToolSelection {
    fn merges_only_lines(&self) -> bool {
        match self {
            ToolSelection::Default => true,
            ToolSelection::Forced(tool) => {
                matches!(
                    tool,
                    MergeTool::Merge | MergeTool::Merge3 | MergeTool::Mergediff
                )
            }
            ToolSelection::Table(table) => table.merges_only_lines(),
        }
    }
}

/// Whether the lines around conflicts name the changesets of the sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkerStyle {
    /// Only the sides are named.
    #[default]
    Basic,
    /// The changesets are described behind the names.
    Detailed,
}

impl MarkerStyle {
    /// The style of that name: Mercurial knows but one name of the plain one.
    pub fn named(name: &[u8]) -> MarkerStyle {
        match name {
            b"basic" => MarkerStyle::Basic,
            _ => MarkerStyle::Detailed,
        }
    }
}

/// A program that settles a part of the conflicts of a file, before its lines are merged.
#[derive(Clone, Debug)]
pub struct PartialTool {
    /// The name that it is configured by.
    pub name: Vec<u8>,
    /// The program.
    pub executable: Vec<u8>,
    /// Its arguments, with variables for the three files.
    pub arguments: Vec<u8>,
    /// The files that it looks at.
    pub files: Matcher,
}

/// How files are merged.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// The tool.
    pub chosen: ToolSelection,
    /// Which lines around conflicts name changesets.
    pub markers: MarkerStyle,
    /// Where files are kept as they were before a merge with conflicts.
    pub backups: Backups,
    /// Changes that touch each other.
    pub touching: TouchingChanges,
    /// Programs that come before the merge of lines, in the order in which they are run.
    pub partial: Vec<PartialTool>,
    /// Untracked files in the way.
    pub untracked: UntrackedFiles,
    /// Copies and renames of both sides.
    pub copies: CopyTraceMode,
}

/// Search of a merge for copies and renames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyTraceMode {
    /// All of them.
    #[default]
    Full,
    /// All of them over a few changesets that are not public; else by a guess, which may miss some.
    Heuristics {
        /// So many changesets from the base to our side are too many to trace all.
        changesets: i64,
        /// Files at most that may come into question for one that is gone.
        candidates: i64,
    },
    /// None.
    Off,
}

impl MergeOptions {
    /// True if a plain merge of lines leaves files without conflicts as these options do. Copies are not asked about: what
    /// merges without the working copy has no renames that one side must follow.
    pub fn merges_only_lines(&self) -> bool {
        let is_plain = self.partial.is_empty() && self.touching == TouchingChanges::Conflict;
        is_plain && self.chosen.merges_only_lines()
    }
}
