//! A report as comma-separated values (RFC 4180, with LF).

use super::{Cell, Report, ResultTable};
use crate::measuring::Samples;

/// The tables, an empty line between two; a measured column becomes three: median, low and high.
pub fn csv(report: &Report) -> String {
    let tables: Vec<String> = report.tables.iter().map(one).collect();
    tables.join("\n")
}

fn one(table: &ResultTable) -> String {
    let is_measured = |index: usize| {
        let mut cells = table.rows.iter().map(|row| &row[index]);
        cells.any(|cell| matches!(cell, Cell::Measured(_)))
    };
    let measured: Vec<bool> = (0..table.columns.len()).map(is_measured).collect();
    let mut heads = Vec::new();
    for (column, is_measured) in table.columns.iter().zip(&measured) {
        match is_measured {
            true => {
                heads.extend(["median", "low", "high"].map(|of| format!("{}_{of}", column.name)))
            }
            false => heads.push(column.name.to_owned()),
        }
    }
    let mut out = line(&heads);
    for row in &table.rows {
        let mut fields = Vec::new();
        for (cell, is_measured) in row.iter().zip(&measured) {
            match (cell, is_measured) {
                (Cell::Measured(samples), _) => fields.extend(spread(samples)),
                (_, true) => fields.extend([const { String::new() }; 3]),
                (Cell::Empty, false) => fields.push(String::new()),
                (Cell::Text(text), false) => fields.push(text.clone()),
                (Cell::Number(number), false) => fields.push(number.to_string()),
            }
        }
        out.push_str(&line(&fields));
    }
    out
}

fn spread(samples: &Samples) -> [String; 3] {
    let (low, high) = samples.range();
    [samples.median(), low, high].map(|number| number.to_string())
}

fn line(fields: &[String]) -> String {
    let quoted = fields
        .iter()
        .map(|field| match field.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.clone(),
        });
    let mut line = quoted.collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}
