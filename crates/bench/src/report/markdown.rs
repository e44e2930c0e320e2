//! A report in Markdown, for an issue or a page of documentation.

use super::{Column, ColumnUnit, Report, ResultTable};

/// A heading, the machine and the properties, the tables, and the notes as a list.
pub fn markdown(report: &Report) -> String {
    let mut out = format!(
        "## {}\n\n{}\n",
        escaped(&report.title),
        escaped(&report.machine.to_string())
    );
    for (name, value) in &report.properties {
        out.push_str(&format!("- {name}: {}\n", escaped(value)));
    }
    for table in &report.tables {
        push_table(&mut out, table);
    }
    for snippet in &report.snippets {
        let (title, lines) = (escaped(&snippet.title), snippet.lines.join("\n"));
        out.push_str(&format!("\n{title}\n\n```\n{lines}\n```\n"));
    }
    if !report.notes.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        out.push_str(&format!("- {}\n", escaped(note)));
    }
    out
}

fn push_table(out: &mut String, table: &ResultTable) {
    out.push_str(&format!("\n{}\n\n", escaped(&table.title)));
    let heads: Vec<String> = table
        .columns
        .iter()
        .map(|column| escaped(&column.title()))
        .collect();
    out.push_str(&format!("| {} |\n", heads.join(" | ")));
    let rule = |column: &Column| match column.unit {
        ColumnUnit::Text => "---",
        _ => "---:",
    };
    let rules: Vec<&str> = table.columns.iter().map(rule).collect();
    out.push_str(&format!("| {} |\n", rules.join(" | ")));
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns);
        let cells: Vec<String> = cells
            .map(|(cell, column)| escaped(&cell.for_people(column.unit)))
            .collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

/// No character ends a cell or begins HTML.
fn escaped(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;");
    text.replace(['\n', '\r'], " ")
        .replace('*', "\\*")
        .replace('`', "\\`")
}
