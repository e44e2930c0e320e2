//! Columns before each line.

use super::files::FileLocation;
use super::source::{LineOrigin, WantedColumns};
use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::render::Formatter;
use crate::render::formatter::Value;
use crate::render::templates::short_user;
use crate::ui::{Abort, Ui, Verbosity, columns};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;
use varve_repo::{AnnotatedLine, Annotation, Node, RepoView, Rev};

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    User,
    Number,
    Changeset,
    Date,
    File,
    Line,
}

/// All columns in their order, with the options that ask for them, and their names in templates.
pub(super) const COLUMNS: &[(Column, &str, &str)] = &[
    (Column::User, "user", "user"),
    (Column::Number, "number", "rev"),
    (Column::Changeset, "changeset", "node"),
    (Column::Date, "date", "date"),
    (Column::File, "file", "path"),
    (Column::Line, "line-number", "lineno"),
];

/// The columns that are asked for.
pub(super) struct Columns(Vec<Column>);

impl Columns {
    /// The columns that the options ask for.
    pub(super) fn new(matches: &Matches) -> Result<Columns, Abort> {
        let mut asked: Vec<Column> = Vec::new();
        for (column, option, _) in COLUMNS {
            let follow = *column == Column::File && matches.flag("follow");
            if matches.flag(option) || follow {
                asked.push(*column);
            }
        }
        if asked.iter().all(|column| *column == Column::Line) {
            asked.insert(0, Column::Number);
        }
        let is_place = |column: &Column| matches!(column, Column::Number | Column::Changeset);
        if asked.contains(&Column::Line) && !asked.iter().any(is_place) {
            return Err(Abort::input("at least one of -n/-c is required for -l"));
        }
        Ok(Columns(asked))
    }
}

/// Prints annotated files.
pub(super) struct Page {
    pub(super) view: Arc<RepoView>,
    verbosity: Verbosity,
    columns: Vec<Column>,
    /// Values that a column or a template uses.
    wanted: WantedColumns,
    place: FileLocation,
    /// First parent of the working copy.
    parent: Option<Rev>,
}

impl Page {
    /// Gets ready.
    pub(super) fn new(
        repo: &mut Repo,
        ui: &mut Ui,
        columns: Columns,
        place: FileLocation,
        out: &Formatter,
    ) -> Result<Page, Abort> {
        Ok(Page {
            view: repo.view()?,
            verbosity: ui.verbosity,
            wanted: WantedColumns::new(&columns.0, out),
            columns: columns.0,
            place,
            parent: repo.working_parents()?.first().copied(),
        })
    }

    /// Prints those lines of one file, counted from 0, of which `is_shown` is true.
    pub(super) fn print(
        &self,
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        out: &mut Formatter,
        (content, annotation): (&[u8], &Annotation),
        is_shown: impl Fn(usize) -> bool,
    ) -> Result<(), Abort> {
        let mut sources = HashMap::new();
        for line in &annotation.lines {
            if let Entry::Vacant(place) = sources.entry(line.version) {
                let version = &annotation.versions[line.version];
                place.insert(LineOrigin::of(
                    repo,
                    ui,
                    config,
                    &self.view,
                    version,
                    &self.wanted,
                )?);
            }
        }
        let lines = content.split_inclusive(|byte| *byte == b'\n');
        let lines = lines.zip(&annotation.lines).enumerate();
        let lines = lines.filter(|(at, _)| is_shown(*at)).map(|(_, line)| line);
        let lines: Vec<(&[u8], &AnnotatedLine)> = lines.collect();
        if !out.is_plain() {
            let in_template = out.is_template();
            let items = lines.iter().map(|(text, line)| {
                sources[&line.version].line(text, line, &self.wanted, in_template)
            });
            let items: Vec<Value> = items.collect();
            out.data("lines", items);
            return Ok(());
        }
        self.print_lines(ui, out, lines.iter().copied(), &sources)?;
        let ended = lines.last().is_none_or(|(text, _)| text.ends_with(b"\n"));
        out.plain(ui, if ended { "" } else { "\n" })
    }

    fn print_lines<'t>(
        &self,
        ui: &mut Ui,
        out: &Formatter,
        lines: impl Iterator<Item = (&'t [u8], &'t AnnotatedLine)> + Clone,
        sources: &HashMap<usize, LineOrigin>,
    ) -> Result<(), Abort> {
        let mut cells: HashMap<(usize, usize), Rc<[u8]>> = HashMap::new();
        let mut widths = vec![0; self.columns.len()];
        let mut rows = Vec::new();
        for (text, line) in lines {
            let mut row = Vec::new();
            for (place, column) in self.columns.iter().enumerate() {
                let cell = || Rc::from(self.cell(*column, &sources[&line.version], line));
                let cell: Rc<[u8]> = if *column == Column::Line {
                    cell()
                } else {
                    let known = cells.entry((line.version, place));
                    known.or_insert_with(cell).clone()
                };
                widths[place] = widths[place].max(columns::width(&cell));
                row.push(cell);
            }
            rows.push((text, line.skipped, row));
        }
        let mut shown = Vec::new();
        for (text, skipped, row) in rows {
            shown.clear();
            for (place, cell) in row.iter().enumerate() {
                if place > 0 {
                    let is_line = self.columns[place] == Column::Line;
                    shown.push(if is_line { b':' } else { b' ' });
                }
                shown.extend_from_slice(columns::padding(cell, widths[place]).as_bytes());
                shown.extend_from_slice(cell);
            }
            shown.extend_from_slice(if skipped { b"* " } else { b": " });
            shown.extend_from_slice(text);
            out.plain(ui, &shown)?;
        }
        Ok(())
    }

    /// The text of one column for one line.
    fn cell(&self, column: Column, source: &LineOrigin, line: &AnnotatedLine) -> Vec<u8> {
        let numbered = self.columns.contains(&Column::Changeset) && column == Column::Number;
        let marked = |mut text: Vec<u8>| {
            match (self.place, source.rev) {
                // One mark is enough.
                _ if numbered => {}
                (FileLocation::Working, None) => text.push(b'+'),
                (FileLocation::Working, Some(_)) => text.push(b' '),
                (FileLocation::Stored(_), _) => {}
            }
            text
        };
        let rev = source.rev.or(self.parent);
        match column {
            Column::User if self.verbosity.verbose => source.user.clone(),
            Column::User => short_user(&source.user),
            Column::Number => {
                let number = rev.map_or(-1, |rev| i64::from(rev.0));
                marked(number.to_string().into_bytes())
            }
            Column::Changeset => {
                let digits = if self.verbosity.debug {
                    2 * Node::LEN
                } else {
                    12
                };
                let node = self.view.changelog().node_or_null(rev);
                marked(node.to_hex()[..digits].to_vec())
            }
            Column::Date if self.verbosity.quiet => source.date.format("%Y-%m-%d").into_bytes(),
            Column::Date => source.date.default_format().into_bytes(),
            Column::File => source.path.clone(),
            Column::Line => (line.line + 1).to_string().into_bytes(),
        }
    }
}
