//! Known values of the version of a file that a line comes from.

use super::columns::{COLUMNS, Column};
use crate::arguments::Matches;
use crate::commands::local::commit::metadata;
use crate::context::{Config, Repo};
use crate::render::Formatter;
use crate::render::changesets::{Printer, PrinterStyle};
use crate::render::formatter::{HIDDEN, Value};
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use varve_lang::date::Date;
use varve_repo::{AnnotatedLine, FileVersion, Node, RepoView, Rev};

/// The number of the working copy, where it counts as a changeset.
const WORKING: i64 = 0x7fff_ffff;

/// Values to be found for each version.
pub(super) struct WantedColumns {
    columns: Vec<Column>,
    /// Further keywords of a template, and the printer that fills them.
    keywords: Vec<String>,
    printer: Option<Printer>,
}

impl WantedColumns {
    /// The values that the columns or a template use.
    pub(super) fn new(
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        columns: &[Column],
        out: &Formatter,
    ) -> Result<WantedColumns, Abort> {
        let names = out.names();
        let of_lines = |wanted: &str| COLUMNS.iter().find(|(_, _, name)| *name == wanted);
        let used = COLUMNS
            .iter()
            .filter(|(column, _, name)| columns.contains(column) || names.contains(name));
        let columns = used.map(|(column, ..)| *column).collect();
        let others = names
            .iter()
            .filter(|name| of_lines(name).is_none() && !["line", "lines"].contains(name));
        let keywords: Vec<String> = others.map(|name| (*name).to_owned()).collect();
        let printer = match keywords[..] {
            [] => None,
            _ => Some(Printer::new(repo, ui, config, PrinterStyle::default())?),
        };
        Ok(WantedColumns {
            columns,
            keywords,
            printer,
        })
    }

    fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }
}

/// One version of a file.
pub(super) struct LineOrigin {
    /// `None` for the working copy.
    pub(super) rev: Option<Rev>,
    node: Node,
    pub(super) path: Vec<u8>,
    pub(super) user: Vec<u8>,
    pub(super) date: Date,
    /// Further keywords with their values.
    values: Vec<(Vec<u8>, Value)>,
}

impl LineOrigin {
    /// Finds the wanted values of a version.
    pub(super) fn of(
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        view: &RepoView,
        version: &FileVersion,
        wanted: &WantedColumns,
    ) -> Result<LineOrigin, Abort> {
        let mut source = LineOrigin {
            rev: version.changeset,
            node: view.changelog().node_or_null(version.changeset),
            path: version.path.clone(),
            user: Vec::new(),
            date: Date::default(),
            values: Vec::new(),
        };
        match version.changeset {
            Some(rev) => source.fill(view, rev, wanted)?,
            None => source.fill_working(repo, ui, config, view, wanted)?,
        }
        Ok(source)
    }

    fn fill(&mut self, view: &RepoView, rev: Rev, wanted: &WantedColumns) -> Result<(), Abort> {
        if wanted.has(Column::User) || wanted.has(Column::Date) {
            view.with_changeset(rev, |changeset| {
                self.user = changeset.user.to_vec();
                self.date = Date {
                    time: changeset.time,
                    zone: changeset.zone,
                };
            })?;
        }
        for name in wanted.keywords.iter() {
            let printer = wanted.printer.as_ref();
            let value = printer.map(|printer| printer.keyword(rev, name));
            if let Some(value) = value.transpose()?.flatten() {
                self.values.push((hidden(name), value));
            }
        }
        Ok(())
    }

    fn fill_working(
        &mut self,
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        view: &RepoView,
        wanted: &WantedColumns,
    ) -> Result<(), Abort> {
        if wanted.has(Column::User) {
            self.user = ui.username()?;
        }
        if wanted.has(Column::Date) {
            self.date = changed(repo, config, &self.path)?;
        }
        for name in wanted.keywords.iter() {
            let value = match name.as_str() {
                "author" => Value::from(ui.username()?),
                "branch" => Value::from(repo.working_branch()?),
                "desc" => Value::from(""),
                other => {
                    let (printer, tip) = (wanted.printer.as_ref(), view.tip());
                    let known = printer
                        .zip(tip)
                        .map(|(printer, tip)| printer.keyword(tip, other));
                    if known.transpose()?.flatten().is_none() {
                        continue;
                    }
                    return Err(Abort::input(format!(
                        "template keyword '{other}' is not supported for the working directory"
                    )));
                }
            };
            self.values.push((hidden(name), value));
        }
        Ok(())
    }

    /// One of its lines, for programs.
    pub(super) fn line(
        &self,
        text: &[u8],
        line: &AnnotatedLine,
        wanted: &WantedColumns,
        in_template: bool,
    ) -> Value {
        let mut values = vec![(b"line".to_vec(), Value::from(text))];
        for (column, _, name) in COLUMNS {
            if wanted.has(*column) {
                let value = self.value(*column, line, in_template);
                values.push((name.as_bytes().to_vec(), value));
            }
        }
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        if in_template {
            // The text of a line that is printed whole.
            let shown = [self.number().to_string().as_bytes(), b": ", text].concat();
            values.push((Vec::new(), Value::from(shown)));
            values.extend(self.values.iter().cloned());
        }
        Value::Dict(values)
    }

    fn number(&self) -> i64 {
        self.rev.map_or(WORKING, |rev| i64::from(rev.0))
    }

    fn value(&self, column: Column, line: &AnnotatedLine, in_template: bool) -> Value {
        match column {
            Column::User => Value::from(&self.user),
            Column::Number => Value::Int(self.number()),
            Column::Changeset if self.rev.is_none() => Value::from("f".repeat(2 * Node::LEN)),
            Column::Changeset => Value::from(self.node),
            // Mercurial has seconds with a fraction here, except for files in the working copy.
            Column::Date if !in_template && self.rev.is_some() => Value::List(vec![
                Value::Float(self.date.time as f64),
                Value::Int(i64::from(self.date.zone)),
            ]),
            Column::Date => Value::Date(self.date.time, self.date.zone),
            Column::File => Value::from(&self.path),
            Column::Line => Value::Int(line.line as i64 + 1),
        }
    }
}

/// The name of an entry that is no data of the line.
fn hidden(name: &str) -> Vec<u8> {
    [&[HIDDEN], name.as_bytes()].concat()
}

/// When a file of the working copy was written, in the zone of a commit that is made now.
fn changed(repo: &Repo, config: &Config, path: &[u8]) -> Result<Date, Abort> {
    let file = repo.root()?.join(OsStr::from_bytes(path));
    let found = file.symlink_metadata();
    let found = found.map_err(|error| Abort::file(&error, file))?;
    let (_, zone) = metadata::date(config, &Matches::default())?;
    Ok(Date {
        time: found.mtime(),
        zone,
    })
}
