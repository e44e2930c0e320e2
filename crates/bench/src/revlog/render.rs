//! A report as text: a table for people, JSON for programs.

use super::{Report, Row};
use serde_json::{Value, json as value};
use std::fmt::Write as _;

/// A table for a terminal of 80 columns, with the repository and the engine above it.
pub fn table(report: &Report) -> String {
    let mut out = format!(
        "{}, written with {}; seconds, median (fastest to slowest)\n\n",
        report.path.display(),
        report.engine
    );
    let head = ["work", "threads", "revisions", "seconds"].map(String::from);
    push_line(&mut out, &head);
    for row in &report.rows {
        let (work, threads) = (row.work.to_owned(), row.threads.to_string());
        push_line(
            &mut out,
            &[work, threads, row.revisions.to_string(), seconds(row)],
        );
    }
    let written = report.rows.iter().find_map(|row| row.written);
    if let Some((ours, before)) = written {
        // Writing to a String does not fail.
        let _ = write!(
            out,
            "\nWritten: {ours} bytes in place of the repository's {before}.\n"
        );
    }
    out
}

fn push_line(out: &mut String, [work, threads, revisions, seconds]: &[String; 4]) {
    // Writing to a String does not fail.
    let _ = writeln!(out, "{work:<26}{threads:>8}{revisions:>12}  {seconds:>28}");
}

fn seconds(row: &Row) -> String {
    let (low, high) = range(row);
    format!("{:.3} ({low:.3}-{high:.3})", row.median().as_secs_f64())
}

fn range(row: &Row) -> (f64, f64) {
    let at = |time: Option<&std::time::Duration>| time.map_or(0.0, |time| time.as_secs_f64());
    (at(row.times.first()), at(row.times.last()))
}

/// One JSON object.
pub fn json(report: &Report) -> String {
    let rows: Vec<Value> = report.rows.iter().map(json_row).collect();
    let whole = value!({
        "repository": report.path.display().to_string(),
        "engine": report.engine,
        "rows": rows,
    });
    whole.to_string()
}

fn json_row(row: &Row) -> Value {
    let (low, high) = range(row);
    value!({
        "work": row.work,
        "threads": row.threads,
        "revisions": row.revisions,
        "unit": "s",
        "median": row.median().as_secs_f64(),
        "range": [low, high],
        "samples": row.times.len(),
        "bytes": row.written.map(|(ours, _)| ours),
        "bytes_before": row.written.map(|(_, before)| before),
    })
}
