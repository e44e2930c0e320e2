//! Two sides of a difference, and the text that shows it.

use super::changes::{self, CopySource, DiffSide, DiffedFile};
use super::hunk_lines::touching;
use super::{DiffOptions, FileStat, stat};
use crate::ui::paint::Painter;
use crate::ui::{Abort, clock};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::thread::{self, ScopedJoinHandle};
use varve_lang::date::Date;
use varve_patch::{HunkOptions, blob_id, push_hunks, push_literal};
use varve_repo::{FileKind, Node, ReaderState, RepoView};
use varve_workdir::Dirstate;

/// Files that each thread compares before their output is handed on.
const SHARE: usize = 64;

/// Two sides with the values of their headers.
pub(crate) struct Comparison<'a> {
    /// The repository.
    view: &'a RepoView,
    /// Before and after.
    sides: (DiffSide, DiffSide),
    /// How it is shown.
    options: &'a DiffOptions,
    /// Digits of nodes in headers.
    digits: usize,
    /// Dates of both sides; that of the working copy is now.
    dates: (Date, Date),
    /// Tracked files of the working copy, where that matters.
    dirstate: Option<Dirstate>,
    /// Lines of the new texts, by path; hunks beside them are not shown.
    lines: Option<&'a BTreeMap<Vec<u8>, Vec<Range<usize>>>>,
}

/// One file that differs, as it is shown.
struct Shown<'c> {
    change: &'c DiffedFile,
    /// Not in the form without git.
    source: Option<&'c CopySource>,
    /// The source is gone, and this is its first copy.
    is_renamed: bool,
}

/// Texts of a file on both sides.
struct Texts {
    old: Vec<u8>,
    new: Vec<u8>,
    hunks: Vec<u8>,
    /// There are hunks, though none of them may touch the lines that are shown.
    has_hunks: bool,
    /// One of them is no text.
    looks_binary: bool,
}

impl Texts {
    /// They differ, and hunks cannot show how.
    fn is_binary(&self) -> bool {
        self.looks_binary && self.old != self.new
    }
}

