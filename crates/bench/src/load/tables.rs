//! The report of `bench load`.

use super::{Latencies, LoadResult, Options, RequestKind, latencies};
use crate::BenchError;
use crate::measuring::Samples;
use crate::report::{Axis, Cell, Chart, Column, ColumnUnit, Line, LineChart, Report, ResultTable};

/// Name of the table of requests by kind.
pub(super) const REQUESTS: &str = "requests";

pub(super) fn fill(
    report: &mut Report,
    done: &LoadResult,
    server: &str,
    options: &Options,
) -> Result<(), BenchError> {
    let loop_kind = match options.rate {
        Some(rate) => format!(
            "open, {rate} requests/s are due; latency counts from when a request was due, so waiting for a stalled server counts"
        ),
        None => "closed, each client asks again when it has its answer; while the server stalls, it is not asked".to_owned(),
    };
    report.properties = vec![
        ("server", server.to_owned()),
        ("clients", options.clients.to_string()),
        ("documents in a write", options.batch.to_string()),
        ("loop", loop_kind),
        (
            "runs",
            format!(
                "1 to warm up, then {} of {} s; median (least-greatest)",
                done.runs.len(),
                options.duration.as_secs_f64()
            ),
        ),
    ];
    report.tables.push(requests(done, options));
    report.tables.push(server_table(done));
    let mut all = latencies()?;
    let mut by_kind = Vec::new();
    for kind in RequestKind::ALL
        .into_iter()
        .filter(|kind| options.mix.has(*kind))
    {
        let mut merged = latencies()?;
        for run in &done.runs {
            merge(&mut merged, &run.latencies[kind as usize])?;
        }
        merge(&mut all, &merged)?;
        by_kind.push((kind.name(), merged));
    }
    report.charts = vec![
        Chart::Lines(percentiles(&by_kind)),
        Chart::Lines(over_time(done, options)),
        Chart::Lines(throughput(done, options)),
    ];
    Ok(())
}

fn merge(into: &mut Latencies, from: &Latencies) -> Result<(), BenchError> {
    into.add(from).map_err(|error| BenchError::Histogram {
        reason: error.to_string(),
    })
}

fn requests(done: &LoadResult, options: &Options) -> ResultTable {
    let row = |kind: RequestKind| {
        let index = kind as usize;
        let at =
            |part: f64| done.samples(|run| run.latencies[index].value_at_quantile(part) as f64);
        let rate = done.samples(|run| run.latencies[index].len() as f64 / run.seconds);
        let errors: u64 = done.runs.iter().map(|run| run.errors[index]).sum();
        let most = done.runs.iter().map(|run| run.latencies[index].max()).max();
        vec![
            Cell::text(kind.name()),
            Cell::measured(rate),
            Cell::measured(at(0.5)),
            Cell::measured(at(0.9)),
            Cell::measured(at(0.99)),
            Cell::measured(at(0.999)),
            Cell::optional(most),
            Cell::count(errors),
        ]
    };
    let column = Column::new;
    let kinds = RequestKind::ALL
        .into_iter()
        .filter(|kind| options.mix.has(*kind));
    ResultTable {
        name: REQUESTS,
        title: "Requests.".to_owned(),
        columns: vec![
            column("kind", "kind", ColumnUnit::Text),
            column("rate", "rate", ColumnUnit::PerSecond),
            column("p50", "p50", ColumnUnit::Microseconds),
            column("p90", "p90", ColumnUnit::Microseconds),
            column("p99", "p99", ColumnUnit::Microseconds),
            column("p999", "p99.9", ColumnUnit::Microseconds),
            column("max", "max", ColumnUnit::Microseconds),
            column("errors", "errors", ColumnUnit::Count),
        ],
        rows: kinds.map(row).collect(),
    }
}

