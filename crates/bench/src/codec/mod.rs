//! Measures codecs, levels and dictionaries on the chunks that would really be compressed.
//!
//! A repository gives the deltas and full texts that its revlogs hold; a database or view index
//! its document bodies and tree nodes; a file of JSON lines its lines; any other file pieces of up
//! to 1 MiB.

mod corpus;
mod measure;
mod sources;
mod tables;

use crate::BenchError;
use crate::measuring::{Interleaved, Machine, Rounds, Samples, Task};
use crate::report::{Histogram, Report};
use corpus::Corpus;
use measure::Trial;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use varve_base::{Interrupt, Progress, Storage, Unit};
use varve_codec::{CodecId, Dictionary, EngineSetting};

/// Settings to measure, and numbers of runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which codecs at which levels, in the order of the report.
    pub settings: Vec<EngineSetting>,
    /// Sizes in bytes of the dictionaries that each zstd setting is also measured with.
    pub dictionaries: Vec<usize>,
    /// How often each measurement is made; at least 3.
    pub runs: usize,
    /// At most about so many bytes of chunks are measured; of more, an even sample.
    pub max_bytes: usize,
}

impl Default for Options {
    /// All codecs at the levels between which people choose, dictionaries of 16 and 64 KiB, five
    /// runs, 8 MiB: together about a minute.
    fn default() -> Self {
        let zlib = [1, 6, 9].map(|level| (CodecId::Zlib, level));
        let zstd = [1, 3, 6, 9, 12, 19].map(|level| (CodecId::Zstd, level));
        let plain = [(CodecId::None, 0), (CodecId::Snappy, 0)];
        let all = plain.into_iter().chain(zlib).chain(zstd);
        Options {
            settings: all
                .filter_map(|(codec, level)| EngineSetting::new(codec, level).ok())
                .collect(),
            dictionaries: vec![16 << 10, 64 << 10],
            runs: 5,
            max_bytes: 8 << 20,
        }
    }
}

/// Kind of a measured path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A Mercurial repository.
    Repository,
    /// A Varve database or view index.
    Database,
    /// A file with one JSON value a line.
    JsonLines,
    /// Any other file.
    File,
}

impl SourceKind {
    /// Name for tables.
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Repository => "repository",
            SourceKind::Database => "database",
            SourceKind::JsonLines => "JSON lines",
            SourceKind::File => "file",
        }
    }
}

/// One file, repository or database that chunks came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSource {
    /// Where it is.
    pub path: PathBuf,
    /// Kind of its path.
    pub kind: SourceKind,
    /// How many chunks it has.
    pub chunks: u64,
    /// Their bytes before compression.
    pub bytes: u64,
}

/// One codec at one level, with or without a dictionary.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Codec and level.
    pub setting: EngineSetting,
    /// Length in bytes of the dictionary, if there is one.
    pub dictionary: Option<usize>,
    /// How many chunks were compressed.
    pub chunks: usize,
    /// How many of them became no shorter, and would be stored as they are.
    pub incompressible: usize,
    /// Bytes before compression.
    pub bytes_in: u64,
    /// Bytes after, with the dictionary.
    pub bytes_out: u64,
    /// How many chunks each timed run went over: all, or an even part of them where one run over
    /// all takes long.
    pub timed: usize,
    /// Speed of compressing, in 10^6 bytes before compression a second.
    pub compress: Samples,
    /// Speed of expanding, in 10^6 bytes before compression a second.
    pub expand: Samples,
}

impl Row {
    /// How many bytes one stored byte stands for.
    pub fn ratio(&self) -> f64 {
        self.bytes_in as f64 / self.bytes_out.max(1) as f64
    }
}

/// Measurements and their sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// Where the chunks came from.
    pub sources: Vec<ChunkSource>,
    /// One in how many chunks was measured; 1 if all were.
    pub sampled: u64,
    /// How many chunks were measured.
    pub chunks: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Length in bytes of the longest one.
    pub longest: usize,
    /// Speed of copying the chunks one behind the other, the reference for compression, in 10^6 bytes a second.
    pub memcpy_all: Samples,
    /// Speed of copying each chunk into the same buffer, the reference for expansion, in 10^6 bytes a second.
    pub memcpy_each: Samples,
    /// The measurements.
    pub rows: Vec<Row>,
    /// Sizes of dictionaries that could not be trained, because there are too few chunks for them.
    pub untrained: Vec<usize>,
    /// Sizes of the chunks before compression.
    pub sizes: Histogram,
    /// The runs as they were made.
    pub done: Interleaved,
}

