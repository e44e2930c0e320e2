//! The report of `bench db`.

use super::{CompressionRow, Documents, Options, QUANTITIES, Rows, ServerRow, TrialSizes};
use crate::measuring::{Samples, context_memory};
use crate::report::{
    Axis, Cell, Chart, Column, ColumnUnit, Histogram, Point, Report, ResultTable, ScatterChart,
};

pub(super) fn fill(
    report: &mut Report,
    (rows, servers): &Rows,
    documents: &Documents,
    options: &Options,
) {
    let count = documents.texts.len();
    let mean = documents.bytes as f64 / count.max(1) as f64;
    report.properties = vec![
        (
            "documents",
            format!(
                "{count} of {}, {} bytes of JSON, {mean:.0} each; attachments are left out",
                documents.total, documents.bytes
            ),
        ),
        ("view", options.map.clone()),
        (
            "reads",
            "from files that are in the page cache; all databases gave the same texts".to_owned(),
        ),
        (
            "runs",
            format!(
                "1 to warm up, then {}, in turns; median (least-greatest)",
                options.runs
            ),
        ),
    ];
    report.tables.push(table(rows, servers, documents));
    report.charts = charts(rows, documents);
    if !servers.is_empty() {
        report.notes.push(
            "Rows 'over HTTP' include requests and answers, one client after the other; the others are calls in this process."
                .to_owned(),
        );
    }
}

fn table(rows: &[CompressionRow], servers: &[ServerRow], documents: &Documents) -> ResultTable {
    let longest = documents.texts.iter().map(|(_, text)| text.len());
    let longest = longest.max().unwrap_or(0);
    let local = rows.iter().map(|row| {
        let dictionary = match row.compression.has_dictionary {
            true => "dictionary",
            false => crate::report::NONE,
        };
        let mut cells = vec![
            Cell::text(row.compression.setting.to_string()),
            Cell::text(dictionary),
        ];
        cells.extend(measured_cells(row.sizes, &row.quantities, documents));
        cells.push(Cell::optional(context_memory(
            row.compression.setting,
            longest,
        )));
        cells
    });
    let remote = servers.iter().map(|row| {
        let mut cells = vec![Cell::text(&row.name), Cell::text("over HTTP")];
        cells.extend(measured_cells(row.sizes, &row.quantities, documents));
        cells.push(Cell::Empty);
        cells
    });
    let column = Column::new;
    ResultTable {
        name: "compressions",
        title: "Compressions of the database's file.".to_owned(),
        columns: vec![
            column("codec", "codec", ColumnUnit::Text),
            column("dictionary", "dict.", ColumnUnit::Text),
            column("file_size", "file", ColumnUnit::Bytes),
            column("view_size", "view", ColumnUnit::Bytes),
            column("load", "load", ColumnUnit::PerSecond),
            column("compact", "compact", ColumnUnit::Seconds),
            column("view_build", "view build", ColumnUnit::Seconds),
            column("read_p50", "read p50", ColumnUnit::Microseconds),
            column("read_p99", "read p99", ColumnUnit::Microseconds),
            column("scan", "scan", ColumnUnit::PerSecond),
            column("memory", "zstd context", ColumnUnit::Bytes),
        ],
        rows: local.chain(remote).collect(),
    }
}

fn measured_cells(
    sizes: Option<TrialSizes>,
    quantities: &[Samples; QUANTITIES],
    documents: &Documents,
) -> [Cell; 8] {
    let count = documents.texts.len() as f64;
    let rate = |seconds: &Samples| Cell::measured(seconds.map(|seconds| count / seconds.max(1e-9)));
    let [load, compact, view, p50, p99, scan] = quantities;
    [
        Cell::optional(sizes.map(|sizes| sizes.file)),
        Cell::optional(sizes.map(|sizes| sizes.view)),
        rate(load),
        Cell::measured(compact.clone()),
        Cell::measured(view.clone()),
        Cell::measured(p50.clone()),
        Cell::measured(p99.clone()),
        rate(scan),
    ]
}

fn charts(rows: &[CompressionRow], documents: &Documents) -> Vec<Chart> {
    let mut sizes = Histogram::new("Sizes of documents", "bytes of JSON (classes double)");
    documents
        .texts
        .iter()
        .for_each(|(_, text)| sizes.add(text.len() as u64));
    let measured: Vec<(&CompressionRow, u64)> = rows
        .iter()
        .filter(|row| row.quantities.iter().all(|samples| !samples.is_empty()))
        .filter_map(|row| Some((row, row.sizes?.file)))
        .collect();
    let mut charts = Vec::new();
    if measured.len() > 1 {
        let reads = "time of reading one document (p50)";
        charts.push(scatter("reading", reads, &measured, |row| {
            row.read().median() / 1e6
        }));
        let loads = "time of loading all documents";
        charts.push(scatter("writing", loads, &measured, |row| {
            row.load().median()
        }));
    }
    charts.push(Chart::Histogram(sizes));
    charts
}

fn scatter(
    of: &str,
    label: &str,
    rows: &[(&CompressionRow, u64)],
    time: fn(&CompressionRow) -> f64,
) -> Chart {
    let series = ["none, snappy", "deflate", "zstd", "zstd with dictionary"];
    let point = |(row, size): &(&CompressionRow, u64)| Point {
        label: row.compression.setting.to_string(),
        series: match (
            row.compression.setting.codec(),
            row.compression.has_dictionary,
        ) {
            (_, true) => 3,
            (varve_codec::CodecId::Zstd, _) => 2,
            (varve_codec::CodecId::Zlib, _) => 1,
            _ => 0,
        },
        x: *size as f64,
        y: time(row),
    };
    Chart::Scatter(ScatterChart {
        title: format!(
            "Size against {of}: left and low is good; nothing beats the points on the line"
        ),
        x: Axis {
            label: "size of the database's file after compaction".to_owned(),
            unit: ColumnUnit::Bytes,
            is_logarithmic: false,
        },
        y: Axis {
            label: label.to_owned(),
            unit: ColumnUnit::Seconds,
            is_logarithmic: true,
        },
        series: series.map(str::to_owned).to_vec(),
        points: rows.iter().map(point).collect(),
    })
}
