//! Measures what engines and levels make of a repository: sizes, reading and writing.
//!
//! Deltas stay as they are; each chunk is compressed anew, expanded again and compared. The manifest is written
//! at every setting into a temporary directory beside the store, and its newest revisions are read from there and
//! written anew in memory.

mod copy;
mod history;
mod pack;
mod read;
mod summary;
mod tables;

use crate::BenchError;
use crate::measuring::{Machine, Rounds, Task};
use crate::report::Report;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, Progress, Storage};
use varve_codec::{CodecId, EngineSetting};
use varve_repo::{Repository, StorageSettings};

pub(crate) use copy::Copies;
pub(crate) use history::History;
pub use history::{Breakdown, ChunkCounts, HistoryPart};
pub(crate) use pack::{Packed, pack_all};
pub(crate) use tables::contents;

/// Settings to measure, and numbers of runs and revisions.
#[derive(Clone, Debug)]
pub struct Options {
    /// Engines with levels, in the order of the report.
    pub settings: Vec<EngineSetting>,
    /// About so many chunks are compressed, evenly spread; all if `None`.
    pub sample: Option<usize>,
    /// So many of the manifest's newest revisions are read and written.
    pub manifests: usize,
    /// Rounds that count; at least 3.
    pub runs: usize,
}

impl Default for Options {
    /// The levels by which Mercurial's developers chose zstd, the whole store, 2,000 manifests, three runs.
    fn default() -> Self {
        let zlib = [1, 6, 9].map(|level| (CodecId::Zlib, level));
        let zstd = [1, 3, 5, 10, 15, 19, 22].map(|level| (CodecId::Zstd, level));
        let all = zlib.into_iter().chain(zstd);
        Options {
            settings: all
                .filter_map(|(codec, level)| EngineSetting::new(codec, level).ok())
                .collect(),
            sample: None,
            manifests: 2000,
            runs: 3,
        }
    }
}

/// One engine at one level, measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EngineRow {
    pub packed: Packed,
    /// Seconds of reading the manifests: all, then the stages.
    pub read: [crate::measuring::Samples; 1 + read::STAGES.len()],
    /// Seconds of writing them.
    pub write: crate::measuring::Samples,
}

impl EngineRow {
    /// Seconds of reading the manifests, all stages.
    pub(crate) fn whole_read(&self) -> &crate::measuring::Samples {
        let [whole, ..] = &self.read;
        whole
    }
}

/// Measures the repository at `path`. Nothing of it is changed.
///
/// # Errors
/// [`BenchError`]: damage, too few runs, an engine that revlogs do not know; the interrupt before the first round.
pub fn run(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    check(options)?;
    let machine = Machine::now();
    let repository = Repository::open(Arc::clone(storage), path)?;
    let history = History::open(storage, &repository)?;
    let rounds = Rounds {
        runs: options.runs,
        progress,
        interrupt,
    };
    let sampled = history.stride(options.sample);
    let (packed, breakdown) = pack_all(&history, &options.settings, sampled, &rounds)?;
    let (rows, done) = measure(&repository, &history, packed, options, &rounds)?;
    let title = format!("varve bench repo {}", path.display());
    let mut report = Report::new(title, machine, options.runs);
    tables::fill(&mut report, &rows, &breakdown, (options, sampled));
    report.judge(&done, &[]);
    Ok(report)
}

pub(crate) fn check(options: &Options) -> Result<(), BenchError> {
    if options.runs < 3 {
        return Err(BenchError::TooFewRuns { runs: options.runs });
    }
    let unknown = options
        .settings
        .iter()
        .find(|setting| setting.codec() == CodecId::Snappy);
    match unknown {
        Some(setting) => Err(BenchError::NotInRevlogs { setting: *setting }),
        None => Ok(()),
    }
}

/// Reads and writes the newest manifests at every setting, in turns.
pub(crate) fn measure(
    repository: &Repository,
    history: &History,
    packed: Vec<Packed>,
    options: &Options,
    rounds: &Rounds<'_>,
) -> Result<(Vec<EngineRow>, crate::measuring::Interleaved), BenchError> {
    let copies = Copies::create(repository, history)?;
    let newest = history.newest_manifests(options.manifests);
    let mut manifests = Vec::with_capacity(packed.len());
    for row in &packed {
        manifests.push(copies.write(row.setting, &newest, rounds)?);
    }
    let base = StorageSettings::default().write_options(repository.requirements());
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (manifest, row) in manifests.iter().zip(&packed) {
        let newest = &newest;
        tasks.push(Box::new(move || {
            read::read(manifest, newest, rounds.interrupt)
        }));
        let how = varve_revlog::WriteOptions {
            engine: row.setting,
            ..base
        };
        let texts = copy::Rewriting {
            storage: copies.storage(),
            manifest,
            newest,
            how,
        };
        let mut is_checked = false;
        tasks.push(Box::new(move || {
            let check = !std::mem::replace(&mut is_checked, true);
            Ok(vec![texts.write(check, rounds.interrupt)?])
        }));
    }
    let done = rounds.interleave("reading and writing", &mut tasks)?;
    drop(tasks);
    let rows = packed
        .into_iter()
        .enumerate()
        .map(|(index, packed)| EngineRow {
            packed,
            read: std::array::from_fn(|stage| done.of(2 * index, stage)),
            write: done.of(2 * index + 1, 0),
        });
    Ok((rows.collect(), done))
}
