//! Output of `grep`.

use super::versions::Version;
use crate::arguments::Matches;
use crate::commands::local::commit::metadata;
use crate::context::{Config, Repo};
use crate::render::Formatter;
use crate::render::formatter::{Row, Value};
use crate::render::templates::short_user;
use crate::ui::{Abort, Ui};
use varve_lang::date::Date;
use varve_lang::patterns::{LineSearch, MatchedLine};
use varve_repo::{ChangedLine, Node, RepoView, Rev};
use varve_revset::WORKING_COPY;

/// A line to be printed.
pub(super) struct Hit<'t> {
    line: MatchedLine<'t>,
    /// With `--diff`, whether it was added.
    added: Option<bool>,
}

impl<'t> From<ChangedLine<'t>> for Hit<'t> {
    fn from(changed: ChangedLine<'t>) -> Hit<'t> {
        Hit {
            line: changed.line,
            added: Some(changed.is_added),
        }
    }
}

impl<'t> From<MatchedLine<'t>> for Hit<'t> {
    fn from(line: MatchedLine<'t>) -> Hit<'t> {
        Hit { line, added: None }
    }
}

/// The columns before a line that are asked for.
struct ShownColumns {
    rev: bool,
    number: bool,
    user: bool,
    date: bool,
    /// Whether only names are printed, and no lines.
    names_only: bool,
}

/// Facts about the version that is being searched.
#[derive(Default)]
struct VersionFacts {
    rev: Option<Rev>,
    node: Vec<u8>,
    user: Vec<u8>,
    date: Date,
}

/// Prints lines.
pub(super) struct Page {
    out: Formatter,
    columns: ShownColumns,
    /// Between fields, and at the end of each line.
    separators: (&'static [u8], &'static [u8]),
    relative: bool,
    facts: VersionFacts,
    found: bool,
}

impl Page {
    /// Gets ready to print.
    pub(super) fn new(
        repo: &Repo,
        matches: &Matches,
        shows_rev: bool,
        out: Formatter,
    ) -> Result<Page, Abort> {
        Ok(Page {
            columns: ShownColumns {
                rev: shows_rev,
                number: matches.flag("line-number"),
                user: matches.flag("user"),
                date: matches.flag("date"),
                names_only: matches.flag("files-with-matches"),
            },
            separators: match matches.flag("print0") {
                true => (b"\0", b"\0"),
                false => (b":", b"\n"),
            },
            relative: repo.uses_relative_paths(false)?,
            facts: VersionFacts::default(),
            found: false,
            out,
        })
    }

    /// Reads the facts about the next version.
    pub(super) fn begin(
        &mut self,
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        version: Version,
    ) -> Result<(), Abort> {
        let view = repo.view()?;
        self.facts = match version {
            Version::Working => self.of_working_copy(ui, config)?,
            Version::Stored(rev) => self.of_changeset(&view, rev)?,
        };
        Ok(())
    }

    fn of_working_copy(&self, ui: &mut Ui, config: &Config) -> Result<VersionFacts, Abort> {
        // A missing user matters only where it is shown.
        let user = match self.columns.user || !self.out.is_plain() {
            true => ui.username()?,
            false => Vec::new(),
        };
        let (time, zone) = metadata::default_date(config)?;
        Ok(VersionFacts {
            rev: Some(WORKING_COPY),
            node: vec![b'f'; 2 * Node::LEN],
            user,
            date: Date { time, zone },
        })
    }

    fn of_changeset(&self, view: &RepoView, rev: Rev) -> Result<VersionFacts, Abort> {
        let mut facts = VersionFacts {
            rev: Some(rev),
            node: view.changelog().node(rev).to_hex().to_vec(),
            ..VersionFacts::default()
        };
        view.with_changeset(rev, |changeset| {
            facts.user = changeset.user.to_vec();
            facts.date = Date {
                time: changeset.time,
                zone: changeset.zone,
            };
        })?;
        Ok(facts)
    }

