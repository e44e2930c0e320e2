//! Measures what bundlespecs make of a repository's history: writing a bundle, its size, and what a client needs to
//! apply it to an empty repository.

mod tables;
mod trial;

use crate::BenchError;
use crate::measuring::{Machine, Rounds, Samples, ScratchDirectory, Task};
use crate::report::Report;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use trial::{History, Trial};
use varve_base::{Interrupt, Progress, Storage};
use varve_exchange::format::bundlespec::{BundleSpec, SpecDefaults};
use varve_repo::Repository;

/// Bundlespecs to measure, and numbers of runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bundlespecs in the order of the report.
    pub specs: Vec<String>,
    /// Rounds that count; at least 3.
    pub runs: usize,
}

impl Default for Options {
    /// Every engine of bundles at the levels between which people choose, the slow ones of zstd also by all cores.
    fn default() -> Options {
        let specs = [
            "none-v2",
            "gzip-v2;compressionlevel=1",
            "gzip-v2;compressionlevel=6",
            "gzip-v2;compressionlevel=9",
            "bzip2-v2",
            "zstd-v2;compressionlevel=1;compressionthreads=1",
            "zstd-v2;compressionlevel=3;compressionthreads=1",
            "zstd-v2;compressionlevel=9;compressionthreads=1",
            "zstd-v2;compressionlevel=15;compressionthreads=1",
            "zstd-v2;compressionlevel=15;compressionthreads=-1",
            "zstd-v2;compressionlevel=19;compressionthreads=1",
            "zstd-v2;compressionlevel=19;compressionthreads=-1",
        ];
        Options {
            specs: specs.map(str::to_owned).to_vec(),
            runs: 3,
        }
    }
}

/// Wall time and processor time of writing, then of applying, in seconds.
const QUANTITIES: usize = 4;

/// One bundlespec, measured.
#[derive(Clone, Debug)]
struct SpecRow {
    text: String,
    spec: BundleSpec,
    /// Bytes of the bundle; 0 before it was written.
    size: u64,
    quantities: [Samples; QUANTITIES],
}

/// Measures the served changesets of the repository at `path`, in temporary files inside of `scratch`. Nothing of the
/// repository is changed.
///
/// # Errors
/// [`BenchError`]: a text that is no bundlespec, or one of another kind; damage; too few runs; a repository that is not
/// the same after it was bundled and applied.
pub fn run(
    storage: &Arc<dyn Storage>,
    (path, scratch): (&Path, &Path),
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    let machine = Machine::now();
    let mut specs = Vec::with_capacity(options.specs.len());
    for text in &options.specs {
        specs.push((text.clone(), parse(text)?));
    }
    let repository = Repository::open(Arc::clone(storage), path)?;
    let history = History::of(&repository)?;
    let directory = ScratchDirectory::create(storage, scratch)?;
    let rounds = Rounds {
        runs: options.runs,
        progress,
        interrupt,
    };
    let sizes: Vec<Cell<u64>> = specs.iter().map(|_| Cell::default()).collect();
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for ((number, (_, spec)), size) in specs.iter().enumerate().zip(&sizes) {
        let trial = Trial {
            history: &history,
            spec,
            directory: directory.path().join(number.to_string()),
            storage,
            interrupt,
        };
        tasks.push(Box::new(move || {
            let (quantities, bytes) = trial.run()?;
            size.set(bytes);
            Ok(quantities.to_vec())
        }));
    }
    let done = rounds.interleave("writing and applying bundles", &mut tasks)?;
    drop(tasks);
    let rows = specs.into_iter().zip(sizes).enumerate();
    let rows: Vec<SpecRow> = rows
        .map(|(index, ((text, spec), size))| SpecRow {
            text,
            spec,
            size: size.get(),
            quantities: std::array::from_fn(|quantity| done.of(index, quantity)),
        })
        .collect();
    let title = format!("varve bench bundle {}", path.display());
    let mut report = Report::new(title, machine, options.runs);
    tables::fill(&mut report, &rows, &history, options);
    report.judge(&done, &[]);
    Ok(report)
}

fn parse(text: &str) -> Result<BundleSpec, BenchError> {
    let habits = SpecDefaults {
        general_delta: true,
    };
    let spec = BundleSpec::parse(text, habits).map_err(|error| BenchError::BundleSpec {
        spec: text.to_owned(),
        reason: error.to_string(),
    })?;
    match spec.contents().stream {
        None => Ok(spec),
        Some(_) => Err(BenchError::BundleSpec {
            spec: text.to_owned(),
            reason: "bundles of a store's files are not compressed again".to_owned(),
        }),
    }
}
