//! A report as one JSON object.

use super::{Cell, Report, ResultTable};
use serde_json::{Map, Value, json as value};

/// Machine, properties, tables and notes; measured cells have `median`, `low`, `high` and all runs.
pub fn json(report: &Report) -> String {
    let machine = &report.machine;
    let properties: Map<String, Value> = report
        .properties
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Value::from(text.as_str())))
        .collect();
    let tables: Map<String, Value> = report
        .tables
        .iter()
        .map(|table| (table.name.to_owned(), table_value(table)))
        .collect();
    let snippets = report.snippets.iter().map(|snippet| {
        value!({
            "title": snippet.title,
            "lines": snippet.lines,
        })
    });
    let whole = value!({
        "title": report.title,
        "machine": {
            "processor": machine.processor,
            "cores": machine.cores,
            "memory": machine.memory,
            "system": machine.system,
            "load_before": machine.load_before,
        },
        "version": env!("CARGO_PKG_VERSION"),
        "runs": report.runs,
        "interrupted": report.is_cut_short,
        "properties": properties,
        "tables": tables,
        "snippets": snippets.collect::<Vec<_>>(),
        "notes": report.notes,
    });
    format!("{whole:#}\n")
}

fn table_value(table: &ResultTable) -> Value {
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().zip(&table.columns);
        let cells = cells.map(|(cell, column)| (column.name.to_owned(), cell_value(cell)));
        Value::Object(cells.collect())
    });
    let units = table.columns.iter().filter_map(|column| {
        let unit = column.unit.abbreviation()?;
        Some((column.name.to_owned(), Value::from(unit)))
    });
    value!({
        "title": table.title,
        "units": units.collect::<Map<_, _>>(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

fn cell_value(cell: &Cell) -> Value {
    match cell {
        Cell::Empty => Value::Null,
        Cell::Text(text) => Value::from(text.as_str()),
        Cell::Number(number) => number_value(*number),
        Cell::Measured(samples) => {
            let (low, high) = samples.range();
            value!({
                "median": number_value(samples.median()),
                "low": number_value(low),
                "high": number_value(high),
                "runs": samples.runs(),
            })
        }
    }
}

/// Whole numbers without a point.
fn number_value(number: f64) -> Value {
    /// Up to here every whole number is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.fract() == 0.0 && number.abs() < EXACT {
        true => Value::from(number as i64),
        false => Value::from(number),
    }
}
