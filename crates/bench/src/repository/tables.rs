//! The report of `bench repo`.

use super::history::{Breakdown, CHUNK_TYPES, ChunkCounts, HistoryPart, REVISION_KINDS};
use super::read::STAGES;
use super::{EngineRow, Options, summary};
use crate::report::{
    Axis, Bar, BarChart, Cell, Chart, Column, ColumnUnit, Point, Report, ResultTable, ScatterChart,
};
use varve_codec::{CodecId, EngineSetting};

const fn column(name: &'static str, heading: &'static str, unit: ColumnUnit) -> Column {
    Column::new(name, heading, unit)
}

pub(super) fn fill(
    report: &mut Report,
    rows: &[EngineRow],
    breakdown: &Breakdown,
    (options, stride): (&Options, usize),
) {
    let sampled = match stride {
        1 => "every chunk was compressed anew, expanded and compared".to_owned(),
        stride => format!(
            "one in {stride} chunks was compressed anew, expanded and compared; sizes are predicted from them"
        ),
    };
    report.properties = vec![
        ("revisions", breakdown.revisions().to_string()),
        ("store size now (B)", breakdown.store_bytes().to_string()),
        ("chunks", sampled),
        (
            "manifests",
            format!(
                "the newest {} were read and written by one thread, in memory; every text was checked against its hash",
                options
                    .manifests
                    .min(usize::try_from(manifests(breakdown)).unwrap_or(usize::MAX))
            ),
        ),
        (
            "runs",
            format!(
                "1 to warm up, then {}, in turns; median (fastest-slowest)",
                options.runs
            ),
        ),
    ];
    report.tables.push(engines(rows));
    report.tables.extend(summary::table(rows));
    report.tables.push(stages(rows));
    report.tables.push(chunk_types(breakdown));
    report.tables.push(contents(breakdown));
    report.charts = charts(rows, breakdown);
}

fn manifests(breakdown: &Breakdown) -> u64 {
    let kinds = breakdown.parts[HistoryPart::Manifest as usize].iter();
    kinds.map(|counts| counts.count).sum()
}

fn level(setting: EngineSetting) -> Cell {
    match setting.codec() {
        CodecId::None | CodecId::Snappy => Cell::text("-"),
        CodecId::Zlib | CodecId::Zstd => Cell::text(setting.level().to_string()),
    }
}

fn engines(rows: &[EngineRow]) -> ResultTable {
    let row = |row: &EngineRow| {
        vec![
            Cell::text(row.packed.setting.codec().name()),
            level(row.packed.setting),
            Cell::count(row.packed.store()),
            Cell::count(row.packed.manifest()),
            Cell::measured(row.whole_read().clone()),
            Cell::measured(row.write.clone()),
        ]
    };
    ResultTable {
        name: "engines",
        title: "Engines and levels, with the deltas as they are.".to_owned(),
        columns: vec![
            column("engine", "engine", ColumnUnit::Text),
            column("level", "level", ColumnUnit::Text),
            column("store_size", "store size", ColumnUnit::Bytes),
            column("manifest_size", "00manifest size", ColumnUnit::Bytes),
            column("read", "read", ColumnUnit::Seconds),
            column("write", "write", ColumnUnit::Seconds),
        ],
        rows: rows.iter().map(row).collect(),
    }
}

fn stages(rows: &[EngineRow]) -> ResultTable {
    let row = |row: &EngineRow| {
        let mut cells = vec![
            Cell::text(row.packed.setting.codec().name()),
            level(row.packed.setting),
        ];
        // Medians alone: five ranges a row cannot be read.
        let stages = row.read[1..].iter().filter(|samples| !samples.is_empty());
        cells.extend(stages.map(|samples| Cell::Number(samples.median())));
        cells.resize(2 + STAGES.len(), Cell::Empty);
        cells
    };
    let mut columns = vec![
        column("engine", "engine", ColumnUnit::Text),
        column("level", "level", ColumnUnit::Text),
    ];
    columns.extend(STAGES.map(|stage| column(stage, stage, ColumnUnit::Seconds)));
    ResultTable {
        name: "stages",
        title: "Stages of reading the manifests, medians.".to_owned(),
        columns,
        rows: rows.iter().map(row).collect(),
    }
}

