//! Differences between changesets, or of the working folder, in Mercurial's two forms.

mod changes;
mod stat;
mod unified;

use super::{Abort, Flag, Matches, Session};
pub(crate) use changes::{Change, Side, between, with_working};
pub(crate) use stat::FileStat;
use varve_repo::date::Date;
use varve_repo::{FileKind, Node, RepoView, Rev};

/// How differences are shown.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The form that git has.
    pub(crate) git: bool,
    /// Lines around each difference.
    pub(crate) context: usize,
    /// Without dates behind the names.
    pub(crate) no_dates: bool,
    /// Without `a/` and `b/`.
    pub(crate) no_prefix: bool,
    /// All files are texts.
    pub(crate) text: bool,
    /// With the name of the function.
    pub(crate) functions: bool,
    /// `-w`.
    pub(crate) ignore_all_space: bool,
    /// `-b`.
    pub(crate) ignore_space_change: bool,
    /// `-B`.
    pub(crate) ignore_blank_lines: bool,
    /// `-Z`.
    pub(crate) ignore_space_at_end: bool,
}

/// `-g`.
pub(crate) const GIT: Flag = Flag::flag('g', "git", "in the extended form that git has");
/// `--stat`.
pub(crate) const STAT: Flag = Flag::long_flag("stat", "how much changed in each file");

/// Lines around a difference if nobody says.
const CONTEXT: usize = 3;

impl Options {
    /// What the options and the configuration say.
    pub(crate) fn new(session: &Session, matches: &Matches) -> Result<Options, Abort> {
        let config = &session.config;
        let flag = |option: &str, key: &str| -> Result<bool, Abort> {
            match matches.switch(option) {
                Some(on) => Ok(on),
                None => Ok(config.boolean("diff", key, false)?),
            }
        };
        let context = matches.value("unified").or(config.get("diff", "unified"));
        let context = match context {
            None => CONTEXT,
            Some(text) => {
                let shown = String::from_utf8_lossy(text);
                let number = shown.parse::<i64>().map(|number| number.max(0) as usize);
                let wrong = || {
                    Abort::new(format!(
                        "diff context lines count must be an integer, not '{shown}'"
                    ))
                };
                number.map_err(|_| wrong())?
            }
        };
        Ok(Options {
            git: flag("git", "git")?,
            context,
            no_dates: flag("nodates", "nodates")?,
            no_prefix: flag("noprefix", "noprefix")?,
            text: matches.flag("text"),
            functions: flag("show-function", "showfunc")?,
            ignore_all_space: flag("ignore-all-space", "ignorews")?,
            ignore_space_change: flag("ignore-space-change", "ignorewsamount")?,
            ignore_blank_lines: flag("ignore-blank-lines", "ignoreblanklines")?,
            ignore_space_at_end: flag("ignore-space-at-eol", "ignorewseol")?,
        })
    }
}

/// Two sides with what their headers say.
pub(crate) struct Comparison<'a> {
    /// The repository.
    pub(crate) view: &'a RepoView,
    /// Before and after.
    pub(crate) sides: (Side, Side),
    /// How it is shown.
    pub(crate) options: &'a Options,
    /// Digits of nodes in headers.
    pub(crate) digits: usize,
    /// Dates of both sides; that of the working folder is now.
    dates: (Date, Date),
}

