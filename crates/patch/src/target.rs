//! The files that a patch is applied to.

use crate::error::PatchError;

/// Mode of a file as git has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchMode {
    /// A symbolic link, whose content is its target.
    pub is_link: bool,
    /// Whether the owner may execute it.
    pub is_executable: bool,
}

/// A file to be patched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetFile {
    /// All bytes, or the target of a link.
    pub content: Vec<u8>,
    /// Its mode.
    pub mode: PatchMode,
}

/// Ends of lines in patched files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnds {
    /// As in the patch; they are compared too.
    #[default]
    Strict,
    /// LF; those of the patch and of the file are not compared.
    Lf,
    /// CR LF; those of the patch and of the file are not compared.
    CrLf,
    /// As the file's first line; those of the patch and of the file are not compared.
    Auto,
}

/// Progress and faults of hunks, for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchNotice<'a> {
    /// A file is begun; sent before its first hunk, and again before the first notice that needs it.
    File {
        /// Its path.
        path: &'a [u8],
        /// Whether the user needs it: a warning follows.
        is_needed: bool,
    },
    /// The file to be patched is not there.
    Missing {
        /// Its path.
        path: &'a [u8],
    },
    /// The file to be made is there already.
    Exists {
        /// Its path.
        path: &'a [u8],
        /// Whether it was to be a copy.
        is_copy: bool,
    },
    /// A hunk was applied at another place than it names, or without some of its context.
    Moved {
        /// Number of the hunk in its file, from 1 on.
        number: usize,
        /// Line of the file, from 1 on.
        line: usize,
        /// Lines of context that were not compared.
        fuzz: usize,
        /// Lines from the expected place.
        offset: isize,
    },
    /// A hunk fits nowhere.
    Failed {
        /// Number of the hunk in its file, from 1 on.
        number: usize,
        /// The line where it was expected, from 0 on.
        line: isize,
    },
    /// Hunks of a file that were rejected.
    Rejects {
        /// The path of the file.
        path: &'a [u8],
        /// How many were rejected.
        rejected: usize,
        /// How many there are.
        hunks: usize,
    },
}

/// A store of files that patches are applied to.
pub trait PatchTarget {
    /// Failures of the store, and of the patch.
    type Error: From<PatchError>;

    /// A file, if it is there.
    ///
    /// # Errors
    /// A failure of the store, or a path that is not allowed.
    fn read(&mut self, path: &[u8]) -> Result<Option<TargetFile>, Self::Error>;

    /// Whether a file is there.
    ///
    /// # Errors
    /// As of [`PatchTarget::read`].
    fn exists(&mut self, path: &[u8]) -> Result<bool, Self::Error>;

    /// Writes a file. Without content only its mode changes; without a mode it keeps the one it has.
    ///
    /// # Errors
    /// As of [`PatchTarget::read`]; a file that is not tracked.
    fn write(
        &mut self,
        path: &[u8],
        content: Option<&[u8]>,
        mode: Option<PatchMode>,
        copied_from: Option<&[u8]>,
    ) -> Result<(), Self::Error>;

    /// Removes a file.
    ///
    /// # Errors
    /// As of [`PatchTarget::write`].
    fn remove(&mut self, path: &[u8]) -> Result<(), Self::Error>;

    /// Keeps the rejected hunks of a file.
    ///
    /// # Errors
    /// As of [`PatchTarget::read`].
    fn keep_rejects(&mut self, path: &[u8], text: &[u8]) -> Result<(), Self::Error>;

    /// Shows a notice.
    ///
    /// # Errors
    /// A failure of the output.
    fn notice(&mut self, notice: &PatchNotice<'_>) -> Result<(), Self::Error>;
}