fn server_table(done: &LoadResult) -> ResultTable {
    let used: Option<Vec<f64>> = done.runs.iter().map(|run| run.processor).collect();
    let all =
        |run: &super::RunResult| run.latencies.iter().map(|one| one.len()).sum::<u64>() as f64;
    let each = used.clone().map(|used| {
        let pairs = used.iter().zip(&done.runs);
        pairs
            .map(|(used, run)| used * 1e6 / all(run).max(1.0))
            .collect()
    });
    let share = used.map(|used| {
        let pairs = used.iter().zip(&done.runs);
        pairs
            .map(|(used, run)| used * 100.0 / run.seconds)
            .collect()
    });
    let cell = |runs: Option<Vec<f64>>| {
        runs.map_or(Cell::Empty, |runs| Cell::measured(Samples::new(runs)))
    };
    ResultTable {
        name: "server",
        title: "All requests together, and the server's process if it is on this machine and of the same user.".to_owned(),
        columns: vec![
            Column::new("subject", "", ColumnUnit::Text),
            Column::new("rate", "rate", ColumnUnit::PerSecond),
            Column::new("processor", "processors", ColumnUnit::Percent),
            Column::new("processor_each", "CPU a request", ColumnUnit::Microseconds),
            Column::new("memory", "peak memory", ColumnUnit::Bytes),
        ],
        rows: vec![vec![
            Cell::text("all"),
            Cell::measured(done.samples(|run| all(run) / run.seconds)),
            cell(share),
            cell(each),
            Cell::optional(done.memory),
        ]],
    }
}

fn seconds(label: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: ColumnUnit::Seconds,
        is_logarithmic: true,
    }
}

/// Latency by percentile; the horizontal axis is one part in so many that are slower.
fn percentiles(kinds: &[(&'static str, Latencies)]) -> LineChart {
    let line = |(name, latencies): &(&'static str, Latencies)| {
        let steps = (0..=40).map(|step| 10f64.powf(f64::from(step) / 10.0));
        let count = latencies.len() as f64;
        let known = steps.take_while(|parts| *parts <= count.max(1.0));
        let points = known.map(|parts| {
            let micros = latencies.value_at_quantile(1.0 - 1.0 / parts);
            (parts, micros as f64 / 1e6)
        });
        Line {
            name: (*name).to_owned(),
            points: points.collect(),
        }
    };
    LineChart {
        title: "Latency by percentile: 100 is the 99th, 1000 the 99.9th".to_owned(),
        x: Axis {
            label: "one request in so many is slower".to_owned(),
            unit: ColumnUnit::Count,
            is_logarithmic: true,
        },
        y: seconds("latency"),
        lines: kinds.iter().map(line).collect(),
    }
}

fn slices(done: &LoadResult, options: &Options) -> impl Iterator<Item = (f64, (f64, Latencies))> {
    let slice = options.duration.as_secs_f64() / super::SLICES as f64;
    let timeline = done.timeline.clone().into_iter();
    timeline
        .enumerate()
        .map(move |(index, found)| ((index as f64 + 0.5) * slice, found))
}

fn time() -> Axis {
    Axis {
        label: "time, all runs one behind the other".to_owned(),
        unit: ColumnUnit::Seconds,
        is_logarithmic: false,
    }
}

fn over_time(done: &LoadResult, options: &Options) -> LineChart {
    let line = |name: &str, part: f64| Line {
        name: name.to_owned(),
        points: slices(done, options)
            .filter(|(_, (_, latencies))| !latencies.is_empty())
            .map(|(at, (_, latencies))| (at, latencies.value_at_quantile(part) as f64 / 1e6))
            .collect(),
    };
    LineChart {
        title: "Latency over time".to_owned(),
        x: time(),
        y: seconds("latency of all requests"),
        lines: vec![line("p50", 0.5), line("p99", 0.99)],
    }
}

fn throughput(done: &LoadResult, options: &Options) -> LineChart {
    LineChart {
        title: "Throughput over time".to_owned(),
        x: time(),
        y: Axis {
            label: "requests a second".to_owned(),
            unit: ColumnUnit::Count,
            is_logarithmic: false,
        },
        lines: vec![Line {
            name: "all requests".to_owned(),
            points: slices(done, options)
                .map(|(at, (rate, _))| (at, rate))
                .collect(),
        }],
    }
}
