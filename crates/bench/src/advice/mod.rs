//! Advice: which compression suits a repository or a database, what it will cost, and how to get it.

mod database;
mod goal;
mod redelta;
mod repository;
mod tables;

use crate::BenchError;
use crate::database::locate;
use crate::measuring::Samples;
use crate::report::Report;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use varve_base::storage::EntryKind;
use varve_base::{Interrupt, Progress, Storage};
use varve_codec::EngineSetting;

pub use goal::Goal;

/// Repository or database that advice is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A repository, by the directory with `.hg`.
    Repository(PathBuf),
    /// A database, by its file.
    Database(PathBuf),
}

impl Subject {
    /// The repository at `named`, or else the database of that path or name.
    ///
    /// # Errors
    /// As [`locate`].
    pub fn find(storage: &dyn Storage, named: &Path) -> Result<Subject, BenchError> {
        let is_repository = storage.kind(&named.join(".hg"))? == Some(EntryKind::Directory);
        match is_repository {
            true => Ok(Subject::Repository(named.to_owned())),
            false => locate(storage, named).map(Subject::Database),
        }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        match self {
            Subject::Repository(path) | Subject::Database(path) => path,
        }
    }
}

/// Aim of the advice, and limits of measuring.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Aim of the first choice.
    pub goal: Goal,
    /// Time that measuring may take; it takes about that, never much more.
    pub budget: Duration,
    /// Looks at no more than so many chunks or documents, whatever the budget; for tests of predictions.
    pub most: usize,
}

impl Options {
    /// A goal with the default budget of a minute.
    pub fn new(goal: Goal) -> Options {
        Options {
            goal,
            budget: Duration::from_secs(60),
            most: usize::MAX,
        }
    }
}

/// One way to compress, with what it is predicted to cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The goal that it suits best.
    pub goal: Goal,
    /// Codec and level.
    pub setting: EngineSetting,
    /// Predicted bytes after a recompression or compaction.
    pub size: u64,
    /// Lines of configuration that make later writes use it.
    pub configuration: Vec<String>,
    /// Command that brings what is there to it.
    pub command: String,
    /// Runs of reading, in the unit of the report.
    pub read: Samples,
    /// Seconds of runs of writing.
    pub write: Samples,
    /// Bytes of the codec's context; only zstd's is known.
    pub memory: Option<u64>,
}

/// Three choices, and what they were chosen by.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The choices, the one for the goal first; fewer if there are not so many different ones.
    pub choices: Vec<Choice>,
    /// Everything that was found.
    pub report: Report,
}

/// Measures a sample, and chooses. Nothing of the subject is changed.
///
/// # Errors
/// [`BenchError`]: damage; the interrupt.
pub fn advise(
    storage: &Arc<dyn Storage>,
    subject: &Subject,
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Advice, BenchError> {
    match subject {
        Subject::Repository(path) => {
            repository::advise(storage, path, options, (progress, interrupt))
        }
        Subject::Database(path) => database::advise(storage, path, options, (progress, interrupt)),
    }
}

/// Brings the subject to a choice, configuration included; returns its bytes then.
///
/// # Errors
/// [`BenchError`]: locks that are held, damage, an error of the storage, the interrupt; the subject is then as it was.
pub fn apply(
    storage: &Arc<dyn Storage>,
    subject: &Subject,
    choice: &Choice,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<u64, BenchError> {
    match subject {
        Subject::Repository(path) => {
            repository::apply(storage, path, choice, (progress, interrupt))
        }
        Subject::Database(path) => database::apply(storage, path, choice, (progress, interrupt)),
    }
}

/// A share of the budget, as a number of things that take `each` seconds.
fn affordable(share: Duration, each: f64) -> usize {
    // A cast of a float saturates.
    (share.as_secs_f64() / each.max(1e-9)) as usize
}

/// Seconds since `start`.
fn elapsed(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}
