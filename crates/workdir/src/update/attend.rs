//! What an update tells and asks while it runs.

/// Something the user may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News<'a> {
    /// What is to be done has been found out.
    Planned,
    /// A file goes.
    Removing(&'a [u8]),
    /// A file is written as in the target.
    Getting(&'a [u8]),
    /// A file of a renamed folder goes along.
    Moving {
        /// Where it was.
        from: &'a [u8],
        /// Where it will be.
        to: &'a [u8],
    },
    /// Both sides gave a file other names.
    RenamedTwice {
        /// Its name before.
        source: &'a [u8],
        /// All its names, sorted.
        names: &'a [Vec<u8>],
    },
    /// One side removed a file and the other renamed it.
    RenamedAndDeleted {
        /// Its name before.
        source: &'a [u8],
        /// The new names, sorted.
        names: &'a [Vec<u8>],
    },
    /// No tool is configured; the default ones are next.
    NoToolConfigured,
    /// The configured tool, by its name, cannot merge what the file is.
    ToolCannot {
        /// The tool.
        tool: &'a str,
        /// The file.
        path: &'a [u8],
        /// `binary` or `symlink`.
        what: &'static str,
    },
    /// Nothing merges such a file.
    NoTool(&'a [u8]),
    /// A file is merged line by line.
    Merging {
        /// Our name of it.
        ours: &'a [u8],
        /// Their name of it.
        theirs: &'a [u8],
        /// What it will be called.
        dest: &'a [u8],
    },
    /// A file that a tool should merge by lines has none.
    LooksBinary(&'a [u8]),
    /// A link that a tool should merge by lines.
    IsLink {
        /// The tool.
        tool: &'a str,
        /// The link.
        path: &'a [u8],
    },
    /// Both sides gave a new file other modes.
    KeepsMode(&'a [u8]),
    /// A file is left with conflicts in it.
    Conflicts(&'a [u8]),
}

/// What cannot be decided without the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// The target deleted a file that was changed here.
    DeletedThere(&'a [u8]),
    /// The target changed a file that was deleted here.
    DeletedHere(&'a [u8]),
    /// Both sides changed a file that cannot be merged.
    WhoseFile(&'a [u8]),
}

/// Whose side a [`Question`] is decided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As it is in the working copy.
    Ours,
    /// As it is in the target.
    Theirs,
    /// Later.
    Unresolved,
}

/// Who watches an update.
pub trait Attendant {
    /// Hears what happens.
    fn hear(&mut self, news: &News<'_>);
    /// Decides.
    fn decide(&mut self, question: &Question<'_>) -> Answer;
}
