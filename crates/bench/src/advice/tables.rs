//! The report of `advise`.

use super::Choice;
use super::database::FileContents;
use super::redelta::Redelta;
use crate::database::{CompressionRow, Documents};
use crate::report::{Cell, Column, ColumnUnit, Report, ResultTable, Snippet};
use crate::repository::{Breakdown, EngineRow, contents};

/// Name of the table of choices.
pub(super) const CHOICES: &str = "choices";

const fn column(name: &'static str, heading: &'static str, unit: ColumnUnit) -> Column {
    Column::new(name, heading, unit)
}

pub(super) fn fill_repository(
    report: &mut Report,
    breakdown: &Breakdown,
    rows: &[EngineRow],
    stride: usize,
    redelta: Redelta,
) {
    let sampled = match stride {
        1 => "all".to_owned(),
        stride => format!("one in {stride}"),
    };
    report.properties = vec![
        ("revisions", breakdown.revisions().to_string()),
        ("store size now (B)", breakdown.store_bytes().to_string()),
        ("chunks that were compressed", sampled),
        ("seeking deltas anew", described(redelta)),
    ];
    report.tables.push(contents(breakdown));
    let row = |row: &EngineRow| {
        vec![
            Cell::text(row.packed.setting.to_string()),
            Cell::count(row.packed.store()),
            Cell::measured(row.whole_read().clone()),
            Cell::measured(row.write.clone()),
        ]
    };
    report.tables.push(ResultTable {
        name: "candidates",
        title: "What was weighed: predicted sizes; times of the newest manifests.".to_owned(),
        columns: vec![
            column("codec", "codec", ColumnUnit::Text),
            column("size", "store size", ColumnUnit::Bytes),
            column("read", "read", ColumnUnit::Seconds),
            column("write", "write", ColumnUnit::Seconds),
        ],
        rows: rows.iter().map(row).collect(),
    });
    report
        .charts
        .push(crate::report::Chart::Histogram(breakdown.sizes.clone()));
}

fn described(redelta: Redelta) -> String {
    let Redelta {
        revlogs,
        before,
        after,
    } = redelta;
    if revlogs == 0 {
        return "not measured: no revlog is short enough for the budget".to_owned();
    }
    let percent = (after as f64 / before.max(1) as f64 - 1.0) * 100.0;
    format!(
        "{revlogs} revlogs of {before} bytes would take {after} ({percent:+.1} %) by 'varve recompress --redelta'"
    )
}

pub(super) fn fill_database(
    report: &mut Report,
    found: &FileContents,
    documents: &Documents,
    rows: &[CompressionRow],
    predicted: &dyn Fn(&CompressionRow) -> u64,
) {
    report.properties = vec![
        (
            "documents",
            format!(
                "{}, and {} deleted; {} were loaded",
                found.documents,
                found.deleted,
                documents.texts.len()
            ),
        ),
        ("texts before compression (B)", found.texts.to_string()),
    ];
    let rest = found.file.saturating_sub(found.bodies + found.attachments);
    let share = |bytes: u64| Cell::Number(bytes as f64 * 100.0 / found.file.max(1) as f64);
    let parts = [
        ("bodies of documents", found.bodies),
        ("attachments", found.attachments),
        ("tree nodes, and what a compaction removes", rest),
    ];
    let line =
        |(name, bytes): (&str, u64)| vec![Cell::text(name), Cell::count(bytes), share(bytes)];
    report.tables.push(ResultTable {
        name: "contents",
        title: "Contents of the file now.".to_owned(),
        columns: vec![
            column("part", "part", ColumnUnit::Text),
            column("bytes", "bytes", ColumnUnit::Bytes),
            column("share", "share", ColumnUnit::Percent),
        ],
        rows: parts.map(line).to_vec(),
    });
    let row = |row: &CompressionRow| {
        let count = documents.texts.len() as f64;
        let (load, p50) = (row.load(), row.read());
        vec![
            Cell::text(row.compression.setting.to_string()),
            Cell::count(predicted(row)),
            Cell::measured(p50.clone()),
            Cell::measured(load.map(|seconds| count / seconds.max(1e-9))),
        ]
    };
    report.tables.push(ResultTable {
        name: "candidates",
        title: "What was weighed: predicted sizes after a compaction; times of the sample."
            .to_owned(),
        columns: vec![
            column("codec", "codec", ColumnUnit::Text),
            column("size", "file", ColumnUnit::Bytes),
            column("read_p50", "read p50", ColumnUnit::Microseconds),
            column("load", "load", ColumnUnit::PerSecond),
        ],
        rows: rows.iter().map(row).collect(),
    });
}

/// Words of a table of choices.
pub(super) struct ChoiceWords {
    /// The work whose times it has.
    pub(super) times: &'static str,
    pub(super) read_unit: ColumnUnit,
    /// A note on the memory.
    pub(super) memory: &'static str,
}

/// Adds the table of choices in front, and below it how to get each.
pub(super) fn push_choices(report: &mut Report, now: u64, choices: &[Choice], words: &ChoiceWords) {
    let row = |choice: &Choice| {
        vec![
            Cell::text(choice.goal.name()),
            Cell::text(choice.setting.to_string()),
            Cell::count(choice.size),
            Cell::Number(choice.size as f64 * 100.0 / now.max(1) as f64),
            Cell::measured(choice.read.clone()),
            Cell::measured(choice.write.clone()),
            Cell::optional(choice.memory),
        ]
    };
    report.tables.insert(
        0,
        ResultTable {
            name: CHOICES,
            title: format!(
                "Choices, the one for your goal first; times are of {}.",
                words.times
            ),
            columns: vec![
                column("goal", "for", ColumnUnit::Text),
                column("codec", "codec", ColumnUnit::Text),
                column("size", "predicted size", ColumnUnit::Bytes),
                column("of_now", "of now", ColumnUnit::Percent),
                column("read", "read", words.read_unit),
                column("write", "write", ColumnUnit::Seconds),
                column("memory", "memory", ColumnUnit::Bytes),
            ],
            rows: choices.iter().map(row).collect(),
        },
    );
    for choice in choices {
        let mut lines = choice.configuration.clone();
        lines.push(format!("$ {}", choice.command));
        report.snippets.push(Snippet {
            title: format!("For {}, {}:", choice.goal, choice.setting),
            lines,
        });
    }
    report.notes.push(words.memory.to_owned());
}
