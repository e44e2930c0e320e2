//! Measures what each compression makes of a database: files, loading, view builds and reads.
//!
//! The same documents are loaded into a new database for every setting in turns, compacted, indexed by a view and
//! read. All databases must give the same texts.

mod documents;
mod locate;
mod peer;
mod tables;
mod trial;

use crate::BenchError;
use crate::couch::Endpoint;
use crate::measuring::{Interleaved, Machine, Rounds, Samples, ScratchDirectory, Task};
use crate::report::Report;
use peer::PeerServer;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trial::Trial;
pub(crate) use trial::{QUANTITIES, TrialSizes};
use varve_base::{Interrupt, Progress, Storage};
use varve_codec::{CodecId, EngineSetting};

pub(crate) use documents::Documents;
pub use documents::SampleSize;
pub use locate::locate;

/// Source of the documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentSource {
    /// The winners of a database, by its file.
    Database(PathBuf),
    /// A file with one JSON object a line.
    Lines(PathBuf),
    /// The winners of a database on a server with CouchDB's HTTP interface, by its URL.
    Url(String),
}

impl DocumentSource {
    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            DocumentSource::Database(path) | DocumentSource::Lines(path) => Some(path),
            DocumentSource::Url(_) => None,
        }
    }

    /// Path or URL, without a login.
    fn shown(&self) -> Result<String, BenchError> {
        Ok(match self {
            DocumentSource::Database(path) | DocumentSource::Lines(path) => {
                path.display().to_string()
            }
            DocumentSource::Url(url) => Endpoint::database(url)?.shown().to_owned(),
        })
    }
}

/// A compression of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Codec and level.
    pub setting: EngineSetting,
    /// A dictionary is trained; only zstd has any.
    pub has_dictionary: bool,
}

/// Settings to measure, and numbers of documents and runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Codecs with levels, in the order of the report; zstd is measured with and without a dictionary.
    pub settings: Vec<EngineSetting>,
    /// Documents that are loaded, evenly spread.
    pub sample: SampleSize,
    /// Map function of the view.
    pub map: String,
    /// URLs of servers with CouchDB's HTTP interface that do the same over HTTP, each in a database that is made for it.
    pub servers: Vec<String>,
    /// Rounds that count; at least 3.
    pub runs: usize,
}

/// A view that holds whole documents, so that its file tells how they compress there.
pub const DEFAULT_MAP: &str = "function (doc) { emit(doc._id, doc); }";

impl Default for Options {
    /// All codecs at the levels between which people choose, 10,000 documents, three runs.
    fn default() -> Self {
        let plain = [(CodecId::None, 0), (CodecId::Snappy, 0)];
        let deflate = [1, 6, 9].map(|level| (CodecId::Zlib, level));
        let zstd = [1, 3, 9, 19].map(|level| (CodecId::Zstd, level));
        let all = plain.into_iter().chain(deflate).chain(zstd);
        Options {
            settings: all
                .filter_map(|(codec, level)| EngineSetting::new(codec, level).ok())
                .collect(),
            sample: SampleSize::within_memory(10_000),
            map: DEFAULT_MAP.to_owned(),
            servers: Vec::new(),
            runs: 3,
        }
    }
}

/// One compression, measured.
#[derive(Clone, Debug)]
pub(crate) struct CompressionRow {
    pub compression: Compression,
    /// `None` if the interrupt came before it was built once.
    pub sizes: Option<TrialSizes>,
    pub quantities: [Samples; QUANTITIES],
}

/// A server that did the same over HTTP.
#[derive(Clone, Debug)]
pub(crate) struct ServerRow {
    /// Name and version.
    pub name: String,
    /// `None` if the interrupt came before its first run.
    pub sizes: Option<TrialSizes>,
    pub quantities: [Samples; QUANTITIES],
}

impl CompressionRow {
    /// Seconds of loading the documents.
    pub(crate) fn load(&self) -> &Samples {
        let [load, ..] = &self.quantities;
        load
    }

    /// Microseconds of a read, the 50th percentile of each run.
    pub(crate) fn read(&self) -> &Samples {
        let [_, _, _, read, ..] = &self.quantities;
        read
    }
}

