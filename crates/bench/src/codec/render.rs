//! A report as text: a table for people, JSON and CSV for programs.

use super::{Report, Row};
use crate::Spread;
use serde_json::{Value, json as value};
use std::fmt::Write as _;

/// A table for a terminal of 100 columns, with the sources above it.
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    for source in &report.sources {
        let line = format_args!(
            "{} ({}): {} chunks, {} bytes",
            source.path.display(),
            source.kind.name(),
            source.chunks,
            source.bytes
        );
        push_line(&mut out, line);
    }
    let which = match report.sampled {
        1 => String::from("all of them"),
        every => format!("one in {every}"),
    };
    let Report {
        chunks,
        bytes,
        runs,
        ..
    } = report;
    let mean = *bytes as f64 / (*chunks).max(1) as f64;
    push_line(
        &mut out,
        format_args!(
            "\nMeasured {which}: {chunks} chunks, {bytes} bytes, {mean:.0} a chunk. Speeds in \
             MB/s of uncompressed data,\nmedian of {runs} runs (slowest to fastest); every round \
             trip was checked.\n"
        ),
    );
    let head = [
        "codec",
        "dictionary",
        "bytes out",
        "ratio",
        "compress",
        "decompress",
    ];
    push_line(
        &mut out,
        format_args!("{}", columns(&head.map(String::from))),
    );
    let (all, each) = (speed(report.memcpy_all), speed(report.memcpy_each));
    let copied = ["memcpy", "", "", "", &all, &each].map(String::from);
    push_line(&mut out, format_args!("{}", columns(&copied)));
    for row in &report.rows {
        let cells = [
            row.setting.to_string(),
            row.dictionary
                .map_or(String::new(), |len| format!("{} KiB", len.div_ceil(1024))),
            row.bytes_out.to_string(),
            format!("{:.3}", row.ratio()),
            speed(row.compress),
            speed(row.expand),
        ];
        push_line(&mut out, format_args!("{}", columns(&cells)));
    }
    for size in &report.untrained {
        let kib = size.div_ceil(1024);
        push_line(
            &mut out,
            format_args!("No dictionary of {kib} KiB: there are too few chunks to train it."),
        );
    }
    out
}

fn push_line(out: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = out.write_fmt(line);
    out.push('\n');
}

fn columns([codec, dictionary, bytes, ratio, compress, expand]: &[String; 6]) -> String {
    let line =
        format!("{codec:<10}{dictionary:>11}{bytes:>14}{ratio:>8}  {compress:>24}  {expand:>24}");
    line.trim_end().to_owned()
}

fn speed(spread: Spread) -> String {
    let digits = usize::from(spread.median < 100.0);
    let Spread { median, low, high } = spread;
    format!("{median:.digits$} ({low:.digits$}-{high:.digits$})")
}

/// One JSON object.
pub fn json(report: &Report) -> String {
    let sources: Vec<Value> = report
        .sources
        .iter()
        .map(|source| {
            value!({
                "path": source.path.display().to_string(),
                "kind": source.kind.name(),
                "chunks": source.chunks,
                "bytes": source.bytes,
            })
        })
        .collect();
    let rows: Vec<Value> = report.rows.iter().map(json_row).collect();
    let whole = value!({
        "sources": sources,
        "sampled_one_in": report.sampled,
        "chunks": report.chunks,
        "bytes": report.bytes,
        "runs": report.runs,
        "memcpy_all_mb_s": json_spread(report.memcpy_all),
        "memcpy_each_mb_s": json_spread(report.memcpy_each),
        "rows": rows,
        "untrained_dictionaries": report.untrained,
    });
    format!("{whole:#}\n")
}

fn json_row(row: &Row) -> Value {
    value!({
        "codec": row.setting.to_string(),
        "dictionary": row.dictionary,
        "chunks": row.chunks,
        "incompressible": row.incompressible,
        "timed": row.timed,
        "bytes_in": row.bytes_in,
        "bytes_out": row.bytes_out,
        "ratio": row.ratio(),
        "compress_mb_s": json_spread(row.compress),
        "decompress_mb_s": json_spread(row.expand),
    })
}

fn json_spread(spread: Spread) -> Value {
    value!({ "median": spread.median, "low": spread.low, "high": spread.high })
}

/// A line of names, then one line a row; numbers without units, speeds in MB/s.
pub fn csv(report: &Report) -> String {
    let mut out = String::from(
        "codec,dictionary,chunks,incompressible,timed,bytes_in,bytes_out,ratio,\
         compress_median,compress_low,compress_high,\
         decompress_median,decompress_low,decompress_high\n",
    );
    let (c, e) = (report.memcpy_all, report.memcpy_each);
    let (chunks, bytes) = (report.chunks, report.bytes);
    push_line(
        &mut out,
        format_args!(
            "memcpy,,{chunks},,{chunks},{bytes},{bytes},1,{:.1},{:.1},{:.1},{:.1},{:.1},{:.1}",
            c.median, c.low, c.high, e.median, e.low, e.high
        ),
    );
    for row in &report.rows {
        let (c, e) = (row.compress, row.expand);
        push_line(
            &mut out,
            format_args!(
                "{},{},{},{},{},{},{},{:.4},{:.1},{:.1},{:.1},{:.1},{:.1},{:.1}",
                row.setting,
                row.dictionary.map_or(String::new(), |len| len.to_string()),
                row.chunks,
                row.incompressible,
                row.timed,
                row.bytes_in,
                row.bytes_out,
                row.ratio(),
                c.median,
                c.low,
                c.high,
                e.median,
                e.low,
                e.high
            ),
        );
    }
    out
}
