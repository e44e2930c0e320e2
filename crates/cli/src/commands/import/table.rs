//! The table with which an import ends: what came, and what the move saved.

use varve_docdb::ChunkForm;
use varve_hgcli::ui::{Abort, Ui};
use varve_replicate::Imported;

const TITLES: [&str; 6] = [
    "database",
    "documents",
    "revisions",
    "attachments",
    "bytes before",
    "bytes after",
];

/// Counts of one database.
#[derive(Debug)]
pub(super) struct Row {
    name: String,
    counts: [u64; 5],
    /// Bytes by codec: in the files of CouchDB, and in the new one.
    before: Vec<(&'static str, u64)>,
    after: Vec<(&'static str, u64)>,
}

impl Row {
    pub(super) fn of(name: &str, done: &Imported) -> Row {
        let loaded = &done.loaded;
        let before = done.source_bodies.iter();
        let after = ChunkForm::ALL.into_iter();
        Row {
            name: name.to_owned(),
            counts: [
                loaded.documents,
                loaded.revisions,
                loaded.attachments,
                done.source_bytes,
                loaded.file_bytes,
            ],
            before: before.map(|(form, bytes)| (form.name(), *bytes)).collect(),
            after: after
                .map(|form| (form.name(), loaded.chunks.of(form).bytes))
                .collect(),
        }
    }
}

/// Rows in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
}

impl Table {
    pub(super) fn write(&self, ui: &mut Ui) -> Result<(), Abort> {
        let mut lines: Vec<Vec<String>> = vec![TITLES.map(str::to_owned).to_vec()];
        let mut sums = [0_u64; 5];
        for row in &self.rows {
            sums.iter_mut()
                .zip(row.counts)
                .for_each(|(sum, count)| *sum += count);
            lines.push(line(&row.name, &row.counts));
        }
        lines.push(line(&format!("{} databases", self.rows.len()), &sums));
        for text in aligned(&lines) {
            ui.status(text)?;
        }
        let before = by_codec(self.rows.iter().map(|row| &row.before));
        let after = by_codec(self.rows.iter().map(|row| &row.after));
        ui.status(format!(
            "bodies before: {before}\nall chunks after: {after}\n"
        ))
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
