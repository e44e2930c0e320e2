//! The report of `bench bundle`.

use super::trial::History;
use super::{Options, SpecRow};
use crate::measuring::stream_memory;
use crate::report::{
    Axis, Cell, Chart, Column, ColumnUnit, Point, Report, ResultTable, ScatterChart,
};
use varve_codec::StreamEngine;

pub(super) fn fill(report: &mut Report, rows: &[SpecRow], history: &History, options: &Options) {
    report.properties = vec![
        ("changesets", history.outgoing.revs.len().to_string()),
        (
            "bundles",
            "each was applied to an empty repository, every hash was checked, and the changesets were compared".to_owned(),
        ),
        ("runs", format!("1 to warm up, then {}, in turns; median (least-greatest)", options.runs)),
    ];
    report.tables.push(table(rows));
    report.charts = charts(rows);
}

fn table(rows: &[SpecRow]) -> ResultTable {
    let row = |row: &SpecRow| {
        let setting = row.spec.setting();
        let is_zstd = setting.engine == StreamEngine::Zstd;
        let memory = setting
            .level
            .filter(|_| is_zstd)
            .and_then(|level| stream_memory(level, setting.threads.unwrap_or(1)));
        let mut cells = vec![
            Cell::text(&row.text),
            match row.size {
                0 => Cell::Empty,
                size => Cell::count(size),
            },
        ];
        cells.extend(
            row.quantities
                .iter()
                .map(|samples| Cell::measured(samples.clone())),
        );
        cells.push(Cell::optional(memory));
        cells
    };
    let column = Column::new;
    ResultTable {
        name: "bundles",
        title: "Bundles of all served changesets. CPU is that of all threads.".to_owned(),
        columns: vec![
            column("spec", "bundlespec", ColumnUnit::Text),
            column("size", "size", ColumnUnit::Bytes),
            column("write", "write", ColumnUnit::Seconds),
            column("write_cpu", "write CPU", ColumnUnit::Seconds),
            column("apply", "apply", ColumnUnit::Seconds),
            column("apply_cpu", "apply CPU", ColumnUnit::Seconds),
            column("memory", "zstd context", ColumnUnit::Bytes),
        ],
        rows: rows.iter().map(row).collect(),
    }
}

fn charts(rows: &[SpecRow]) -> Vec<Chart> {
    let measured: Vec<&SpecRow> = rows
        .iter()
        .filter(|row| row.quantities.iter().all(|samples| !samples.is_empty()))
        .collect();
    if measured.len() < 2 {
        return Vec::new();
    }
    let writing = scatter("writing", "CPU of writing the bundle", &measured, 1);
    vec![
        writing,
        scatter("applying", "CPU of applying it", &measured, 3),
    ]
}

fn scatter(of: &str, label: &str, rows: &[&SpecRow], quantity: usize) -> Chart {
    let point = |row: &&SpecRow| {
        let setting = row.spec.setting();
        let (series, name) = match setting.engine {
            StreamEngine::Gzip => (1, "gzip"),
            StreamEngine::Zstd => (2, "zstd"),
            StreamEngine::Bzip2 => (3, "bzip2"),
            StreamEngine::None => (0, "none"),
        };
        let level = setting
            .level
            .map_or(String::new(), |level| format!(" {level}"));
        let threads = match setting.threads {
            Some(threads) if threads != 1 => " all cores",
            _ => "",
        };
        Point {
            label: format!("{name}{level}{threads}"),
            series,
            x: row.size as f64,
            y: row.quantities[quantity].median(),
        }
    };
    Chart::Scatter(ScatterChart {
        title: format!(
            "Size against {of}: left and low is good; nothing beats the points on the line"
        ),
        x: Axis {
            label: "size of the bundle".to_owned(),
            unit: ColumnUnit::Bytes,
            is_logarithmic: false,
        },
        y: Axis {
            label: label.to_owned(),
            unit: ColumnUnit::Seconds,
            is_logarithmic: true,
        },
        series: ["none", "gzip", "zstd", "bzip2"]
            .map(str::to_owned)
            .to_vec(),
        points: rows.iter().map(point).collect(),
    })
}
