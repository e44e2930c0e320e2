//! One file while its hunks are applied.

use super::ApplyOptions;
use crate::file_patches::Hunk;
use crate::git::{FileMetadata, FileOperation};
use crate::hunk::TextHunk;
use crate::lines::Lines;
use crate::target::{LineEnds, PatchMode, PatchNotice, PatchTarget, TargetFile};
use std::borrow::Cow;
use std::collections::HashMap;

/// The line ends of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundEnd {
    Lf,
    CrLf,
}

pub(super) struct PatchedFile<'a> {
    metadata: FileMetadata,
    mode: Option<PatchMode>,
    lines: Vec<Vec<u8>>,
    /// End of the first line before, unless ends are compared or there is none.
    end: Option<FoundEnd>,
    /// Whether there is no file to patch.
    is_missing: bool,
    exists: bool,
    is_changed: bool,
    is_announced: bool,
    /// Lines by which hunks that were applied have moved what follows.
    offset: isize,
    /// Lines from the place that the last hunk names.
    skew: isize,
    hunks: usize,
    rejected: Vec<Hunk<'a>>,
}

/// A place where a hunk fits.
struct Fit {
    line: usize,
    fuzz: usize,
    start: usize,
    end: usize,
}

impl<'a> PatchedFile<'a> {
    /// A file whose content is that of `before`.
    pub(super) fn new(
        metadata: FileMetadata,
        before: Option<TargetFile>,
        exists: bool,
        line_ends: LineEnds,
    ) -> Self {
        let mut file = PatchedFile {
            mode: metadata.mode,
            lines: Vec::new(),
            end: None,
            is_missing: false,
            exists,
            is_changed: false,
            is_announced: false,
            offset: 0,
            skew: 0,
            hunks: 0,
            rejected: Vec::new(),
            metadata,
        };
        match before {
            Some(before) => {
                file.mode = file.mode.or(Some(before.mode));
                file.lines = Lines::new(&before.content).map(<[u8]>::to_vec).collect();
                file.read_ends(line_ends);
            }
            None => {
                file.is_missing = !file.metadata.operation.creates();
                file.mode = file.mode.or(Some(PatchMode::default()));
            }
        }
        file
    }

    fn read_ends(&mut self, line_ends: LineEnds) {
        if line_ends == LineEnds::Strict {
            return;
        }
        self.end = match self.lines.first() {
            Some(first) if first.ends_with(b"\r\n") => Some(FoundEnd::CrLf),
            Some(first) if first.ends_with(b"\n") => Some(FoundEnd::Lf),
            _ => None,
        };
        self.lines.iter_mut().for_each(normalize);
    }

    fn is_copy(&self) -> bool {
        self.metadata.source.is_some()
    }

    /// Tells the user of the file, once.
    pub(super) fn announce<T: PatchTarget>(
        &mut self,
        target: &mut T,
        is_needed: bool,
    ) -> Result<(), T::Error> {
        let path = &self.metadata.path;
        if !is_needed && self.is_missing {
            target.notice(&PatchNotice::Missing { path })?;
        }
        if !self.is_announced {
            self.is_announced = is_needed;
            target.notice(&PatchNotice::File { path, is_needed })?;
        }
        Ok(())
    }

    /// Applies one hunk, or keeps it among the rejected ones.
    pub(super) fn apply<T: PatchTarget>(
        &mut self,
        hunk: Hunk<'a>,
        target: &mut T,
        options: &ApplyOptions,
    ) -> Result<(), T::Error> {
        if let Hunk::Text(hunk) = &hunk {
            hunk.check()?;
        }
        self.hunks += 1;
        if self.is_missing {
            self.rejected.push(hunk);
            return Ok(());
        }
        if self.exists && self.metadata.operation.creates() {
            let (path, is_copy) = (&self.metadata.path, self.is_copy());
            target.notice(&PatchNotice::Exists { path, is_copy })?;
            self.rejected.push(hunk);
            return Ok(());
        }
        match hunk {
            Hunk::Binary(hunk) => {
                if self.metadata.operation == FileOperation::Delete {
                    return target.remove(&self.metadata.path);
                }
                self.lines = vec![hunk.content(&self.lines.concat())?];
                self.is_changed = true;
                Ok(())
            }
            Hunk::Text(hunk) => self.apply_text(hunk, target, options),
        }
    }

    fn apply_text<T: PatchTarget>(
        &mut self,
        hunk: TextHunk<'a>,
        target: &mut T,
        options: &ApplyOptions,
    ) -> Result<(), T::Error> {
        let normalized = match options.line_ends {
            LineEnds::Lf | LineEnds::CrLf => Some(normalized(&hunk)),
            LineEnds::Auto if self.end.is_some() => Some(normalized(&hunk)),
            _ => None,
        };
        let fitted = normalized.as_ref().unwrap_or(&hunk);
        let expected = place(fitted, 0) + self.offset;
        // Where the hunk before was moved, this one is always looked for.
        if self.skew == 0 && self.fits_at(&fitted.old.lines, expected) {
            if self.metadata.operation == FileOperation::Delete {
                return target.remove(&self.metadata.path);
            }
            let at = expected.unsigned_abs();
            let fit = Fit {
                line: at,
                fuzz: 0,
                start: 0,
                end: 0,
            };
            self.replace(fitted, &fit);
            return Ok(());
        }
        let Some(fit) = self.find(fitted, options.fuzz) else {
            self.announce(target, true)?;
            let notice = PatchNotice::Failed {
                number: hunk.number,
                line: expected,
            };
            target.notice(&notice)?;
            self.rejected.push(Hunk::Text(hunk));
            return Ok(());
        };
        self.replace(fitted, &fit);
        self.skew = fit.line as isize - expected;
        if fit.fuzz > 0 {
            self.announce(target, true)?;
        }
        target.notice(&PatchNotice::Moved {
            number: hunk.number,
            line: fit.line + 1,
            fuzz: fit.fuzz,
            offset: fit.line as isize - expected - fit.fuzz as isize,
        })
    }

