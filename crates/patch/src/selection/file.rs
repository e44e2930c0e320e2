//! The files and hunks of a patch in git's form, as they are offered.

use crate::git;
use crate::lines::{Lines, number, trim_end};

/// One change: neighbouring lines that go and come. Those that a patch shows together, with lines in between that stay,
/// are several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedHunk {
    /// Line numbers of the first line before and after, as in the patch.
    pub(super) old_start: usize,
    pub(super) new_start: usize,
    pub(super) before: Vec<Vec<u8>>,
    /// May have lines that stay, where only some of the change is chosen.
    pub(super) lines: Vec<Vec<u8>>,
    pub(super) after: Vec<Vec<u8>>,
    /// The text behind the ranges, with the blank before it.
    pub(super) function: Vec<u8>,
}

fn count(lines: &[Vec<u8>], sign: u8) -> usize {
    lines.iter().filter(|line| line[0] == sign).count()
}

impl OfferedHunk {
    fn added(&self) -> usize {
        count(&self.lines, b'+')
    }

    fn removed(&self) -> usize {
        count(&self.lines, b'-')
    }

    /// The hunk that takes this one back.
    pub(super) fn reversed(&self) -> OfferedHunk {
        let mut lines = self.lines.clone();
        for line in &mut lines {
            line[0] = match line[0] {
                b'-' => b'+',
                b'+' => b'-',
                // A note about a missing line end belongs to the line before.
                other => other,
            };
        }
        OfferedHunk {
            old_start: self.new_start,
            new_start: self.old_start,
            lines,
            ..self.clone()
        }
    }

    /// Lines that come less those that go.
    pub(super) fn growth(&self) -> isize {
        self.added() as isize - self.removed() as isize
    }

    /// The line `@@`, without its end.
    pub(super) fn heading(&self) -> Vec<u8> {
        let parts = [&self.before, &self.lines, &self.after];
        let context: usize = parts.into_iter().map(|lines| count(lines, b' ')).sum();
        let heading = format!(
            "@@ -{},{} +{},{} @@",
            self.old_start,
            context + self.removed(),
            self.new_start,
            context + self.added(),
        );
        [heading.as_bytes(), &self.function].concat()
    }

    /// The hunk in the unified form.
    pub fn text(&self) -> Vec<u8> {
        let mut text = self.heading();
        text.push(b'\n');
        for line in self.before.iter().chain(&self.lines).chain(&self.after) {
            text.extend_from_slice(line);
        }
        text
    }
}

/// A file of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedFile {
    /// All lines before the first hunk; those of a binary hunk too.
    header: Vec<Vec<u8>>,
    pub(super) hunks: Vec<OfferedHunk>,
    /// The name before, if it is another, and the name.
    paths: Vec<Vec<u8>>,
}

impl OfferedFile {
    /// Reads a patch in git's form. Counts of lines in the headings of hunks do not matter: they may be wrong after an
    /// edit, as lines of `#` may be left in it.
    pub fn read_all(text: &[u8]) -> Vec<OfferedFile> {
        let mut reading = Reading::default();
        for line in Lines::new(text).filter(|line| !line.starts_with(b"#")) {
            reading.line(line);
        }
        reading.end_file();
        reading.files
    }

    /// Its hunks, in order.
    pub fn hunks(&self) -> &[OfferedHunk] {
        &self.hunks
    }

    /// The old name, if it is copied or renamed, and the name.
    pub fn paths(&self) -> &[Vec<u8>] {
        &self.paths
    }

    fn has(&self, start: &[u8]) -> bool {
        self.header.iter().any(|line| line.starts_with(start))
    }

    fn is_binary(&self) -> bool {
        self.has(b"index ") || self.has(git::BINARY)
    }

    /// Whether there is nothing to choose within it: it is removed, or no text.
    pub fn is_indivisible(&self) -> bool {
        self.is_binary() || self.has(b"deleted file ")
    }

    /// Whether something changes even if no hunk is taken: its name, its mode, or that it is there.
    pub(super) fn changes_without_hunks(&self) -> bool {
        let marks: [&[u8]; 3] = [b"old mode ", b"rename ", b"copy "];
        self.hunks.is_empty() || marks.into_iter().any(|mark| self.has(mark))
    }

    /// The lines that introduce it to the user.
    pub fn shown_header(&self) -> Vec<u8> {
        let mut shown = Vec::new();
        for line in &self.header {
            if line.starts_with(b"index ") {
                shown.extend_from_slice(b"this modifies a binary file (all or nothing)\n");
                break;
            }
            if line.starts_with(b"---") {
                shown.extend_from_slice(self.counts().as_bytes());
                break;
            }
            shown.extend_from_slice(line);
            if line.starts_with(b"new file ") || line.starts_with(b"deleted file ") {
                if self.is_binary() {
                    shown.extend_from_slice(b"this is a binary file\n");
                }
                break;
            }
        }
        shown
    }

