//! What merges a file when both sides have changed it.

use crate::Backups;

/// A way to merge that needs no other program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Conflicts stand in the file, both sides of each.
    Merge,
    /// The same with what both sides had before.
    Merge3,
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
    /// As [`Tool::Dump`], without trying.
    ForceDump,
    /// The user says whose file it is.
    Prompt,
}

const NAMES: &[(&str, Tool)] = &[
    ("merge", Tool::Merge),
    ("merge3", Tool::Merge3),
    ("merge-local", Tool::MergeLocal),
    ("merge-other", Tool::MergeOther),
    ("union", Tool::Union),
    ("union-other-first", Tool::UnionOtherFirst),
    ("local", Tool::Local),
    ("other", Tool::Other),
    ("fail", Tool::Fail),
    ("dump", Tool::Dump),
    ("forcedump", Tool::ForceDump),
    ("prompt", Tool::Prompt),
];

impl Tool {
    /// The tool called `:NAME` or `internal:NAME`.
    pub fn named(name: &[u8]) -> Option<Tool> {
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
    pub(crate) fn takes_deleted(self) -> bool {
        matches!(
            self,
            Tool::Local | Tool::Other | Tool::Prompt | Tool::Fail | Tool::Dump | Tool::ForceDump
        )
    }

    /// Whether it looks into the files and merges their lines.
    pub(crate) fn merges_lines(self) -> bool {
        !matches!(
            self,
            Tool::Local | Tool::Other | Tool::Fail | Tool::ForceDump | Tool::Prompt
        )
    }
}

/// Who has chosen the tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chosen {
    /// Nobody: files of lines are merged, about others the user is asked.
    #[default]
    Default,
    /// The call, for all files.
    Forced(Tool),
    /// The configuration, for files of lines.
    Configured(Tool),
    /// A program or setting that is not supported, by its name; files that merge without it are
    /// merged.
    Unsupported(String),
}

/// How files are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolChoice {
    /// What merges.
    pub chosen: Chosen,
    /// Where files are kept as they were before a merge with conflicts.
    pub backups: Backups,
}
