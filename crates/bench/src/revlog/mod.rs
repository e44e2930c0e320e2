//! Measures reading and writing of a repository's revlogs.
//!
//! `bench/revlogs.py` does the same work with Mercurial's own library, in the same run.

mod measure;
mod render;

use crate::BenchError;
use measure::Bench;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use varve_base::{Interrupt, Progress, Storage, Unit};
use varve_repo::Repository;

pub use render::{json, table};

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
    /// How long each run took, the fastest first.
    pub times: Vec<Duration>,
    /// Stored bytes that were written, and those of the repository in their place.
    pub written: Option<(u64, u64)>,
}

impl Row {
    /// The run in the middle.
    pub fn median(&self) -> Duration {
        let middle = self.times.get(self.times.len() / 2);
        middle.copied().unwrap_or_default()
    }
}

/// Measurements of one repository.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The repository.
    pub path: PathBuf,
    /// Codec and level of the chunks that are written.
    pub engine: String,
    /// The measurements.
    pub rows: Vec<Row>,
}

/// Measures the repository at `path`. An interrupt behind the first row leaves out those that are missing.
///
/// # Errors
/// [`BenchError`]: an unreadable file, too few runs, or the interrupt.
pub fn run(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    if options.runs < 3 {
        return Err(BenchError::TooFewRuns { runs: options.runs });
    }
    let repository = Repository::open(Arc::clone(storage), path)?;
    let bench = Bench::open(storage, &repository, options, interrupt)?;
    let (mut rows, works) = (Vec::new(), measure::WORKLOADS);
    progress.begin("measuring", Unit::Items, Some(works.len() as u64));
    for work in works {
        match bench.rows(work) {
            Err(_) if interrupt.is_raised() && !rows.is_empty() => break,
            measured => rows.extend(measured?),
        }
        progress.advance(1);
    }
    progress.end();
    Ok(Report {
        path: path.to_owned(),
        engine: bench.engine().to_string(),
        rows,
    })
}
