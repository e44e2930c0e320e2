//! The differences of a patch, file by file and hunk by hunk.

use crate::binary::BinaryHunk;
use crate::context;
use crate::error::{PatchError, shown};
use crate::git::{self, FileMetadata, FileOperation};
use crate::hunk::TextHunk;
use crate::lines::{Lines, trim_end};
use std::collections::VecDeque;

/// A hunk of a text or of a binary file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hunk<'a> {
    /// Lines.
    Text(TextHunk<'a>),
    /// A content or a delta.
    Binary(BinaryHunk<'a>),
}

/// The beginning of a file's patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStart<'a> {
    /// The path before, as the patch has it.
    pub(crate) old: Vec<u8>,
    /// The path after, as the patch has it.
    pub(crate) new: Vec<u8>,
    /// Metadata in git's form.
    pub(crate) metadata: Option<FileMetadata>,
    /// The first hunk.
    pub(crate) first: Option<Hunk<'a>>,
}

/// A step of reading a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchEvent<'a> {
    /// Sources of all copies and renames: they are copied as they were before the patch.
    Sources(Vec<Vec<u8>>),
    /// A file begins.
    File(FileStart<'a>),
    /// A further hunk of the same file.
    Hunk(Hunk<'a>),
}

/// Reads a patch. A fault ends it; events before it have their effect.
#[derive(Clone, Debug)]
pub struct FilePatches<'a> {
    text: &'a [u8],
    lines: Lines<'a>,
    /// Metadata of git's form that are not used up, once there were any.
    metadata: Option<VecDeque<FileMetadata>>,
    events: VecDeque<PatchEvent<'a>>,
    old: Vec<u8>,
    new: Vec<u8>,
    /// Whether the names of a file were read, so that hunks may follow.
    has_file: bool,
    /// Whether the file of the next hunk is new.
    is_new_file: bool,
    /// Whether hunks have the context form; `None` before the first file.
    is_context: Option<bool>,
    hunks: usize,
    is_done: bool,
    /// Follows the events before it.
    fault: Option<PatchError>,
}

impl<'a> FilePatches<'a> {
    /// Reads the patches in `text`; lines between them are skipped.
    pub fn new(text: &'a [u8]) -> Self {
        FilePatches {
            text,
            lines: Lines::new(text),
            metadata: None,
            events: VecDeque::new(),
            old: Vec::new(),
            new: Vec::new(),
            has_file: false,
            is_new_file: false,
            is_context: None,
            hunks: 0,
            is_done: false,
            fault: None,
        }
    }

    fn read_line(&mut self, line: &'a [u8]) -> Result<(), PatchError> {
        let is_unified = line.starts_with(b"@");
        let is_context = self.is_context != Some(false) && line.starts_with(context::SEPARATOR);
        let is_binary = line.starts_with(git::BINARY);
        if self.has_file && (is_unified || is_context || is_binary) {
            return self.hunk(line, is_binary);
        }
        if line.starts_with(git::HEADING) {
            return self.git_heading(line);
        }
        if line.starts_with(b"---") {
            self.names(line, b"+++", false);
        } else if line.starts_with(b"***") {
            self.names(line, b"---", true);
        }
        Ok(())
    }

    /// The two lines with names.
    fn names(&mut self, old: &[u8], second: &[u8], is_context: bool) {
        let mut ahead = self.lines;
        let Some(new) = ahead.next().filter(|line| line.starts_with(second)) else {
            return;
        };
        let follows = |line: &[u8]| line.starts_with(context::SEPARATOR);
        if is_context && !ahead.peek().is_some_and(follows) {
            return;
        }
        self.lines = ahead;
        self.is_context = Some(is_context);
        self.begin_file(name(old).to_vec(), name(new).to_vec());
    }

    fn begin_file(&mut self, old: Vec<u8>, new: Vec<u8>) {
        (self.old, self.new) = (old, new);
        (self.has_file, self.is_new_file, self.hunks) = (true, true, 0);
    }

    fn git_heading(&mut self, line: &'a [u8]) -> Result<(), PatchError> {
        let Some((old, new)) = git::heading_paths(line) else {
            return Ok(());
        };
        let (old, new) = ([b"a/", old].concat(), [b"b/", new].concat());
        let mut waiting = match self.metadata.take() {
            Some(waiting) => waiting,
            None => self.read_metadata(line),
        };
        while waiting.front().is_some_and(|file| !file.is_of(&old, &new)) {
            self.events.extend(waiting.pop_front().map(without_hunks));
        }
        let is_known = !waiting.is_empty();
        self.metadata = Some(waiting);
        if !is_known {
            return Err(PatchError::Unsynchronized(shown(&old[2..])));
        }
        self.begin_file(old, new);
        Ok(())
    }

