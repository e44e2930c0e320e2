//! Known values of the version of a file that a line comes from.

use super::columns::{COLUMNS, Column};
use crate::arguments::Matches;
use crate::commands::local::commit::metadata;
use crate::context::{Config, Repo};
use crate::render::Formatter;
use crate::render::formatter::Value;
use crate::render::templates::{SUBJECT, SUBJECT_PATH};
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use varve_lang::date::Date;
use varve_repo::{AnnotatedLine, FileVersion, Node, RepoView, Rev};
use varve_revset::WORKING_COPY;

/// Values to be found for each version.
pub(super) struct WantedColumns(Vec<Column>);

impl WantedColumns {
    /// The values that the columns or a template use.
    pub(super) fn new(columns: &[Column], out: &Formatter) -> WantedColumns {
        let names = out.names();
        let used = COLUMNS
            .iter()
            .filter(|(column, _, name)| columns.contains(column) || names.contains(name));
        WantedColumns(used.map(|(column, ..)| *column).collect())
    }

    fn has(&self, column: Column) -> bool {
        self.0.contains(&column)
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
        };
        match version.changeset {
            Some(rev) => source.fill(view, rev, wanted)?,
            None => source.fill_working(repo, ui, config, wanted)?,
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
        Ok(())
    }

    fn fill_working(
        &mut self,
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        wanted: &WantedColumns,
    ) -> Result<(), Abort> {
        if wanted.has(Column::User) {
            self.user = ui.username()?;
        }
        if wanted.has(Column::Date) {
            self.date = changed(repo, config, &self.path)?;
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
            let rev = self.rev.unwrap_or(WORKING_COPY);
            values.push((SUBJECT.to_vec(), Value::Changeset(Some(rev), Vec::new())));
            values.push((SUBJECT_PATH.to_vec(), Value::from(&self.path)));
        }
        Value::Dict(values)
    }

    fn number(&self) -> i64 {
        i64::from(self.rev.unwrap_or(WORKING_COPY).0)
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