impl<'a> Comparison<'a> {
    /// Gets ready to compare.
    pub(crate) fn new(
        view: &'a RepoView,
        sides: (DiffSide, DiffSide),
        options: &'a DiffOptions,
        digits: usize,
    ) -> Result<Comparison<'a>, Abort> {
        let date = |side: DiffSide| -> Result<Date, Abort> {
            match side {
                DiffSide::Rev(Some(rev)) => Ok(view.with_changeset(rev, |changeset| Date {
                    time: changeset.time,
                    zone: changeset.zone,
                })?),
                DiffSide::Rev(None) => Ok(Date::default()),
                DiffSide::Working => Ok(options.working_date.unwrap_or(clock::clock().date())),
            }
        };
        Ok(Comparison {
            view,
            sides,
            options,
            digits,
            dates: (date(sides.0)?, date(sides.1)?),
            dirstate: None,
            lines: None,
        })
    }

    /// Adds the tracked files of the working copy.
    pub(crate) fn with_dirstate(mut self, dirstate: Dirstate) -> Comparison<'a> {
        self.dirstate = Some(dirstate);
        self
    }

    /// Leaves out hunks that touch none of these lines.
    pub(crate) fn within(
        mut self,
        lines: Option<&'a BTreeMap<Vec<u8>, Vec<Range<usize>>>>,
    ) -> Comparison<'a> {
        self.lines = lines;
        self
    }

    /// Hands on the differences of all files, in order and in pieces, also of the files before one
    /// that cannot be read.
    pub(crate) fn write_all(
        &self,
        changes: &[DiffedFile],
        mut write: impl FnMut(&[u8]) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        for round in self.shown(changes).chunks(threads * SHARE) {
            let parts = thread::scope(|scope| {
                let mut shares = round.chunks(SHARE);
                let first = shares.next().unwrap_or_default();
                let others: Vec<_> = shares
                    .map(|share| scope.spawn(|| self.differences(share)))
                    .collect();
                let mut parts = vec![self.differences(first)];
                parts.extend(others.into_iter().map(joined));
                parts
            });
            for (text, outcome) in parts {
                write(&text)?;
                outcome?;
            }
        }
        Ok(())
    }

    /// Appends the differences of all files.
    pub(crate) fn push_all(&self, changes: &[DiffedFile], out: &mut Vec<u8>) -> Result<(), Abort> {
        self.write_all(changes, |text| {
            out.extend_from_slice(text);
            Ok(())
        })
    }

    /// The differences of some files, up to the first that cannot be read.
    fn differences(&self, files: &[Shown<'_>]) -> (Vec<u8>, Result<(), Abort>) {
        let mut out = Vec::new();
        let mut reader = ReaderState::default();
        let outcome = files.iter().try_for_each(|shown| {
            let texts = self.texts(shown, &mut reader, self.options.hunks())?;
            if self.is_worth_showing(shown, &texts) {
                self.push_file(shown, &texts, &mut out)?;
            }
            Ok(())
        });
        (out, outcome)
    }

    /// Counts the lines of all files.
    pub(crate) fn stats(&self, changes: &[DiffedFile]) -> Result<Vec<FileStat>, Abort> {
        let mut stats = Vec::new();
        let mut reader = ReaderState::default();
        for shown in self.shown(changes) {
            let mut hunks = self.options.hunks();
            if self.lines.is_some() {
                // Mercurial counts from hunks without context, of which fewer touch the lines.
                hunks.context = 0;
            }
            let texts = self.texts(&shown, &mut reader, hunks)?;
            if !self.is_worth_showing(&shown, &texts) {
                continue;
            }
            let mut name = self.options.shown_in_stat(&shown.change.path);
            if let Some(source) = shown.source.filter(|_| shown.is_renamed) {
                let source = self.options.shown_in_stat(&source.path);
                name = [&source[..], b" => ", &name].concat();
            }
            stats.push(FileStat::of(name, &texts.hunks, texts.is_binary()));
        }
        Ok(stats)
    }

    /// Appends the counts as a picture.
    pub(crate) fn push_stat(
        &self,
        painter: &Painter,
        changes: &[DiffedFile],
        width: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Abort> {
        stat::push(painter, &self.stats(changes)?, width, out);
        Ok(())
    }

    /// Whether there is more to say than the name.
    fn is_worth_showing(&self, shown: &Shown<'_>, texts: &Texts) -> bool {
        let change = shown.change;
        let kinds = (
            change.old.map(|version| version.kind),
            change.new.map(|version| version.kind),
        );
        texts.has_hunks
            || texts.is_binary()
            || (self.options.git
                && (kinds.0 != kinds.1
                    || shown.source.is_some()
                    || (self.options.index_digits > 0 && !texts.looks_binary)))
    }

    /// In git's form a file that was renamed is one change.
    fn shown<'c>(&self, changes: &'c [DiffedFile]) -> Vec<Shown<'c>> {
        let source_of = |change: &'c DiffedFile| {
            let source = change.source.as_ref().filter(|_| self.options.git);
            source.filter(|source| source.path.starts_with(&self.options.root))
        };
        let gone = |path: &[u8]| {
            changes
                .binary_search_by(|change| change.path.as_slice().cmp(path))
                .is_ok_and(|at| changes[at].new.is_none())
        };
        // Only the first of several copies takes the place of a removed file.
        let mut renamed: Vec<&[u8]> = Vec::new();
        let mut all = Vec::new();
        for change in changes {
            let source = source_of(change);
            let is_renamed = source
                .is_some_and(|source| gone(&source.path) && !renamed.contains(&&source.path[..]));
            renamed.extend(source.filter(|_| is_renamed).map(|source| &source.path[..]));
            all.push(Shown {
                change,
                source,
                is_renamed,
            });
        }
        all.retain(|shown| {
            shown.change.new.is_some() || !renamed.contains(&&shown.change.path[..])
        });
        all
    }

    fn texts(
        &self,
        shown: &Shown<'_>,
        reader: &mut ReaderState,
        options: HunkOptions,
    ) -> Result<Texts, Abort> {
        let change = shown.change;
        let (path, version) = match shown.source {
            Some(source) => (&source.path, Some(source.version)),
            None => (&change.path, change.old),
        };
        let old = changes::text(self.view, path, version, reader)?;
        let new = changes::text(self.view, &change.path, change.new, reader)?;
        let mut hunks = Vec::new();
        let looks_binary = !self.options.text && (old.contains(&0) || new.contains(&0));
        if old != new && !looks_binary {
            if self.options.xdiff {
                return Err(Abort::new("experimental.xdiff is not supported"));
            }
            push_hunks(&old, &new, &options, &mut hunks);
        }
        let has_hunks = !hunks.is_empty();
        let lines = self.lines.and_then(|lines| lines.get(&change.path));
        if let Some(lines) = lines.filter(|_| has_hunks) {
            hunks = touching(&hunks, lines);
        }
        Ok(Texts {
            old,
            new,
            hunks,
            has_hunks,
            looks_binary,
        })
    }

    fn push_file(&self, shown: &Shown<'_>, texts: &Texts, out: &mut Vec<u8>) -> Result<(), Abort> {
        let change = shown.change;
        let (a, b) = if self.options.no_prefix {
            ("", "")
        } else {
            ("a/", "b/")
        };
        let name =
            |prefix: &str, path: &[u8]| [prefix.as_bytes(), self.options.shown(path)].concat();
        let source = shown.source.map_or(&change.path, |source| &source.path);
        let has_content = texts.is_binary() || texts.has_hunks;
        if self.options.git {
            self.push_git_header(shown, &name(a, source), &name(b, &change.path), out);
        } else {
            self.push_header(&change.path, out);
        }
        let with_binary = texts.is_binary() && self.options.git && self.options.binary;
        if self.options.git
            && (with_binary || (self.options.index_digits > 0 && !texts.looks_binary))
        {
            self.push_index(shown, texts, with_binary, out)?;
        }
        if with_binary {
            push_literal(&texts.new, out);
        } else if texts.is_binary() {
            let path = self.options.shown(source);
            out.extend_from_slice(&[b"Binary file ", path, b" has changed\n"].concat());
        } else if has_content {
            let there = change.old.is_some() || shown.source.is_some();
            let old = match there {
                true => (name(a, source), self.dates.0),
                false => (b"/dev/null".to_vec(), Date::default()),
            };
            let new = match change.new {
                Some(_) => (name(b, &change.path), self.dates.1),
                None => (b"/dev/null".to_vec(), Date::default()),
            };
            self.push_name(b"--- ", &old.0, old.1, out);
            self.push_name(b"+++ ", &new.0, new.1, out);
            out.extend_from_slice(&texts.hunks);
        }
        Ok(())
    }

    fn push_name(&self, mark: &[u8], name: &[u8], date: Date, out: &mut Vec<u8>) {
        out.extend_from_slice(mark);
        out.extend_from_slice(name);
        if !self.options.git && !self.options.no_dates {
            out.push(b'\t');
            out.extend_from_slice(date.default_format().as_bytes());
        } else if name.contains(&b' ') {
            // So that a program sees where the name ends.
            out.push(b'\t');
        }
        out.push(b'\n');
    }

    /// `diff -r OLD -r NEW path`.
    fn push_header(&self, path: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"diff");
        for side in [self.sides.0, self.sides.1] {
            if let DiffSide::Rev(rev) = side {
                let node: Node = self.view.changelog().node_or_null(rev);
                out.extend_from_slice(b" -r ");
                out.extend_from_slice(&node.to_hex()[..self.digits]);
            }
        }
        out.extend_from_slice(&[b" ", self.options.shown(path), b"\n"].concat());
    }

    fn push_git_header(&self, shown: &Shown<'_>, a: &[u8], b: &[u8], out: &mut Vec<u8>) {
        let change = shown.change;
        let mut line = |parts: &[&[u8]]| {
            out.extend_from_slice(&parts.concat());
            out.push(b'\n');
        };
        line(&[b"diff --git ", a, b" ", b]);
        let before = shown.source.map(|source| source.version).or(change.old);
        match (before, change.new) {
            (None, Some(new)) => line(&[b"new file mode ", mode(new.kind)]),
            (Some(old), None) => line(&[b"deleted file mode ", mode(old.kind)]),
            (Some(old), Some(new)) if old.kind != new.kind => {
                line(&[b"old mode ", mode(old.kind)]);
                line(&[b"new mode ", mode(new.kind)]);
            }
            _ => {}
        }
        if let Some(source) = shown.source {
            let word: &[u8] = match shown.is_renamed {
                true => b"rename",
                false => b"copy",
            };
            line(&[word, b" from ", self.options.shown(&source.path)]);
            line(&[word, b" to ", self.options.shown(&change.path)]);
        }
    }

    /// The names that git has for both contents; nothing but zeros where there is none.
    fn push_index(
        &self,
        shown: &Shown<'_>,
        texts: &Texts,
        is_literal: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Abort> {
        let change = shown.change;
        let source = shown.source.map_or(&change.path, |source| &source.path);
        let before = shown.source.map(|source| source.version).or(change.old);
        let id = |side, path: &[u8], is_there: bool, text: &[u8]| -> Result<String, Abort> {
            let is_found = is_there && self.is_called(side, path)?;
            Ok(if is_found {
                blob_id(text)
            } else {
                "0".repeat(2 * Node::LEN)
            })
        };
        let old = id(self.sides.0, source, before.is_some(), &texts.old)?;
        let new = id(self.sides.1, &change.path, change.new.is_some(), &texts.new)?;
        let digits = if is_literal {
            2 * Node::LEN
        } else {
            self.options.index_digits
        };
        let line = [
            b"index ",
            &old.as_bytes()[..digits],
            b"..",
            &new.as_bytes()[..digits],
        ];
        out.extend_from_slice(&line.concat());
        if let (false, Some(version)) = (is_literal, before.or(change.new)) {
            out.push(b' ');
            out.extend_from_slice(mode(version.kind));
        }
        out.push(b'\n');
        Ok(())
    }

    /// Below another root, Mercurial looks for the name that is shown, and gives no name to the
    /// content of a file that has not this name from the repository's own root.
    fn is_called(&self, side: DiffSide, path: &[u8]) -> Result<bool, Abort> {
        let name = self.options.shown(path);
        if name.len() == path.len() {
            return Ok(true);
        }
        match side {
            DiffSide::Rev(rev) => {
                let text = self.view.manifest_text(rev)?;
                Ok(self.view.find_in_manifest(&text, name)?.is_some())
            }
            DiffSide::Working => {
                let item = self.dirstate.as_ref().and_then(|known| known.get(name));
                Ok(item.is_some_and(|item| item.is_tracked()))
            }
        }
    }
}

fn mode(kind: FileKind) -> &'static [u8] {
    match kind {
        FileKind::Plain => b"100644",
        FileKind::Executable => b"100755",
        FileKind::Symlink => b"120000",
    }
}

/// The result of a thread; its panic becomes ours.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(given) => given,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
