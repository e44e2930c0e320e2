//! Events and questions of a running update.

use crate::manifest_merge::{Auction, CopyReport, Reason};
use crate::merge::{FileTraits, ToolObstacle};
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use varve_repo::{Node, Repository};

/// Progress of an update that may be shown to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateEvent<'a> {
    /// The plan is complete.
    Planned(&'a Comparison<'a>),
    /// The reason for the treatment of a file; events about the treatment follow, if there are any.
    Decided(&'a [u8], &'a Reason),
    /// Our version of a file is kept for a later try.
    Preserving {
        /// Its path.
        path: &'a [u8],
        /// The path of the result.
        dest: &'a [u8],
    },
    /// A file goes because the result of its merge has another path.
    MergedElsewhere(&'a [u8]),
    /// A file is about to be removed.
    Removing(&'a [u8]),
    /// A file is about to be written as in the target.
    Getting(&'a [u8]),
    /// A file moves because its directory was renamed.
    Moving {
        /// The old path.
        from: &'a [u8],
        /// The new path.
        to: &'a [u8],
    },
    /// Their file is about to be written under another path because its directory was renamed.
    GettingAs {
        /// Its path there.
        from: &'a [u8],
        /// The new path.
        to: &'a [u8],
    },
    /// An untracked file is about to be replaced.
    ReplacingUntracked(&'a [u8]),
    /// Several common ancestors have each had a say.
    Auction {
        /// The changesets; the ancestor and the copies are those of the first that had a say.
        comparison: &'a Comparison<'a>,
        /// The choices.
        auction: &'a Auction,
    },
    /// Both sides renamed a file differently.
    RenamedTwice {
        /// The old path.
        source: &'a [u8],
        /// The new paths, sorted.
        names: &'a [Vec<u8>],
    },
    /// One side removed a file and the other renamed it.
    RenamedAndDeleted {
        /// The old path.
        source: &'a [u8],
        /// The new names, sorted.
        names: &'a [Vec<u8>],
    },
    /// A renamed file is not looked for, as too many come into question.
    CopiesPassedOver {
        /// The path of a file that is gone here.
        path: &'a [u8],
        /// The number of files that come into question.
        candidates: usize,
    },
    /// No tool is configured; the default ones are next.
    NoToolConfigured,
    /// A configured tool is passed over.
    ToolObstacle {
        /// Name of the merge tool.
        tool: &'a [u8],
        /// The pattern or path that it was chosen for, if it was.
        pattern: Option<&'a [u8]>,
        /// The reason.
        obstacle: ToolObstacle<'a>,
    },
    /// A tool has been chosen.
    ToolPicked {
        /// Name of the merge tool.
        tool: &'a [u8],
        /// The file.
        path: &'a [u8],
        /// The properties that the tool was chosen for.
        traits: FileTraits,
    },
    /// The versions that are about to be merged; follows [`UpdateEvent::Merging`].
    Versions([MergedVersion<'a>; 3]),
    /// The lines merge without a conflict, and need no tool.
    MergedBefore,
    /// A program is about to be run.
    LaunchingTool {
        /// The line for the shell.
        line: &'a [u8],
    },
    /// A program has ended with this code.
    ToolEnded(i32),
    /// A program with a window of its own is about to be run.
    RunningTool {
        /// Name of the merge tool.
        tool: &'a [u8],
        /// The file.
        path: &'a [u8],
    },
    /// A directory is about to be made for a backup.
    CreatingDirectory(&'a Path),
    /// A program has not merged the file.
    ToolFailed(&'a [u8]),
    /// No tool can merge the file.
    NoTool(&'a [u8]),
    /// A file is merged line by line.
    Merging {
        /// The path in the working copy.
        ours: &'a [u8],
        /// The path in the target.
        theirs: &'a [u8],
        /// The path of the result.
        dest: &'a [u8],
    },
    /// A binary file was to be merged line by line.
    LooksBinary(&'a [u8]),
    /// A symbolic link was to be merged line by line.
    IsLink {
        /// Name of the merge tool.
        tool: &'a str,
        /// The link.
        path: &'a [u8],
    },
    /// Both sides added the file with different modes.
    KeepsMode(&'a [u8]),
    /// A file is left with conflicts in it.
    Conflicts(&'a [u8]),
    /// The tags of both sides are merged.
    MergedTags,
    /// Tags for which neither side is newer, in a file that is left as it was.
    TagConflicts {
        /// Their names, sorted.
        tags: &'a [Vec<u8>],
        /// The file.
        path: &'a [u8],
    },
}

/// The changesets of an update or a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison<'a> {
    /// The base.
    pub ancestor: Node,
    /// The first parent of the working copy.
    pub ours: Node,
    /// The other changeset.
    pub theirs: Node,
    /// True if another branch is merged; else the working copy goes to the other changeset.
    pub is_branch_merge: bool,
    /// True if local changes are given up, so that the working copy is the base.
    pub discards: bool,
    /// True if changesets are merged that may have no common history, or local changes are given up.
    pub is_forced: bool,
    /// Copies since the base, if there are any.
    pub copies: Option<&'a CopyReport>,
}

/// One version of a file that is merged: ours, theirs, or that of the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedVersion<'a> {
    /// Its path.
    pub path: &'a [u8],
    /// Its changeset.
    pub node: Node,
}

/// A conflict that the user decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateQuestion<'a> {
    /// The target deleted a file that was changed here.
    DeletedThere(&'a [u8]),
    /// The target changed a file that was deleted here.
    DeletedHere(&'a [u8]),
    /// Both sides changed a file that cannot be merged.
    WhoseFile(&'a [u8]),
}

/// The answer to an [`UpdateQuestion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The file of the working copy.
    Ours,
    /// The file of the target.
    Theirs,
    /// The conflict stays unresolved.
    Unresolved,
}

/// A doubt about the result of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolCheck<'a> {
    /// The user is always asked.
    Success(&'a [u8]),
    /// The program has left the file as it was.
    Unchanged(&'a [u8]),
}

/// A side of a merge whose changeset is described.
#[derive(Clone, Copy, Debug)]
pub struct DescribedSide<'a> {
    /// Has the changeset.
    pub repository: &'a Repository,
    /// The changeset.
    pub node: Node,
    /// Name of the side.
    pub name: &'a [u8],
    /// Bytes of the longest name beside it; 0 for a program, to which no width matters.
    pub width: usize,
    /// The tool whose template counts before the general one.
    pub tool: &'a [u8],
}

/// A side of a merge by a program.
#[derive(Clone, Copy, Debug)]
pub struct ToolSide<'a> {
    /// `local`, `base` or `other`.
    pub name: &'static str,
    /// Name of the side in the lines around conflicts.
    pub label: &'a [u8],
    /// Its changeset; that of ours is the first parent of the working copy.
    pub node: Node,
    /// The file's path there.
    pub path: &'a [u8],
    /// True if the file is a symbolic link there.
    pub is_link: bool,
}

/// A program that is about to merge a file.
#[derive(Clone, Copy, Debug)]
pub struct ToolRun<'a> {
    /// Has the changesets.
    pub repository: &'a Repository,
    /// The path of the result.
    pub path: &'a [u8],
    /// The program, quoted for the shell.
    pub command: &'a [u8],
    /// Its arguments, quoted for the shell.
    pub arguments: &'a [u8],
    /// Ours, that of the base, theirs.
    pub sides: [ToolSide<'a>; 3],
}

/// Receives the events of an update and answers its questions.
pub trait UpdateObserver {
    /// Receives an event.
    fn on_event(&mut self, event: &UpdateEvent<'_>);
    /// Answers a question.
    fn decide(&mut self, question: &UpdateQuestion<'_>) -> Resolution;
    /// Asks whether a program has merged a file.
    fn confirm(&mut self, check: &ToolCheck<'_>) -> bool {
        let _ = check;
        false
    }
    /// The name of a side and its changeset, as a line around a conflict has them.
    fn describe(&mut self, side: &DescribedSide<'_>) -> Vec<u8> {
        side.name.to_vec()
    }
    /// Announces a program that merges a file; it is run if this returns true, and else counts as failed.
    fn announce_tool(&mut self, run: &ToolRun<'_>) -> bool {
        let _ = run;
        true
    }
    /// Runs a program that merges a file.
    ///
    /// # Errors
    /// A program that cannot be started.
    fn run_program(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        command.status()
    }
}