/// Measures documents of `source` in temporary databases inside of `scratch`.
///
/// # Errors
/// [`BenchError`]: unreadable documents, a map function that does not compile, too few runs; texts that differ between
/// two databases.
pub fn run(
    storage: &Arc<dyn Storage>,
    (source, scratch): (&DocumentSource, &Path),
    options: &Options,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Report, BenchError> {
    let machine = Machine::now();
    let documents = Documents::read(storage, source, options.sample, interrupt)?;
    let rounds = Rounds {
        runs: options.runs,
        progress,
        interrupt,
    };
    let compressions = with_and_without_dictionary(&options.settings);
    let servers = options.servers.iter().map(|url| PeerServer::find(url));
    let servers: Vec<PeerServer> = servers.collect::<Result<_, _>>()?;
    let (rows, done) = measure_with_servers(
        (storage, scratch),
        (&documents, options),
        (&compressions, &servers),
        &rounds,
    )?;
    let title = format!("varve bench db {}", source.shown()?);
    let mut report = Report::new(title, machine, options.runs);
    tables::fill(&mut report, &rows, &documents, options);
    report.judge(&done, &[]);
    Ok(report)
}

fn with_and_without_dictionary(settings: &[EngineSetting]) -> Vec<Compression> {
    let plain = settings.iter().map(|setting| (*setting, false));
    let zstd = settings
        .iter()
        .filter(|setting| setting.codec() == CodecId::Zstd);
    let all = plain.chain(zstd.map(|setting| (*setting, true)));
    all.map(|(setting, has_dictionary)| Compression {
        setting,
        has_dictionary,
    })
    .collect()
}

/// Builds each database once, without any comparison: to learn how long that takes.
pub(crate) fn build_once(
    storage: &Arc<dyn Storage>,
    scratch: &Path,
    (documents, options): (&Documents, &Options),
    compressions: &[Compression],
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let directory = ScratchDirectory::create(storage, scratch)?;
    let group = trial::group(&options.map)?;
    for compression in compressions {
        let trial = Trial {
            directory: &directory,
            documents,
            group: &group,
            compression: *compression,
            interrupt,
        };
        trial.run()?;
    }
    Ok(())
}

/// Rows of compressions and of servers.
pub(crate) type Rows = (Vec<CompressionRow>, Vec<ServerRow>);

pub(crate) fn measure(
    storage: &Arc<dyn Storage>,
    scratch: &Path,
    load: (&Documents, &Options),
    compressions: &[Compression],
    rounds: &Rounds<'_>,
) -> Result<(Vec<CompressionRow>, Interleaved), BenchError> {
    let subjects = (compressions, &[][..]);
    let ((rows, _), done) = measure_with_servers((storage, scratch), load, subjects, rounds)?;
    Ok((rows, done))
}

fn measure_with_servers(
    (storage, scratch): (&Arc<dyn Storage>, &Path),
    (documents, options): (&Documents, &Options),
    (compressions, servers): (&[Compression], &[PeerServer]),
    rounds: &Rounds<'_>,
) -> Result<(Rows, Interleaved), BenchError> {
    let directory = ScratchDirectory::create(storage, scratch)?;
    let group = trial::group(&options.map)?;
    let count = compressions.len() + servers.len();
    let sizes: Vec<Cell<Option<TrialSizes>>> = (0..count).map(|_| Cell::new(None)).collect();
    let texts = Cell::new(None);
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (compression, found) in compressions.iter().zip(&sizes) {
        let (directory, group, texts) = (&directory, &group, &texts);
        tasks.push(Box::new(move || {
            let trial = Trial {
                directory,
                documents,
                group,
                compression: *compression,
                interrupt: rounds.interrupt,
            };
            let (quantities, built) = trial.run()?;
            if texts
                .replace(Some(built.texts))
                .is_some_and(|before| before != built.texts)
            {
                return Err(BenchError::OtherTexts {
                    setting: compression.setting,
                });
            }
            found.set(Some(built));
            Ok(quantities.to_vec())
        }));
    }
    for (server, found) in servers.iter().zip(&sizes[compressions.len()..]) {
        tasks.push(Box::new(move || {
            let (quantities, built) = server.run(documents, &options.map, rounds.interrupt)?;
            found.set(Some(built));
            Ok(quantities.to_vec())
        }));
    }
    let done = rounds.interleave("loading, indexing and reading", &mut tasks)?;
    drop(tasks);
    let quantities = |task| std::array::from_fn(|quantity| done.of(task, quantity));
    let rows = compressions.iter().zip(&sizes).enumerate();
    let rows = rows.map(|(index, (compression, sizes))| CompressionRow {
        compression: *compression,
        sizes: sizes.get(),
        quantities: quantities(index),
    });
    let first = compressions.len();
    let of_servers = servers.iter().zip(&sizes[first..]).enumerate();
    let of_servers = of_servers.map(|(index, (server, sizes))| ServerRow {
        name: server.name().to_owned(),
        sizes: sizes.get(),
        quantities: quantities(first + index),
    });
    Ok(((rows.collect(), of_servers.collect()), done))
}
