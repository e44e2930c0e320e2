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
    if !report.notes.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        out.push_str(note);
        out.push('\n');
    }
    out
}

/// Columns as wide as their widest cell, two spaces apart; words to the left, numbers to the right.
fn push_table(out: &mut String, table: &ResultTable) {
    out.push_str(&format!("{}\n", table.title));
    let heads = table.columns.iter().map(super::Column::title).collect();
    let mut lines: Vec<Vec<String>> = vec![heads];
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns);
        lines.push(
            cells
                .map(|(cell, column)| cell.for_people(column.unit))
                .collect(),
        );
    }
    let width = |index: usize| {
        let lens = lines.iter().map(|line| line[index].chars().count());
        lens.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    for line in &lines {
        let mut text = String::new();
        for ((cell, column), width) in line.iter().zip(&table.columns).zip(&widths) {
            if !text.is_empty() {
                text.push_str("  ");
            }
            text.push_str(&match column.unit {
                ColumnUnit::Text => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}
