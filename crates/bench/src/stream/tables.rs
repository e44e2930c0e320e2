//! The report of `bench stream`.

use super::{MeasuredServer, Options, RequestKind, RequestRow};
use crate::measuring::Samples;
use crate::report::{
    Axis, Bar, BarChart, Cell, Chart, Column, ColumnUnit, ComparedProgram, ComparedWork,
    Comparisons, Line, LineChart, Report, ResultTable,
};

/// Names of the tables.
pub(super) const ANSWERS: &str = "answers";
pub(super) const COMPARED: &str = "compared";

pub(super) fn fill(
    report: &mut Report,
    rows: &[RequestRow],
    servers: &[MeasuredServer],
    options: &Options,
) {
    report.properties = vec![
        (
            "clients",
            "all ask at once, over one connection each, and expand what comes; on this machine they take processor time \
             from the server"
                .to_owned(),
        ),
        (
            "answers",
            "compressed as each server and the client agree; all had the same length, and those of the first round the same contents"
                .to_owned(),
        ),
        (
            "runs",
            format!(
                "1 to warm up, then {}, in turns, each long enough for a clock of 0.01 s; median (least-greatest)",
                options.runs
            ),
        ),
    ];
    report.tables.push(table(rows, servers));
    report.charts = charts(rows, servers);
    if let Some(compared) = compared(rows, servers) {
        let title = "Wall time of an answer to all clients, and the ratio of the rounds.";
        report
            .tables
            .push(compared.table(COMPARED, title.to_owned()));
        report.notes.extend(compared.notes());
        report
            .charts
            .push(compared.chart("Time of clones and pulls against other servers"));
    }
    for server in servers {
        if !server.kinds.contains(&RequestKind::Stream) {
            report.notes.push(format!(
                "{} has stream clones switched off, or streams files of a kind that Varve does not know: only pulls are measured.",
                server.name
            ));
        }
    }
}

/// A number of clients in words.
fn clients(count: usize) -> String {
    match count {
        1 => "1 client".to_owned(),
        count => format!("{count} clients"),
    }
}

/// 10^6 bytes of expanded answers a second, to all clients together: servers compress in different ways.
fn throughput(row: &RequestRow) -> Samples {
    let expanded = row.answer.map_or(0, |answer| answer.bytes) as f64;
    let all = expanded * row.clients as f64 / 1e6;
    row.wall.map(|seconds| all / seconds.max(1e-9))
}

/// Processor seconds of the server for the answer to one client.
fn processor_each(row: &RequestRow) -> Samples {
    row.processor.map(|seconds| seconds / row.clients as f64)
}

fn table(rows: &[RequestRow], servers: &[MeasuredServer]) -> ResultTable {
    let memory = |name: &str| {
        let server = servers.iter().find(|server| server.name == name);
        server.and_then(|server| server.process.as_ref()?.peak_memory())
    };
    let row = |row: &RequestRow| {
        vec![
            Cell::text(row.server),
            Cell::text(row.kind.name()),
            Cell::text(row.clients.to_string()),
            Cell::optional(row.answer.map(|answer| answer.received)),
            Cell::optional(row.answer.map(|answer| answer.bytes)),
            Cell::measured(row.wall.clone()),
            Cell::measured(throughput(row)),
            Cell::measured(processor_each(row)),
            Cell::optional(memory(row.server)),
        ]
    };
    let column = Column::new;
    ResultTable {
        name: ANSWERS,
        title: "A whole history over HTTP. CPU is the server's for each client; memory is its peak in all rows.".to_owned(),
        columns: vec![
            column("server", "server", ColumnUnit::Text),
            column("request", "request", ColumnUnit::Text),
            column("clients", "clients", ColumnUnit::Text),
            column("received", "answer", ColumnUnit::Bytes),
            column("expanded", "expanded", ColumnUnit::Bytes),
            column("wall", "wall", ColumnUnit::Seconds),
            column("throughput", "throughput", ColumnUnit::MegabytesPerSecond),
            column("processor", "CPU", ColumnUnit::Seconds),
            column("memory", "memory", ColumnUnit::Bytes),
        ],
        rows: rows.iter().map(row).collect(),
    }
}

/// The first server against the others, where all take the request.
fn compared(rows: &[RequestRow], servers: &[MeasuredServer]) -> Option<Comparisons> {
    let [_, _, ..] = servers else {
        return None;
    };
    let known = [ComparedProgram::VARVE, ComparedProgram::HG];
    let programs: Vec<ComparedProgram> = servers
        .iter()
        .filter_map(|server| known.into_iter().find(|known| known.name == server.name))
        .collect();
    let mut works: Vec<ComparedWork> = Vec::new();
    for row in rows.iter().filter(|row| row.server == programs[0].name) {
        let of = |program: &ComparedProgram| {
            let same = rows.iter().find(|other| {
                let is_same = (other.kind, other.clients) == (row.kind, row.clients);
                is_same && other.server == program.name
            });
            same.map_or(Samples::default(), |row| row.wall.clone())
        };
        works.push(ComparedWork {
            name: format!("{}, {}", row.kind.name(), clients(row.clients)),
            runs: programs.iter().map(of).collect(),
        });
    }
    Some(Comparisons { programs, works })
}

fn charts(rows: &[RequestRow], servers: &[MeasuredServer]) -> Vec<Chart> {
    let measured: Vec<&RequestRow> = rows.iter().filter(|row| !row.wall.is_empty()).collect();
    let mut lines = Vec::new();
    for server in servers {
        for kind in RequestKind::ALL {
            let of = measured
                .iter()
                .filter(|row| row.server == server.name && row.kind == kind);
            let points: Vec<(f64, f64)> = of
                .map(|row| (row.clients as f64, throughput(row).median()))
                .collect();
            if !points.is_empty() {
                lines.push(Line {
                    name: format!("{}, {}", server.name, kind.name()),
                    points,
                });
            }
        }
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let throughput = LineChart {
        title: "Throughput by the number of clients".to_owned(),
        x: Axis {
            label: "clients at once".to_owned(),
            unit: ColumnUnit::Count,
            is_logarithmic: true,
        },
        y: Axis {
            label: "throughput (MB/s)".to_owned(),
            unit: ColumnUnit::MegabytesPerSecond,
            is_logarithmic: true,
        },
        lines,
    };
    let with_processor = measured.iter().filter(|row| !row.processor.is_empty());
    let bars: Vec<Bar> = with_processor
        .map(|row| Bar {
            label: format!(
                "{}, {}, {}",
                row.server,
                row.kind.name(),
                clients(row.clients)
            ),
            parts: vec![processor_each(row).median()],
        })
        .collect();
    let mut charts = vec![Chart::Lines(throughput)];
    if !bars.is_empty() {
        charts.push(Chart::Bars(BarChart {
            title: "Processor time of the server for each client".to_owned(),
            axis: Axis {
                label: "processor time".to_owned(),
                unit: ColumnUnit::Seconds,
                is_logarithmic: false,
            },
            parts: vec!["server".to_owned()],
            bars,
        }));
    }
    charts
}