    fn fits_at(&self, old: &[Cow<'_, [u8]>], at: isize) -> bool {
        let Ok(at) = usize::try_from(at) else {
            return false;
        };
        let there = self.lines.get(at..).unwrap_or_default();
        old.len() <= there.len() && old.iter().zip(there).all(|(old, line)| **old == line[..])
    }

    /// The nearest place where a hunk fits, with as little fuzz as possible.
    fn find(&self, hunk: &TextHunk<'_>, most_fuzz: usize) -> Option<Fit> {
        let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (at, line) in self.lines.iter().enumerate() {
            places.entry(&line[..]).or_default().push(at);
        }
        // More fuzz than the hunk has context changes nothing.
        let most_fuzz = most_fuzz.min(hunk.marked.len());
        for fuzz in 0..=most_fuzz {
            for only_start in [true, false] {
                let (start, end) = hunk.context(fuzz, only_start);
                let old =
                    &hunk.old.lines[start..hunk.old.lines.len().saturating_sub(end).max(start)];
                let near = place(hunk, start) + self.offset + self.skew;
                let near = near.min(self.lines.len() as isize);
                let fit = |line| Fit {
                    line,
                    fuzz,
                    start,
                    end,
                };
                let Some(first) = old.first() else {
                    return Some(fit(near.max(0).unsigned_abs()));
                };
                let mut candidates = places.get(&**first).cloned().unwrap_or_default();
                candidates.sort_by_key(|at| (*at as isize - near).unsigned_abs());
                let found = candidates.into_iter();
                let mut found = found.filter(|at| self.fits_at(old, *at as isize));
                if let Some(at) = found.next() {
                    return Some(fit(at));
                }
            }
        }
        None
    }

    fn replace(&mut self, hunk: &TextHunk<'_>, fit: &Fit) {
        let inner = |lines: &'_ [Cow<'_, [u8]>]| {
            let end = lines
                .len()
                .saturating_sub(fit.end)
                .max(fit.start.min(lines.len()));
            fit.start.min(lines.len())..end
        };
        let gone = inner(&hunk.old.lines).len();
        let new = &hunk.new.lines[inner(&hunk.new.lines)];
        let at = fit.line.min(self.lines.len());
        let end = (at + gone).min(self.lines.len());
        self.lines
            .splice(at..end, new.iter().map(|line| line.to_vec()));
        self.offset += new.len() as isize - gone as isize;
        self.is_changed = true;
    }

    /// Writes the file and its rejects; returns whether there are any.
    pub(super) fn end<T: PatchTarget>(
        mut self,
        target: &mut T,
        options: &ApplyOptions,
    ) -> Result<bool, T::Error> {
        let path = &self.metadata.path;
        if self.is_changed {
            let ends_with_cr = match options.line_ends {
                LineEnds::CrLf => true,
                LineEnds::Auto => self.end == Some(FoundEnd::CrLf),
                LineEnds::Strict | LineEnds::Lf => false,
            };
            if ends_with_cr {
                self.lines.iter_mut().for_each(add_cr);
            }
            let content = self.lines.concat();
            let source = self.metadata.source.as_deref();
            target.write(path, Some(&content), self.mode, source)?;
        }
        if self.rejected.is_empty() {
            return Ok(false);
        }
        target.notice(&PatchNotice::Rejects {
            path,
            rejected: self.rejected.len(),
            hunks: self.hunks,
        })?;
        target.keep_rejects(path, &rejects(path, &self.rejected))?;
        Ok(true)
    }
}

/// Line of the file, from 0 on, that a hunk names for its first line behind `skipped` ones of context.
fn place(hunk: &TextHunk<'_>, skipped: usize) -> isize {
    let line = hunk.old.start + skipped;
    // An empty range names the line before.
    let line = line - usize::from(hunk.old.len > 0 && line > 0);
    isize::try_from(line).unwrap_or(isize::MAX / 2)
}

fn normalize(line: &mut Vec<u8>) {
    if line.ends_with(b"\r\n") {
        line.truncate(line.len() - 2);
        line.push(b'\n');
    }
}

fn add_cr(line: &mut Vec<u8>) {
    if line.last() == Some(&b'\n') {
        line.pop();
        line.extend_from_slice(b"\r\n");
    }
}

/// The hunk with LF at the ends of its lines.
fn normalized<'a>(hunk: &TextHunk<'a>) -> TextHunk<'a> {
    let mut hunk = hunk.clone();
    for line in hunk.old.lines.iter_mut().chain(&mut hunk.new.lines) {
        if line.ends_with(b"\r\n") {
            normalize(line.to_mut());
        }
    }
    hunk
}

/// The text of a file of rejects.
fn rejects(path: &[u8], hunks: &[Hunk<'_>]) -> Vec<u8> {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let name = &path[slash.map_or(0, |at| at + 1)..];
    let mut out = [b"--- ", name, b"\n+++ ", name, b"\n"].concat();
    for hunk in hunks {
        match hunk {
            Hunk::Text(hunk) => hunk.push_rejected(&mut out),
            Hunk::Binary(hunk) => hunk.push_rejected(&mut out),
        }
    }
    out
}
