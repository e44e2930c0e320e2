//! The report of `bench hg`.

use super::{Checkout, Options};
use crate::BenchError;
use crate::report::{Cell, Column, ColumnUnit, ComparedProgram, Comparisons, Report, ResultTable};

/// Names of the tables.
pub(super) const COMMANDS: &str = "commands";
pub(super) const STORES: &str = "stores";

/// The repository that was measured.
pub(super) struct Subject {
    pub changesets: usize,
    /// The file whose history is shown, and how often it was changed.
    pub file: String,
    pub revisions: usize,
    /// Names and versions of the programs.
    pub versions: Vec<String>,
}

pub(super) fn fill(
    report: &mut Report,
    comparisons: &Comparisons,
    subject: &Subject,
    checkouts: &[Checkout],
    options: &Options,
) -> Result<(), BenchError> {
    report.properties = vec![
        ("programs", subject.versions.join("; ")),
        ("changesets", subject.changesets.to_string()),
        (
            "FILE",
            format!("{}, with {} revisions", subject.file, subject.revisions),
        ),
        (
            "outputs",
            "those of varve and hg were compared, and so were the changesets that both committed"
                .to_owned(),
        ),
        (
            "runs",
            format!(
                "1 to warm up, then {}, in turns, without any configuration of the user; clones come from a server of the same program on this machine; median (least-greatest)",
                options.runs
            ),
        ),
    ];
    let title = "Wall time of whole processes, and the ratio of the rounds to Varve.";
    report
        .tables
        .push(comparisons.table(COMMANDS, title.to_owned()));
    report.tables.push(stores(checkouts)?);
    report.notes.extend(comparisons.notes());
    report
        .charts
        .push(comparisons.chart("Time of commands against other programs"));
    if options.git.is_some() {
        report.notes.push(
            "git works on a conversion that was packed by 'git gc'; it commits with core.fsync=all, so that a commit survives a power failure as Varve's does. \
             It clones from 'git daemon', which knows one way only."
                .to_owned(),
        );
    }
    Ok(())
}

fn stores(checkouts: &[Checkout]) -> Result<ResultTable, BenchError> {
    let row = |checkout: &Checkout| {
        let size = checkout.store_size();
        let size = size.map_err(|error| checkout.program.cannot_run(&error))?;
        Ok(vec![Cell::text(checkout.compared.name), Cell::count(size)])
    };
    Ok(ResultTable {
        name: STORES,
        title: "Files of the history, without the working copy. Those of varve and hg are copies of the same store.".to_owned(),
        columns: vec![
            Column::new("program", "program", ColumnUnit::Text),
            Column::new("size", "size", ColumnUnit::Bytes),
        ],
        // rhg reads the copy of hg.
        rows: checkouts
            .iter()
            .filter(|checkout| checkout.compared != ComparedProgram::RHG)
            .map(row)
            .collect::<Result<_, BenchError>>()?,
    })
}
