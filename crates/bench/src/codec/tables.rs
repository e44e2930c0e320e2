//! The report of `bench codec`.

use super::{Measurements, Options, Row};
use crate::measuring::{Samples, context_memory};
use crate::report::{
    Axis, Cell, Chart, Column, ColumnUnit, NONE, Point, Report, ResultTable, ScatterChart,
};
use varve_codec::CodecId;

pub(super) fn fill(report: &mut Report, found: &Measurements, options: &Options) {
    let mean = found.bytes as f64 / found.chunks.max(1) as f64;
    let which = match found.sampled {
        1 => String::from("all"),
        every => format!("one in {every}"),
    };
    report.properties = vec![
        (
            "chunks",
            format!(
                "{which}: {}, {} bytes, {mean:.0} each",
                found.chunks, found.bytes
            ),
        ),
        (
            "round trips",
            "every chunk was compressed, expanded and compared".to_owned(),
        ),
        (
            "runs",
            format!(
                "1 to warm up, then {}, in turns; median (least-greatest)",
                options.runs
            ),
        ),
    ];
    report.tables.push(codecs(found));
    report.tables.push(sources(found));
    for size in &found.untrained {
        let kib = size.div_ceil(1024);
        report.notes.push(format!(
            "No dictionary of {kib} KiB: there are too few chunks to train it."
        ));
    }
    report.charts = charts(found);
}

fn dictionary(row: &Row) -> String {
    let kib = |len: usize| format!("{} KiB", len.div_ceil(1024));
    row.dictionary.map_or_else(|| NONE.to_owned(), kib)
}

fn codecs(found: &Measurements) -> ResultTable {
    let copying = vec![
        Cell::text("memcpy"),
        Cell::text(NONE),
        Cell::count(found.bytes),
        Cell::Number(1.0),
        Cell::measured(found.memcpy_all.clone()),
        Cell::measured(found.memcpy_each.clone()),
        Cell::Empty,
        Cell::Empty,
        Cell::count(found.chunks as u64),
    ];
    let row = |row: &Row| {
        vec![
            Cell::text(row.setting.to_string()),
            Cell::text(dictionary(row)),
            Cell::count(row.bytes_out),
            Cell::Number(row.ratio()),
            Cell::measured(row.compress.clone()),
            Cell::measured(row.expand.clone()),
            Cell::optional(context_memory(row.setting, found.longest)),
            Cell::count(row.incompressible as u64),
            Cell::count(row.timed as u64),
        ]
    };
    let column = Column::new;
    ResultTable {
        name: "codecs",
        title: "Codecs. Speeds are of bytes before compression; a dictionary counts as stored; raw chunks became no shorter."
            .to_owned(),
        columns: vec![
            column("codec", "codec", ColumnUnit::Text),
            column("dictionary", "dict.", ColumnUnit::Text),
            column("bytes_out", "stored", ColumnUnit::Bytes),
            column("ratio", "ratio", ColumnUnit::Ratio),
            column("compress", "compress", ColumnUnit::MegabytesPerSecond),
            column("decompress", "decompress", ColumnUnit::MegabytesPerSecond),
            column("memory", "zstd context", ColumnUnit::Bytes),
            column("incompressible", "raw", ColumnUnit::Count),
            column("timed", "timed", ColumnUnit::Count),
        ],
        rows: std::iter::once(copying)
            .chain(found.rows.iter().map(row))
            .collect(),
    }
}

fn sources(found: &Measurements) -> ResultTable {
    let rows = found.sources.iter().map(|source| {
        vec![
            Cell::text(source.path.display().to_string()),
            Cell::text(source.kind.name()),
            Cell::count(source.chunks),
            Cell::count(source.bytes),
        ]
    });
    let column = Column::new;
    ResultTable {
        name: "sources",
        title: "Sources of the chunks.".to_owned(),
        columns: vec![
            column("path", "path", ColumnUnit::Text),
            column("kind", "kind", ColumnUnit::Text),
            column("chunks", "chunks", ColumnUnit::Count),
            column("bytes", "size", ColumnUnit::Bytes),
        ],
        rows: rows.collect(),
    }
}

fn charts(found: &Measurements) -> Vec<Chart> {
    let measured: Vec<&Row> = found
        .rows
        .iter()
        .filter(|row| !row.compress.is_empty() && !row.expand.is_empty())
        .collect();
    let mut charts = Vec::new();
    if measured.len() > 1 {
        let seconds = |speed: &Samples| found.bytes as f64 / 1e6 / speed.median().max(1e-9);
        let chart = |of: &str, label: &str, time: &dyn Fn(&Row) -> f64| {
            scatter(
                of,
                label,
                measured.iter().map(|row| point(row, time(row))).collect(),
            )
        };
        charts.push(chart("expanding", "time of expanding all chunks", &|row| {
            seconds(&row.expand)
        }));
        charts.push(chart("compressing", "time of compressing them", &|row| {
            seconds(&row.compress)
        }));
    }
    charts.push(Chart::Histogram(found.sizes.clone()));
    charts
}

fn point(row: &Row, time: f64) -> Point {
    let (series, more) = match (row.setting.codec(), row.dictionary) {
        (_, Some(_)) => (3, format!(" {}", dictionary(row))),
        (CodecId::Zstd, _) => (2, String::new()),
        (CodecId::Zlib, _) => (1, String::new()),
        _ => (0, String::new()),
    };
    Point {
        label: format!("{}{more}", row.setting),
        series,
        x: row.bytes_out as f64,
        y: time,
    }
}

fn scatter(of: &str, label: &str, points: Vec<Point>) -> Chart {
    let series = ["none, snappy", "deflate", "zstd", "zstd with dictionary"];
    Chart::Scatter(ScatterChart {
        title: format!(
            "Size against {of}: left and low is good; nothing beats the points on the line"
        ),
        x: Axis {
            label: "size of all chunks".to_owned(),
            unit: ColumnUnit::Bytes,
            is_logarithmic: false,
        },
        y: Axis {
            label: label.to_owned(),
            unit: ColumnUnit::Seconds,
            is_logarithmic: true,
        },
        series: series.map(str::to_owned).to_vec(),
        points,
    })
}
