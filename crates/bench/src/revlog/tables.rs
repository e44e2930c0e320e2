//! The report of `bench revlog`.

use super::{Measurements, Options, Row};
use crate::report::{Axis, Bar, BarChart, Cell, Chart, Column, ColumnUnit, Report, ResultTable};

/// Names of the tables.
pub(super) const WORK: &str = "work";

pub(super) fn fill(report: &mut Report, found: &Measurements, options: &Options) {
    report.properties = vec![
        ("engine of written chunks", found.engine.clone()),
        (
            "texts",
            "every text was checked against its hash".to_owned(),
        ),
        (
            "runs",
            format!(
                "1 to warm up, then {}, in turns; median (least-greatest)",
                options.runs
            ),
        ),
    ];
    report.tables.push(work(found));
    report.tables.push(written(found));
    let measured = found.rows.iter().filter(|row| !row.seconds.is_empty());
    let bars: Vec<Bar> = measured.map(bar).collect();
    if !bars.is_empty() {
        report.charts.push(Chart::Bars(BarChart {
            title: "Time of each kind of work".to_owned(),
            axis: Axis {
                label: "wall time".to_owned(),
                unit: ColumnUnit::Seconds,
                is_logarithmic: false,
            },
            parts: vec!["median".to_owned()],
            bars,
        }));
    }
}

fn bar(row: &Row) -> Bar {
    let threads = match row.threads {
        1 => String::new(),
        threads => format!(", {threads} threads"),
    };
    Bar {
        label: format!("{}{threads}", row.work),
        parts: vec![row.seconds.median()],
    }
}

fn work(found: &Measurements) -> ResultTable {
    let row = |row: &Row| {
        vec![
            Cell::text(row.work),
            Cell::text(row.threads.to_string()),
            Cell::count(row.revisions as u64),
            Cell::measured(row.seconds.clone()),
        ]
    };
    let column = Column::new;
    ResultTable {
        name: WORK,
        title: "Reading and writing of revlogs.".to_owned(),
        columns: vec![
            column("work", "work", ColumnUnit::Text),
            column("threads", "threads", ColumnUnit::Text),
            column("revisions", "revisions", ColumnUnit::Count),
            column("seconds", "time", ColumnUnit::Seconds),
        ],
        rows: found.rows.iter().map(row).collect(),
    }
}

fn written(found: &Measurements) -> ResultTable {
    let (new, before) = found.written;
    let row = |name: &str, bytes: u64| vec![Cell::text(name), Cell::count(bytes)];
    ResultTable {
        name: "written",
        title: "Stored bytes of the manifests that were written anew.".to_owned(),
        columns: vec![
            Column::new("of", "", ColumnUnit::Text),
            Column::new("size", "size", ColumnUnit::Bytes),
        ],
        rows: vec![row("written", new), row("in the repository", before)],
    }
}