/// Collects the chunks of `paths`, measures, and reports. An interrupt behind the first round leaves out later ones.
///
/// # Errors
/// As of [`measure`].
pub fn run(
    storage: &Arc<dyn Storage>,
    paths: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    let machine = Machine::now();
    let found = measure(storage, paths, options, progress, interrupt)?;
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let title = format!("varve bench codec {}", names.join(" "));
    let mut report = Report::new(title, machine, options.runs);
    tables::fill(&mut report, &found, options);
    report.judge(&found.done, &[]);
    Ok(report)
}

/// Collects the chunks of `paths` and measures.
///
/// # Errors
/// [`BenchError`]: a path that cannot be read, damage, too few runs, or the interrupt before the first round.
pub fn measure(
    storage: &Arc<dyn Storage>,
    paths: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Measurements, BenchError> {
    if options.runs < 3 {
        return Err(BenchError::TooFewRuns { runs: options.runs });
    }
    let mut corpus = Corpus::new(options.max_bytes);
    progress.begin("reading chunks", Unit::Bytes, None);
    let sources = sources::collect(storage, paths, &mut corpus, progress, interrupt)?;
    progress.end();
    if corpus.is_empty() {
        return Err(BenchError::Nothing);
    }
    let (trained, untrained) = train(&corpus, options);
    let zstd = options
        .settings
        .iter()
        .filter(|setting| setting.codec() == CodecId::Zstd);
    let with_dictionary = trained.iter().flat_map(|dictionary| {
        zstd.clone()
            .map(move |&setting| (setting, Some(dictionary)))
    });
    let plain = options.settings.iter().map(|&setting| (setting, None));
    let wanted: Vec<_> = plain.chain(with_dictionary).collect();
    progress.begin("compressing", Unit::Items, Some(wanted.len() as u64));
    let mut trials = Vec::with_capacity(wanted.len());
    for (setting, dictionary) in wanted {
        trials.push(RefCell::new(Trial::new(
            &corpus, setting, dictionary, interrupt,
        )?));
        progress.advance(1);
    }
    progress.end();
    let rounds = Rounds {
        runs: options.runs,
        progress,
        interrupt,
    };
    let done = interleaved(&corpus, &trials, &rounds)?;
    let mut sizes = Histogram::new("Sizes of chunks", "bytes in a chunk (classes double)");
    corpus
        .chunks()
        .for_each(|chunk| sizes.add(chunk.len() as u64));
    let rows = trials.into_iter().map(RefCell::into_inner).enumerate();
    Ok(Measurements {
        sources,
        sampled: corpus.stride(),
        chunks: corpus.len(),
        bytes: corpus.bytes(),
        longest: corpus.chunks().map(<[u8]>::len).max().unwrap_or(0),
        memcpy_all: done.of(0, 0),
        memcpy_each: done.of(0, 1),
        rows: rows
            .map(|(index, trial)| Row {
                compress: done.of(index + 1, 0),
                expand: done.of(index + 1, 1),
                ..trial.row
            })
            .collect(),
        untrained,
        sizes,
        done,
    })
}

/// Copying first, then all trials.
fn interleaved(
    corpus: &Corpus,
    trials: &[RefCell<Trial<'_>>],
    rounds: &Rounds<'_>,
) -> Result<Interleaved, BenchError> {
    let mut tasks: Vec<Task<'_>> = vec![Box::new(|| {
        let all = measure::memcpy_speed(corpus, false);
        Ok(vec![all, measure::memcpy_speed(corpus, true)])
    })];
    for trial in trials {
        tasks.push(Box::new(|| {
            let (compress, expand) = trial.borrow_mut().run(rounds.interrupt)?;
            Ok(vec![compress, expand])
        }));
    }
    rounds.interleave("compressing and expanding", &mut tasks)
}

/// The dictionaries, and the sizes for which there is too little to learn from.
fn train(corpus: &Corpus, options: &Options) -> (Vec<Dictionary>, Vec<usize>) {
    /// zstd's own advice: about a hundred times the dictionary's size.
    const SAMPLES: usize = 100;
    let (mut trained, mut untrained) = (Vec::new(), Vec::new());
    let any_zstd = options
        .settings
        .iter()
        .any(|setting| setting.codec() == CodecId::Zstd);
    for &size in options.dictionaries.iter().filter(|_| any_zstd) {
        let samples = corpus.sample(size.saturating_mul(SAMPLES));
        match Dictionary::train(&samples, size) {
            Ok(dictionary) => trained.push(dictionary),
            Err(_) => untrained.push(size),
        }
    }
    (trained, untrained)
}