fn chunk_types(breakdown: &Breakdown) -> ResultTable {
    let types = CHUNK_TYPES.iter().zip(&breakdown.types);
    let found = types.filter(|(_, counts)| counts.count > 0);
    let rows = found.map(|((name, _), counts)| counted(name, None, counts));
    ResultTable {
        name: "chunk_types",
        title: "Types of chunks now, as debugrevlog names them.".to_owned(),
        columns: vec![
            column("type", "type", ColumnUnit::Text),
            column("chunks", "chunks", ColumnUnit::Count),
            column("bytes", "bytes", ColumnUnit::Bytes),
        ],
        rows: rows.collect(),
    }
}

/// Which part of the store takes how much.
pub(crate) fn contents(breakdown: &Breakdown) -> ResultTable {
    let total = breakdown.store_bytes().max(1) as f64;
    let share = |bytes: u64| Cell::Number(bytes as f64 * 100.0 / total);
    let mut rows = Vec::new();
    for part in HistoryPart::ALL {
        let kinds = breakdown.parts[part as usize].iter().zip(REVISION_KINDS);
        for (counts, kind) in kinds.filter(|(counts, _)| counts.count > 0) {
            let mut cells = counted(part.name(), Some(kind), counts);
            cells.push(share(counts.bytes));
            rows.push(cells);
        }
    }
    let indexes = ChunkCounts {
        count: breakdown.revisions(),
        bytes: breakdown.index_bytes,
    };
    let mut cells = counted("indexes", Some("entries"), &indexes);
    cells.push(share(indexes.bytes));
    rows.push(cells);
    ResultTable {
        name: "contents",
        title: "Contents of the store now.".to_owned(),
        columns: vec![
            column("part", "part", ColumnUnit::Text),
            column("kind", "stored as", ColumnUnit::Text),
            column("count", "count", ColumnUnit::Count),
            column("bytes", "bytes", ColumnUnit::Bytes),
            column("share", "share", ColumnUnit::Percent),
        ],
        rows,
    }
}

fn counted(name: &str, kind: Option<&str>, counts: &ChunkCounts) -> Vec<Cell> {
    let words = std::iter::once(name).chain(kind).map(Cell::text);
    let numbers = [counts.count, counts.bytes].map(Cell::count);
    words.chain(numbers).collect()
}

fn charts(rows: &[EngineRow], breakdown: &Breakdown) -> Vec<Chart> {
    let measured: Vec<&EngineRow> = rows
        .iter()
        .filter(|row| !row.whole_read().is_empty() && !row.write.is_empty())
        .collect();
    let mut charts = Vec::new();
    if measured.len() > 1 {
        charts.push(scatter("reading", &measured, |row| {
            row.whole_read().median()
        }));
        charts.push(scatter("writing", &measured, |row| row.write.median()));
    }
    if !measured.is_empty() {
        let bar = |row: &&EngineRow| Bar {
            label: short_name(row.packed.setting),
            parts: row.read[1..]
                .iter()
                .map(crate::measuring::Samples::median)
                .collect(),
        };
        charts.push(Chart::Bars(BarChart {
            title: "Stages of reading the manifests".to_owned(),
            axis: Axis {
                label: "median time".to_owned(),
                unit: ColumnUnit::Seconds,
                is_logarithmic: false,
            },
            parts: STAGES.map(str::to_owned).to_vec(),
            bars: measured.iter().map(bar).collect(),
        }));
    }
    charts.push(Chart::Histogram(breakdown.sizes.clone()));
    charts
}

fn short_name(setting: EngineSetting) -> String {
    match setting.codec() {
        CodecId::None | CodecId::Snappy => setting.codec().name().to_owned(),
        codec => format!("{} {}", codec.name(), setting.level()),
    }
}

fn scatter(of: &str, rows: &[&EngineRow], time: fn(&EngineRow) -> f64) -> Chart {
    let mut series: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for row in rows {
        let name = row.packed.setting.codec().name();
        let known = series.iter().position(|other| *other == name);
        let number = known.unwrap_or_else(|| {
            series.push(name);
            series.len() - 1
        });
        points.push(Point {
            label: short_name(row.packed.setting),
            series: number,
            x: row.packed.store() as f64,
            y: time(row),
        });
    }
    Chart::Scatter(ScatterChart {
        title: format!(
            "Size against {of}: left and low is good; nothing beats the points on the line"
        ),
        x: Axis {
            label: "store size".to_owned(),
            unit: ColumnUnit::Bytes,
            is_logarithmic: false,
        },
        y: Axis {
            label: format!("{of} the manifests"),
            unit: ColumnUnit::Seconds,
            is_logarithmic: true,
        },
        series: series.into_iter().map(str::to_owned).collect(),
        points,
    })
}