    /// Reads the metadata of all files ahead, from the first one on.
    fn read_metadata(&mut self, line: &'a [u8]) -> VecDeque<FileMetadata> {
        let files = git::read_all(Lines::new(self.from(line)));
        let is_copy = |file: &&FileMetadata| {
            matches!(file.operation, FileOperation::Copy | FileOperation::Rename)
        };
        let sources = files.iter().filter(is_copy);
        let sources = sources.filter_map(|file| file.source.clone()).collect();
        self.events.push_back(PatchEvent::Sources(sources));
        files.into()
    }

    /// The text from a line on.
    fn from(&self, line: &[u8]) -> &'a [u8] {
        &self.text[line.as_ptr().addr() - self.text.as_ptr().addr()..]
    }

    fn hunk(&mut self, line: &'a [u8], is_binary: bool) -> Result<(), PatchError> {
        let (old, new) = (&self.old, &self.new);
        let waiting = self.metadata.as_mut();
        let metadata = waiting.and_then(|files| files.pop_front_if(|file| file.is_of(old, new)));
        self.hunks += 1;
        let hunk = if is_binary {
            let path = metadata.as_ref().map_or(new, |file| &file.path).clone();
            let text = self.from(line);
            Hunk::Binary(BinaryHunk::read(text, &path, &mut self.lines)?)
        } else {
            let is_context = *self
                .is_context
                .get_or_insert(line.starts_with(context::SEPARATOR));
            Hunk::Text(match is_context {
                true => context::read(self.hunks, &mut self.lines)?,
                false => TextHunk::read_unified(line, self.hunks, &mut self.lines)?,
            })
        };
        let event = match std::mem::take(&mut self.is_new_file) {
            false => PatchEvent::Hunk(hunk),
            true => PatchEvent::File(FileStart {
                old: self.old.clone(),
                new: self.new.clone(),
                metadata,
                first: Some(hunk),
            }),
        };
        self.events.push_back(event);
        Ok(())
    }
}

/// The event of a file of which only metadata change.
fn without_hunks<'a>(file: FileMetadata) -> PatchEvent<'a> {
    PatchEvent::File(FileStart {
        old: [b"a/", &file.path[..]].concat(),
        new: [b"b/", &file.path[..]].concat(),
        metadata: Some(file),
        first: None,
    })
}

impl<'a> Iterator for FilePatches<'a> {
    type Item = Result<PatchEvent<'a>, PatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.events.is_empty() && !self.is_done {
            let Some(line) = self.lines.next() else {
                self.is_done = true;
                let rest = self.metadata.take().unwrap_or_default();
                self.events.extend(rest.into_iter().map(without_hunks));
                break;
            };
            if let Err(error) = self.read_line(line) {
                self.is_done = true;
                self.fault = Some(error);
            }
        }
        let event = self.events.pop_front().map(Ok);
        event.or_else(|| self.fault.take().map(Err))
    }
}

/// The name behind `--- `, up to a tab or else a space.
fn name(line: &[u8]) -> &[u8] {
    let name = trim_end(line.get(4..).unwrap_or_default());
    let end = memchr::memchr(b'\t', name).or_else(|| memchr::memchr(b' ', name));
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(text: &str) -> Vec<String> {
        let events = FilePatches::new(text.as_bytes());
        let show = |event: Result<PatchEvent<'_>, PatchError>| match event {
            Ok(PatchEvent::File(file)) => {
                format!("{} {}", shown(&file.old), shown(&file.new))
            }
            Ok(PatchEvent::Hunk(_)) => "hunk".to_owned(),
            Ok(PatchEvent::Sources(sources)) => format!("sources {}", sources.len()),
            Err(error) => error.to_string(),
        };
        events.map(show).collect()
    }

    #[test]
    fn files_and_hunks_come_in_order() {
        let text = "words\n--- a/f\tdate\n+++ b/f x\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\nend\n\
            --- no\n--- c\n+++ d\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(names_of(text), ["a/f b/f", "hunk", "c d"]);
    }

    #[test]
    fn metadata_without_hunks_come_in_order() {
        let text = "diff --git a/a b/b\nrename from a\nrename to b\n\
            diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\
            diff --git a/m b/m\nold mode 100644\nnew mode 100755\n";
        assert_eq!(
            names_of(text),
            ["sources 1", "a/b b/b", "a/f b/f", "a/m b/m"]
        );
    }

    #[test]
    fn ends_of_lines_are_no_part_of_names() {
        let text = "diff --git a/a b/b\r\nrename from a\r\nrename to b\r\n--- a/a\r\n+++ b/b\r\n\
            @@ -1 +1 @@\r\n-a\r\n+b\r\n";
        assert_eq!(names_of(text)[..1], ["sources 1"]);
        let bare = "diff --git a/a b/b\r\nrename from a\r\nrename to b\r\n";
        assert_eq!(names_of(bare), ["sources 1", "a/b b/b"]);
    }

    #[test]
    fn a_fault_ends_it() {
        let text = "--- f\n+++ f\n@@ bad\n--- c\n+++ d\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(names_of(text), ["bad hunk #1"]);
        let text = "diff --git a/f b/f\nrename from x\n";
        assert_eq!(
            names_of(text).last().unwrap(),
            "failed to synchronize metadata for \"f\""
        );
    }
}
