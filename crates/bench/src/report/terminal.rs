//! A report as text for a terminal.

use super::{ColumnUnit, Report, ResultTable};

/// Title, machine and properties, the tables, and the notes.
pub fn terminal(report: &Report) -> String {
    let mut out = format!("{}\n{}\n", report.title, report.machine);
    for (name, value) in &report.properties {
        out.push_str(&format!("{name}: {value}\n"));
    }
    for table in &report.tables {
        out.push('\n');
        push_table(&mut out, table);
    }
    for snippet in &report.snippets {
        out.push_str(&format!(
            "\n{}\n{}\n",
            snippet.title,
            snippet.lines.join("\n")
        ));
    }
    if !report.notes.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        out.push_str(note);
        out.push('\n');
    }
    out
}

/// A wider table is printed in parts, each with the columns of words in front.
const WIDEST: usize = 120;

/// Columns as wide as their widest cell, two spaces apart; words to the left, numbers to the right.
fn push_table(out: &mut String, table: &ResultTable) {
    out.push_str(&format!("{}\n", table.title));
    let heads = table.columns.iter().map(super::Column::title).collect();
    let mut lines: Vec<Vec<String>> = vec![heads];
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns);
        let cells = cells.map(|(cell, column)| cell.for_people(column.unit));
        lines.push(cells.collect());
    }
    let width = |index: usize| {
        let lens = lines.iter().map(|line| line[index].chars().count());
        lens.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    for (number, part) in parts(table, &widths).iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        for line in &lines {
            push_line(out, table, (line, &widths), part);
        }
    }
}

/// The columns of each part.
fn parts(table: &ResultTable, widths: &[usize]) -> Vec<Vec<usize>> {
    let is_text = |index: &usize| table.columns[*index].unit == ColumnUnit::Text;
    let words: Vec<usize> = (0..widths.len()).take_while(is_text).collect();
    let len = |part: &[usize]| part.iter().map(|index| widths[*index] + 2).sum::<usize>();
    let mut parts = vec![words.clone()];
    for (index, width) in widths.iter().enumerate().skip(words.len()) {
        let last = parts.len() - 1;
        let is_full = len(&parts[last]) + width > WIDEST;
        if is_full && parts[last].len() > words.len() {
            parts.push(words.clone());
        }
        let last = parts.len() - 1;
        parts[last].push(index);
    }
    parts
}

fn push_line(
    out: &mut String,
    table: &ResultTable,
    (line, widths): (&[String], &[usize]),
    part: &[usize],
) {
    let mut text = String::new();
    for (number, index) in part.iter().enumerate() {
        if number > 0 {
            text.push_str("  ");
        }
        let (cell, width) = (&line[*index], widths[*index]);
        text.push_str(&match table.columns[*index].unit {
            ColumnUnit::Text => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
    }
    out.push_str(text.trim_end());
    out.push('\n');
}
