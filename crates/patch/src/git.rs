//! Metadata of git's extended form of patches.

use crate::PatchMode;
use crate::lines::{Lines, trim_end};

/// The line that begins each file.
pub(crate) const HEADING: &[u8] = b"diff --git a/";
/// The line before a binary hunk.
pub(crate) const BINARY: &[u8] = b"GIT binary patch";
/// The name of the side that has no file.
pub(crate) const NO_FILE: &[u8] = b"/dev/null";

const FILE_TYPE_LINK: u32 = 0o020_000;
const OWNER_EXECUTES: u32 = 0o100;

/// The change of a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOperation {
    Modify,
    Add,
    Delete,
    Copy,
    Rename,
}

impl FileOperation {
    /// Whether it makes a file.
    pub(crate) fn creates(self) -> bool {
        matches!(self, Self::Add | Self::Copy | Self::Rename)
    }
}

/// The metadata of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    pub(crate) path: Vec<u8>,
    /// The source of a copy or rename.
    pub(crate) source: Option<Vec<u8>>,
    pub(crate) operation: FileOperation,
    /// The new mode.
    pub(crate) mode: Option<PatchMode>,
}

impl FileMetadata {
    pub(crate) fn new(path: &[u8], operation: FileOperation) -> Self {
        FileMetadata {
            path: path.to_vec(),
            source: None,
            operation,
            mode: None,
        }
    }

    /// Whether both names of a file, with the letters before them, mean this one.
    pub(crate) fn is_of(&self, old: &[u8], new: &[u8]) -> bool {
        let source = self.source.as_ref().unwrap_or(&self.path);
        let is_old = match old == NO_FILE {
            true => self.operation == FileOperation::Add,
            false => old.strip_prefix(b"a/") == Some(source),
        };
        let is_new = match new == NO_FILE {
            true => self.operation == FileOperation::Delete,
            false => new.strip_prefix(b"b/") == Some(&self.path),
        };
        is_old && is_new
    }

    fn read_line(&mut self, line: &[u8]) {
        let value = |name: &[u8]| line.strip_prefix(name).map(<[u8]>::to_vec);
        if let Some(source) = value(b"rename from ") {
            (self.operation, self.source) = (FileOperation::Rename, Some(source));
        } else if let Some(source) = value(b"copy from ") {
            (self.operation, self.source) = (FileOperation::Copy, Some(source));
        } else if let Some(path) = value(b"rename to ").or_else(|| value(b"copy to ")) {
            self.path = path;
        } else if line.starts_with(b"deleted file") {
            self.operation = FileOperation::Delete;
        } else if let Some(mode) = value(b"new file mode ") {
            (self.operation, self.mode) = (FileOperation::Add, mode_of(&mode));
        } else if let Some(mode) = value(b"new mode ") {
            self.mode = mode_of(&mode);
        }
    }
}

/// Six digits of base 8.
fn mode_of(text: &[u8]) -> Option<PatchMode> {
    let digits = &text[text.len().saturating_sub(6)..];
    let bits = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
    Some(PatchMode {
        is_link: bits & FILE_TYPE_LINK != 0,
        is_executable: bits & OWNER_EXECUTES != 0,
    })
}

/// Both paths of `diff --git a/OLD b/NEW`, without the letters.
pub(crate) fn heading_paths(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = trim_end(line.strip_prefix(HEADING)?);
    let at = memchr::memmem::rfind(rest, b" b/")?;
    Some((&rest[..at], &rest[at + 3..]))
}

/// The metadata of all files whose headings follow.
pub(crate) fn read_all(lines: Lines<'_>) -> Vec<FileMetadata> {
    let mut files = Vec::new();
    let mut current: Option<FileMetadata> = None;
    for line in lines {
        let line = trim_end(line);
        if line.starts_with(HEADING) {
            if let Some((_, path)) = heading_paths(line) {
                files.extend(current.take());
                current = Some(FileMetadata::new(path, FileOperation::Modify));
            }
        } else if line.starts_with(b"--- ") {
            files.extend(current.take());
        } else if let Some(file) = &mut current {
            file.read_line(line);
        }
    }
    files.extend(current);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_all_files_are_read() {
        let text =
            b"diff --git a/a b/b\nrename from a\nrename to b\nold mode 100644\nnew mode 100755\n\
            --- a/a\n+++ b/b\n@@ -1 +1 @@\n-copy from x\n+y\n\
            diff --git a/l b/l\nnew file mode 120000\n\
            diff --git a/x b/x\ndeleted file mode 100644\n";
        let files = read_all(Lines::new(text));
        assert_eq!(files.len(), 3);
        assert_eq!(files[0].source.as_deref(), Some(&b"a"[..]));
        assert!(files[0].is_of(b"a/a", b"b/b") && !files[0].is_of(b"a/b", b"b/b"));
        let mode = files[0].mode.unwrap();
        assert!(mode.is_executable && !mode.is_link);
        assert!(files[1].mode.unwrap().is_link && files[1].is_of(b"/dev/null", b"b/l"));
        assert!(files[2].is_of(b"a/x", b"/dev/null"));
        // Where the names have the mark too, the last one counts.
        let paths = heading_paths(b"diff --git a/x b/y b/x b/y\n");
        assert_eq!(paths, Some((&b"x b/y b/x"[..], &b"y"[..])));
    }
}
