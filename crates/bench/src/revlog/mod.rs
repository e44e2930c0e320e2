//! Measures reading and writing of a repository's revlogs.
//!
//! `bench/revlogs.py` does the same work with Mercurial's own library, in the same run.

mod measure;
mod tables;

use crate::BenchError;
use crate::measuring::{Interleaved, Machine, Rounds, Samples, Task};
use crate::report::Report;
use measure::Bench;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, Progress, Storage};
use varve_repo::Repository;

/// Numbers of runs, threads and revisions.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often each measurement is made; at least 3.
    pub runs: usize,
    /// How many threads read where several can.
    pub threads: usize,
    /// Only so many revisions of the manifest are read in order and in reverse, the newest ones.
    pub last: usize,
    /// So many revisions of the manifest are written anew, the newest ones.
    pub writes: usize,
}

impl Default for Options {
    /// Three runs, two threads, all revisions, 5,000 writes.
    fn default() -> Self {
        Options {
            runs: 3,
            threads: 2,
            last: usize::MAX,
            writes: 5000,
        }
    }
}

/// One kind of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Kind of work that was measured.
    pub work: &'static str,
    /// Number of threads.
    pub threads: usize,
    /// Number of revisions.
    pub revisions: usize,
    /// Seconds of each run.
    pub seconds: Samples,
}

/// Measurements of one repository.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// Codec and level of the chunks that are written.
    pub engine: String,
    /// The measurements.
    pub rows: Vec<Row>,
    /// Stored bytes that were written, and those of the repository in their place.
    pub written: (u64, u64),
    /// The runs as they were made.
    pub done: Interleaved,
}

/// Measures the repository at `path`, and reports.
///
/// # Errors
/// As of [`measure`].
pub fn run(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    let machine = Machine::now();
    let found = measure(storage, path, options, progress, interrupt)?;
    let title = format!("varve bench revlog {}", path.display());
    let mut report = Report::new(title, machine, options.runs);
    tables::fill(&mut report, &found, options);
    // Kinds of work are no choices.
    report.judge(&found.done, &[tables::WORK]);
    Ok(report)
}

/// Measures the repository at `path`. An interrupt behind the first round leaves out later ones.
///
/// # Errors
/// [`BenchError`]: an unreadable file, too few runs, or the interrupt before the first round.
pub fn measure(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Measurements, BenchError> {
    if options.runs < 3 {
        return Err(BenchError::TooFewRuns { runs: options.runs });
    }
    let repository = Repository::open(Arc::clone(storage), path)?;
    let bench = Bench::open(storage, &repository, options, interrupt)?;
    let works = bench.works()?;
    let rounds = Rounds {
        runs: options.runs,
        progress,
        interrupt,
    };
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for work in &works {
        tasks.push(Box::new(|| Ok(vec![(work.run)()?])));
    }
    let done = rounds.interleave("reading and writing", &mut tasks)?;
    drop(tasks);
    let rows = works.iter().enumerate().map(|(index, work)| Row {
        work: work.name,
        threads: work.threads,
        revisions: work.revisions,
        seconds: done.of(index, 0),
    });
    let rows = rows.collect();
    drop(works);
    Ok(Measurements {
        engine: bench.engine().to_string(),
        rows,
        written: bench.written(),
        done,
    })
}