impl<'a> Comparison<'a> {
    /// Gets ready to compare.
    pub(crate) fn new(
        view: &'a RepoView,
        sides: (Side, Side),
        options: &'a Options,
        digits: usize,
    ) -> Result<Comparison<'a>, Abort> {
        let date = |side: Side| -> Result<Date, Abort> {
            match side {
                Side::Rev(Some(rev)) => Ok(view.with_changeset(rev, |changeset| Date {
                    time: changeset.time,
                    zone: changeset.zone,
                })?),
                Side::Rev(None) => Ok(Date::default()),
                Side::Working => Ok(super::clock::clock().date()),
            }
        };
        Ok(Comparison {
            view,
            sides,
            options,
            digits,
            dates: (date(sides.0)?, date(sides.1)?),
        })
    }

    /// Appends the differences of all files.
    pub(crate) fn push_all(&self, changes: &[Change], out: &mut Vec<u8>) -> Result<(), Abort> {
        for change in self.shown(changes) {
            let (hunks, binary) = self.hunks(&change)?;
            self.push_file(&change, &hunks, binary, out);
        }
        Ok(())
    }

    /// Counts the lines of all files.
    pub(crate) fn stats(&self, changes: &[Change]) -> Result<Vec<FileStat>, Abort> {
        let mut stats = Vec::new();
        for change in self.shown(changes) {
            let (hunks, binary) = self.hunks(&change)?;
            if !hunks.is_empty() || binary || self.options.git {
                stats.push(FileStat::of(&change.path, &hunks, binary));
            }
        }
        Ok(stats)
    }

    /// Appends the counts as a picture.
    pub(crate) fn push_stat(
        &self,
        changes: &[Change],
        width: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Abort> {
        stat::push(&self.stats(changes)?, width, out);
        Ok(())
    }

    /// In git's form a file that was renamed is one change.
    fn shown(&self, changes: &[Change]) -> Vec<Change> {
        let mut shown = changes.to_vec();
        if !self.options.git {
            shown.iter_mut().for_each(|change| change.source = None);
            return shown;
        }
        let is_gone = |path: &[u8]| {
            changes
                .iter()
                .any(|change| change.path == path && change.new.is_none())
        };
        let sources: Vec<Vec<u8>> = changes
            .iter()
            .filter_map(|change| change.source.clone())
            .collect();
        shown.retain(|change| change.new.is_some() || !sources.contains(&change.path));
        // Only the first of several copies takes the place of what is gone.
        let mut renamed: Vec<Vec<u8>> = Vec::new();
        for change in &mut shown {
            if let Some(source) = &change.source
                && is_gone(source)
                && !renamed.contains(source)
            {
                renamed.push(source.clone());
                change.old = None;
            }
        }
        shown
    }

    /// The hunks, and whether the file is no text.
    fn hunks(&self, change: &Change) -> Result<(Vec<u8>, bool), Abort> {
        let old = match &change.source {
            Some(source) => {
                let from = self.source_version(source)?;
                changes::text(self.view, source, from)?
            }
            None => changes::text(self.view, &change.path, change.old)?,
        };
        let new = changes::text(self.view, &change.path, change.new)?;
        let mut hunks = Vec::new();
        if old == new {
            return Ok((hunks, false));
        }
        let binary = !self.options.text && (old.contains(&0) || new.contains(&0));
        if !binary {
            unified::push_hunks(&old, &new, self.options, &mut hunks);
        }
        Ok((hunks, binary))
    }

    fn source_version(&self, source: &[u8]) -> Result<Option<changes::Version>, Abort> {
        let Side::Rev(rev) = self.sides.0 else {
            return Ok(None);
        };
        let text = self.view.manifest_text(rev)?;
        let entry = self.view.find_in_manifest(&text, source)?;
        Ok(entry.map(|entry| changes::Version {
            content: changes::Content::Stored(entry.node),
            kind: entry.kind,
        }))
    }

    fn push_file(&self, change: &Change, hunks: &[u8], binary: bool, out: &mut Vec<u8>) {
        let (a, b) = if self.options.no_prefix {
            ("", "")
        } else {
            ("a/", "b/")
        };
        let name = |prefix: &str, path: &[u8]| [prefix.as_bytes(), path].concat();
        let source = change.source.as_ref().unwrap_or(&change.path);
        if self.options.git {
            self.push_git_header(change, &name(a, source), &name(b, &change.path), out);
        } else if !hunks.is_empty() || binary {
            self.push_header(&change.path, out);
        }
        if binary {
            out.extend_from_slice(&[b"Binary file ", &change.path[..], b" has changed\n"].concat());
        } else if !hunks.is_empty() {
            let there = change.old.is_some() || change.source.is_some();
            let old = if there {
                name(a, source)
            } else {
                b"/dev/null".to_vec()
            };
            let (new, new_date) = match change.new {
                Some(_) => (name(b, &change.path), self.dates.1),
                None => (b"/dev/null".to_vec(), Date::default()),
            };
            let old_date = if there { self.dates.0 } else { Date::default() };
            self.push_name(b"--- ", &old, old_date, out);
            self.push_name(b"+++ ", &new, new_date, out);
            out.extend_from_slice(hunks);
        }
    }

    fn push_name(&self, mark: &[u8], name: &[u8], date: Date, out: &mut Vec<u8>) {
        out.extend_from_slice(mark);
        out.extend_from_slice(name);
        if !self.options.git && !self.options.no_dates {
            out.push(b'\t');
            out.extend_from_slice(date.usual().as_bytes());
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
            if let Side::Rev(rev) = side {
                let node: Node = self.view.changelog().node_or_null(rev);
                out.extend_from_slice(b" -r ");
                out.extend_from_slice(&node.to_hex()[..self.digits]);
            }
        }
        out.extend_from_slice(&[b" ", path, b"\n"].concat());
    }

    fn push_git_header(&self, change: &Change, a: &[u8], b: &[u8], out: &mut Vec<u8>) {
        let mut line = |parts: &[&[u8]]| {
            out.extend_from_slice(&parts.concat());
            out.push(b'\n');
        };
        line(&[b"diff --git ", a, b" ", b]);
        match (&change.source, change.old, change.new) {
            (Some(source), _, _) => {
                let gone = change.old.is_none() && self.is_gone(source);
                let word: &[u8] = if gone { b"rename" } else { b"copy" };
                line(&[word, b" from ", source]);
                line(&[word, b" to ", &change.path]);
            }
            (None, None, Some(new)) => line(&[b"new file mode ", mode(new.kind)]),
            (None, Some(old), None) => line(&[b"deleted file mode ", mode(old.kind)]),
            (None, Some(old), Some(new)) if old.kind != new.kind => {
                line(&[b"old mode ", mode(old.kind)]);
                line(&[b"new mode ", mode(new.kind)]);
            }
            _ => {}
        }
    }

    /// Whether a source is not on the newer side.
    fn is_gone(&self, source: &[u8]) -> bool {
        match self.sides.1 {
            Side::Rev(rev) => {
                let there = self
                    .view
                    .manifest_text(rev)
                    .and_then(|text| Ok(self.view.find_in_manifest(&text, source)?.is_some()));
                matches!(there, Ok(false))
            }
            Side::Working => varve_workdir::WorkingFiles::new(self.view.root())
                .look(source)
                .is_ok_and(|found| found.is_none()),
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

/// The change that one changeset made, against its first parent.
pub(crate) fn of_changeset<'a>(
    view: &'a RepoView,
    rev: Rev,
    options: &'a Options,
    digits: usize,
    matcher: &varve_repo::patterns::Matcher,
) -> Result<(Comparison<'a>, Vec<Change>), Abort> {
    let parent = view.changelog().parents(rev)[0];
    let sides = (Side::Rev(parent), Side::Rev(Some(rev)));
    let comparison = Comparison::new(view, sides, options, digits)?;
    Ok((comparison, between(view, parent, Some(rev), matcher)?))
}