    /// Prints the lines of one file, or only its name. Whether there was one.
    pub(super) fn print(
        &mut self,
        repo: &Repo,
        ui: &mut Ui,
        search: &LineSearch,
        path: &[u8],
        hits: &[Hit<'_>],
        is_text: bool,
    ) -> Result<bool, Abort> {
        for hit in hits {
            self.out.item(ui)?;
            self.out.about_file(self.facts.rev, path);
            self.print_columns(repo, ui, path, hit)?;
            if !self.columns.names_only {
                self.print_line(ui, search, &hit.line, is_text)?;
            }
            self.out.plain(ui, self.separators.1)?;
            if self.columns.names_only {
                break;
            }
        }
        self.found |= !hits.is_empty();
        Ok(!hits.is_empty())
    }

    fn print_columns(
        &mut self,
        repo: &Repo,
        ui: &mut Ui,
        path: &[u8],
        hit: &Hit<'_>,
    ) -> Result<(), Abort> {
        let shown = match self.relative {
            true => repo.relative_path(path)?,
            false => path.to_vec(),
        };
        self.out.data("node", &self.facts.node);
        self.out.data("path", path);
        self.out.data("rev", self.facts.rev);
        self.out.data("lineno", hit.line.number as i64);
        self.out.data("user", &self.facts.user);
        let date = self.facts.date;
        self.out.data("date", Value::Date(date.time, date.zone));
        self.out.plain_labelled(ui, "grep.filename", shown)?;
        let number = self
            .facts
            .rev
            .map_or(-1, |rev| i64::from(rev.0))
            .to_string();
        if self.columns.rev {
            self.column(ui, "grep.rev", number)?;
        }
        if self.columns.number {
            self.column(ui, "grep.linenumber", hit.line.number.to_string())?;
        }
        if let Some(added) = hit.added {
            let (change, labels) = match added {
                true => ("+", "grep.inserted grep.change"),
                false => ("-", "grep.deleted grep.change"),
            };
            self.out.data("change", change);
            self.column(ui, labels, change)?;
        }
        if self.columns.user {
            let user = match ui.verbosity.verbose {
                true => self.facts.user.clone(),
                false => short_user(&self.facts.user),
            };
            self.column(ui, "grep.user", user)?;
        }
        if self.columns.date {
            let shown = match ui.verbosity.quiet {
                true => date.format("%Y-%m-%d"),
                false => date.default_format(),
            };
            self.column(ui, "grep.date", shown)?;
        }
        Ok(())
    }

    fn column(&self, ui: &mut Ui, labels: &str, text: impl AsRef<[u8]>) -> Result<(), Abort> {
        self.out.plain_labelled(ui, "grep.sep", self.separators.0)?;
        self.out.plain_labelled(ui, labels, text)
    }

    fn print_line(
        &mut self,
        ui: &mut Ui,
        search: &LineSearch,
        line: &MatchedLine<'_>,
        is_text: bool,
    ) -> Result<(), Abort> {
        self.out.plain_labelled(ui, "grep.sep", self.separators.0)?;
        if !is_text {
            return self.out.plain(ui, " Binary file matches");
        }
        let mut chunks: Vec<(&[u8], bool)> = Vec::new();
        let mut at = 0;
        for range in search.matches_in(line) {
            chunks.push((&line.text[at..range.start], false));
            at = range.end;
            chunks.push((&line.text[range], true));
        }
        chunks.push((&line.text[at..], false));
        chunks.retain(|(text, _)| !text.is_empty());
        for (text, matched) in &chunks {
            let labels = if *matched { "grep.match" } else { "" };
            self.out.plain_labelled(ui, labels, text)?;
        }
        let texts = match self.out.is_template() {
            true => Value::Table(chunks.iter().map(row).collect(), ""),
            false => Value::List(chunks.iter().map(dictionary).collect()),
        };
        self.out.data("texts", texts);
        Ok(())
    }

    /// Behind the last line: the exit code.
    pub(super) fn end(self, ui: &mut Ui) -> Result<u8, Abort> {
        self.out.end(ui)?;
        Ok(u8::from(!self.found))
    }
}

fn parts((text, matched): &(&[u8], bool)) -> Vec<(Vec<u8>, Value)> {
    vec![
        (b"matched".to_vec(), Value::Bool(*matched)),
        (b"text".to_vec(), Value::from(*text)),
    ]
}

fn dictionary(chunk: &(&[u8], bool)) -> Value {
    Value::Dict(parts(chunk))
}

fn row(chunk: &(&[u8], bool)) -> Row {
    Row {
        name: chunk.0.to_vec(),
        shown: chunk.0.to_vec(),
        value: dictionary(chunk),
        parts: parts(chunk),
    }
}
