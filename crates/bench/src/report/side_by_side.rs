//! The same work done by several programs, with the ratio of each to the first.

use super::{Cell, Chart, Column, ColumnUnit, RatioChart, RatioMark, RatioRow, ResultTable};
use crate::measuring::{Comparison, Samples, compare};

/// A program with the names of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ComparedProgram {
    /// Its name, and that of the column of its times.
    pub name: &'static str,
    /// Name of the column of its ratio.
    pub ratio: &'static str,
    /// Heading of that column.
    pub heading: &'static str,
}

impl ComparedProgram {
    /// This program, to which all others are compared.
    pub const VARVE: ComparedProgram = ComparedProgram {
        name: "varve",
        ratio: "",
        heading: "",
    };
    /// Stock Mercurial.
    pub const HG: ComparedProgram = ComparedProgram {
        name: "hg",
        ratio: "hg_ratio",
        heading: "hg/varve",
    };
    /// Git.
    pub const GIT: ComparedProgram = ComparedProgram {
        name: "git",
        ratio: "git_ratio",
        heading: "git/varve",
    };
    /// Mercurial's program in Rust, which takes some commands only.
    pub const RHG: ComparedProgram = ComparedProgram {
        name: "rhg",
        ratio: "rhg_ratio",
        heading: "rhg/varve",
    };
}

/// One kind of work, with its seconds.
#[derive(Clone, Debug)]
pub(crate) struct ComparedWork {
    /// Its name.
    pub name: String,
    /// Runs by program; empty if a program cannot do it.
    pub runs: Vec<Samples>,
}

/// All kinds of work.
#[derive(Clone, Debug)]
pub(crate) struct Comparisons {
    /// The first one is that to which the others are compared.
    pub programs: Vec<ComparedProgram>,
    pub works: Vec<ComparedWork>,
}

/// Ratios of the rounds: how many times as long as the first program the other one took.
fn ratios(first: &Samples, other: &Samples) -> Samples {
    let pairs = first.runs().iter().zip(other.runs());
    Samples::new(
        pairs
            .map(|(first, other)| other / first.max(1e-9))
            .collect(),
    )
}

impl Comparisons {
    /// Seconds of each program, and the ratio of each other one to the first, round by round.
    pub fn table(&self, name: &'static str, title: String) -> ResultTable {
        let mut columns = vec![Column::new("work", "work", ColumnUnit::Text)];
        for program in &self.programs {
            columns.push(Column::new(program.name, program.name, ColumnUnit::Seconds));
        }
        for program in self.programs.iter().skip(1) {
            columns.push(Column::new(
                program.ratio,
                program.heading,
                ColumnUnit::Ratio,
            ));
        }
        let row = |work: &ComparedWork| {
            let mut cells = vec![Cell::text(&work.name)];
            cells.extend(work.runs.iter().map(|runs| Cell::measured(runs.clone())));
            let others = work.runs.iter().skip(1);
            cells.extend(others.map(|other| Cell::measured(ratios(&work.runs[0], other))));
            cells
        };
        ResultTable {
            name,
            title,
            columns,
            rows: self.works.iter().map(row).collect(),
        }
    }

    /// The ratios as a plot.
    pub fn chart(&self, title: &str) -> Chart {
        let row = |work: &ComparedWork| RatioRow {
            label: work.name.clone(),
            marks: self.marks(work),
        };
        let others = self.programs.iter().skip(1);
        Chart::Ratios(RatioChart {
            title: title.to_owned(),
            label:
                "time of the other program, as a multiple of Varve's: right of 1 Varve is faster"
                    .to_owned(),
            series: others.map(|program| program.name.to_owned()).collect(),
            rows: self.works.iter().map(row).collect(),
        })
    }

    fn marks(&self, work: &ComparedWork) -> Vec<RatioMark> {
        let others = work.runs.iter().skip(1).enumerate();
        let measured = others.filter(|(_, runs)| !runs.is_empty() && !work.runs[0].is_empty());
        measured
            .map(|(series, runs)| {
                let ratios = ratios(&work.runs[0], runs);
                let (low, high) = ratios.range();
                RatioMark {
                    series,
                    low,
                    median: ratios.median(),
                    high,
                }
            })
            .collect()
    }

    /// A sentence for each other program that the runs of some work do not tell from the first.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (index, program) in self.programs.iter().enumerate().skip(1) {
            let same = self.works.iter().filter(|work| {
                let compared = compare(&work.runs[index], &work.runs[0]);
                compared.is_some_and(|found| !Comparison::is_distinct(found))
            });
            let same: Vec<&str> = same.map(|work| work.name.as_str()).collect();
            if !same.is_empty() {
                notes.push(format!(
                    "{} and {}: not told apart by a paired t-test (95 %): {}.",
                    self.programs[0].name,
                    program.name,
                    same.join(", ")
                ));
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparisons() -> Comparisons {
        let work = |name: &str, runs: [&[f64]; 2]| ComparedWork {
            name: name.to_owned(),
            runs: runs.map(|runs| Samples::new(runs.to_vec())).to_vec(),
        };
        Comparisons {
            programs: vec![ComparedProgram::VARVE, ComparedProgram::HG],
            works: vec![
                work("log", [&[0.1, 0.2, 0.1], &[1.0, 2.0, 1.1]]),
                work("status", [&[0.1, 0.2, 0.1], &[0.2, 0.1, 0.1]]),
                work("annotate", [&[0.1, 0.2, 0.1], &[]]),
            ],
        }
    }

    #[test]
    fn ratios_are_those_of_the_rounds_and_work_that_is_not_told_apart_is_named() {
        let table = comparisons().table("commands", "Commands.".to_owned());
        let texts = |row: usize| -> Vec<String> {
            let cells = table.rows[row].iter().zip(&table.columns);
            cells
                .map(|(cell, column)| cell.for_people(column.unit))
                .collect()
        };
        assert_eq!(texts(0)[3], "10.00 (10.00-11.00)");
        assert_eq!(texts(2)[2..], ["", ""]);
        assert_eq!(
            comparisons().notes(),
            ["varve and hg: not told apart by a paired t-test (95 %): status."]
        );
        let Chart::Ratios(chart) = comparisons().chart("t") else {
            panic!("another chart");
        };
        let marks: Vec<usize> = chart.rows.iter().map(|row| row.marks.len()).collect();
        assert_eq!(marks, [1, 1, 0]);
    }
}
