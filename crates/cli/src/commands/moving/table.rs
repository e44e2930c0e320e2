//! The table with which a move ends: what was moved, and what it saved.

use varve_docdb::{ChunkForm, ChunkStats};
use varve_hgcli::ui::{Abort, Ui};

const TITLES: [&str; 6] = [
    "database",
    "documents",
    "revisions",
    "attachments",
    "bytes before",
    "bytes after",
];

/// Bytes by codec or form.
pub(in crate::commands) type ByForm = Vec<(&'static str, u64)>;

/// Counts of one database.
#[derive(Debug, Default)]
pub(in crate::commands) struct Row {
    pub(in crate::commands) name: String,
    pub(in crate::commands) documents: u64,
    pub(in crate::commands) revisions: u64,
    pub(in crate::commands) attachments: u64,
    pub(in crate::commands) bytes_before: u64,
    pub(in crate::commands) bytes_after: u64,
    /// Bytes by form where the database was, as far as that is known.
    pub(in crate::commands) before: ByForm,
    /// Bytes by form where it is now.
    pub(in crate::commands) after: ByForm,
}

impl Row {
    fn counts(&self) -> [u64; 5] {
        [
            self.documents,
            self.revisions,
            self.attachments,
            self.bytes_before,
            self.bytes_after,
        ]
    }
}

/// Chunks and tree nodes of a database's file by their form.
pub(in crate::commands) fn by_form(chunks: &ChunkStats) -> ByForm {
    let forms = ChunkForm::ALL.into_iter();
    forms
        .map(|form| (form.name(), chunks.of(form).bytes))
        .collect()
}

/// Rows in the order in which they came.
#[derive(Debug)]
pub(in crate::commands) struct Table {
    pub(in crate::commands) rows: Vec<Row>,
    /// Names of what `before` and `after` of the rows count.
    pub(in crate::commands) forms: [&'static str; 2],
}

impl Table {
    pub(in crate::commands) fn of(forms: [&'static str; 2]) -> Table {
        Table {
            rows: Vec::new(),
            forms,
        }
    }

    /// Lines with a row for each database, their sums, and the bytes by form.
    pub(in crate::commands) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<Vec<String>> = vec![TITLES.map(str::to_owned).to_vec()];
        let mut sums = [0_u64; 5];
        for row in &self.rows {
            sums.iter_mut()
                .zip(row.counts())
                .for_each(|(sum, count)| *sum += count);
            lines.push(line(&row.name, &row.counts()));
        }
        lines.push(line(&format!("{} databases", self.rows.len()), &sums));
        let mut lines = aligned(&lines);
        let before = by_codec(self.rows.iter().map(|row| &row.before));
        let after = by_codec(self.rows.iter().map(|row| &row.after));
        for (title, bytes) in self.forms.into_iter().zip([before, after]) {
            if !title.is_empty() {
                lines.push(format!("{title}: {bytes}\n"));
            }
        }
        lines
    }

    pub(in crate::commands) fn write(&self, ui: &mut Ui) -> Result<(), Abort> {
        self.lines()
            .into_iter()
            .try_for_each(|line| ui.status(line))
    }

    /// The same on the standard error.
    pub(in crate::commands) fn warn(&self, ui: &mut Ui) -> Result<(), Abort> {
        self.lines().into_iter().try_for_each(|line| ui.warn(line))
    }
}

fn line(name: &str, counts: &[u64]) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    cells.extend(counts.iter().map(u64::to_string));
    cells
}

/// The first cells to the left, the others to the right, two blanks between columns.
fn aligned(lines: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
    let text = |line: &Vec<String>| {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0 => text.push_str(&format!("{cell:width$}")),
                _ => text.push_str(&format!("  {cell:>width$}")),
            }
        }
        text + "\n"
    };
    lines.iter().map(text).collect()
}

/// `snappy 123 bytes, none 4 bytes`, of the codecs that have any.
fn by_codec<'a>(rows: impl Iterator<Item = &'a Vec<(&'static str, u64)>>) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for (name, bytes) in rows.flatten() {
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += bytes,
            None => sums.push((name, *bytes)),
        }
    }
    let shown = sums.iter().filter(|(_, bytes)| *bytes > 0);
    let shown: Vec<_> = shown
        .map(|(name, bytes)| format!("{name} {bytes} bytes"))
        .collect();
    match shown.is_empty() {
        true => "none".to_owned(),
        false => shown.join(", "),
    }
}