    /// The same where files are not shown in git's form: the changeset `parent` and the name introduce them.
    pub fn shown_plain_header(&self, parent: &str) -> Vec<u8> {
        let name = self.paths.last().map_or(&[][..], Vec::as_slice);
        let mut shown = [b"diff -r ", parent.as_bytes(), b" ", name, b"\n"].concat();
        if !self.hunks.is_empty() {
            shown.extend_from_slice(self.counts().as_bytes());
        }
        shown
    }

    fn counts(&self) -> String {
        let changed = |hunk: &OfferedHunk| hunk.added().max(hunk.removed());
        let lines: usize = self.hunks.iter().map(changed).sum();
        let hunks = self.hunks.len();
        format!("{hunks} hunks, {lines} lines changed\n")
    }
}

/// Appends a file with some of its hunks to a patch.
pub(super) fn push_chosen(file: &OfferedFile, hunks: &[OfferedHunk], patch: &mut Vec<u8>) {
    let is_name = |line: &[u8]| line.starts_with(b"--- ") || line.starts_with(b"+++ ");
    for line in &file.header {
        if !hunks.is_empty() || !is_name(line) {
            patch.extend_from_slice(line);
        }
    }
    hunks
        .iter()
        .for_each(|hunk| patch.extend_from_slice(&hunk.text()));
}

/// The part of a patch that the next line belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PatchPosition {
    #[default]
    Outside,
    Header,
    Hunk,
}

#[derive(Debug, Default)]
struct Reading {
    files: Vec<OfferedFile>,
    file: OfferedFile,
    place: PatchPosition,
    /// The change that is being read; its `after` is empty.
    hunk: OfferedHunk,
    /// Lines that stay, since the last that do not.
    context: Vec<Vec<u8>>,
}

impl Reading {
    fn line(&mut self, line: &[u8]) {
        if line.starts_with(git::HEADING) {
            self.end_file();
            self.place = PatchPosition::Header;
            self.file.header.push(line.to_vec());
            if let Some((old, new)) = git::heading_paths(line) {
                self.file.paths.extend((old != new).then(|| old.to_vec()));
                self.file.paths.push(new.to_vec());
            }
            return;
        }
        let is_text = !self.file.is_binary();
        match self.place {
            PatchPosition::Outside => {}
            PatchPosition::Header | PatchPosition::Hunk if is_text && line.starts_with(b"@@ ") => {
                self.begin_hunk(line);
            }
            PatchPosition::Header => self.file.header.push(line.to_vec()),
            PatchPosition::Hunk => self.hunk_line(line),
        }
    }

    fn begin_hunk(&mut self, line: &[u8]) {
        self.end_hunk();
        self.place = PatchPosition::Hunk;
        let [old_start, new_start] = starts(line).unwrap_or_default();
        let line = trim_end(line);
        let end = line.windows(3).skip(2).position(|at| at == b" @@");
        let function = line[end.map_or(line.len(), |end| end + 5)..].to_vec();
        self.hunk = OfferedHunk {
            old_start,
            new_start,
            function,
            ..OfferedHunk::default()
        };
    }

    fn hunk_line(&mut self, line: &[u8]) {
        match line[0] {
            b'-' | b'+' => {
                if !self.context.is_empty() {
                    self.end_change();
                    self.begin_change();
                }
                self.hunk.lines.push(line.to_vec());
            }
            // Belongs to the line before.
            b'\\' if self.context.is_empty() => self.hunk.lines.push(line.to_vec()),
            b'\\' | b' ' => self.context.push(line.to_vec()),
            // Editors cut off blanks at the ends of lines.
            b'\n' => self.context.push(b" \n".to_vec()),
            _ => {}
        }
    }

    /// The lines that stay, all of them, become those before the next change.
    fn begin_change(&mut self) {
        self.hunk.before = std::mem::take(&mut self.context);
    }

    /// Keeps the change that has been read, with the lines behind it.
    fn end_change(&mut self) {
        if self.hunk.lines.is_empty() {
            return;
        }
        let mut hunk = std::mem::take(&mut self.hunk);
        let before = count(&hunk.before, b' ');
        // Numbers in a patch may be of any size.
        let passed = [before + hunk.removed(), before + hunk.added()];
        self.hunk.old_start = hunk.old_start.saturating_add(passed[0]);
        self.hunk.new_start = hunk.new_start.saturating_add(passed[1]);
        self.hunk.function.clone_from(&hunk.function);
        hunk.after.clone_from(&self.context);
        self.file.hunks.push(hunk);
    }

    fn end_hunk(&mut self) {
        self.end_change();
        self.context.clear();
        self.hunk = OfferedHunk::default();
    }

    fn end_file(&mut self) {
        self.end_hunk();
        let file = std::mem::take(&mut self.file);
        if !file.header.is_empty() {
            self.files.push(file);
        }
        self.place = PatchPosition::Outside;
    }
}

/// The first lines of both ranges in `@@ -1,2 +3,4 @@`.
fn starts(line: &[u8]) -> Option<[usize; 2]> {
    let rest = line.strip_prefix(b"@@ -")?;
    let (_, old) = number(rest)?;
    let plus = rest.iter().position(|byte| *byte == b'+')?;
    let (_, new) = number(&rest[plus + 1..])?;
    Some([old, new])
}
