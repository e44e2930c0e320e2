//! Errors of measurements.

use std::path::PathBuf;
use varve_base::{Interrupted, StorageError};
use varve_btree::TreeError;
use varve_codec::{CodecError, EngineSetting};
use varve_docdb::DocdbError;
use varve_exchange::ExchangeError;
use varve_repo::RepoError;
use varve_revlog::RevlogError;
use varve_views::ViewError;

/// A measurement could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A file or directory could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A revlog is damaged or of a kind that this build does not read.
    #[error(transparent)]
    Revlog(#[from] RevlogError),
    /// A repository is damaged or of a kind that this build does not read.
    #[error(transparent)]
    Repository(#[from] RepoError),
    /// A tree file is damaged or cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A database is damaged or cannot be read.
    #[error(transparent)]
    Database(#[from] DocdbError),
    /// Nothing is at a path.
    #[error("{path} is neither a file nor a directory", path = path.display())]
    NoSource {
        /// The path as given.
        path: PathBuf,
    },
    /// There is not a single byte to compress.
    #[error("there is nothing to measure in the given paths")]
    Nothing,
    /// A codec refused a chunk.
    #[error("{setting} cannot {op} chunk {chunk}: {source}")]
    Codec {
        /// The codec with its level.
        setting: EngineSetting,
        /// `compress` or `expand`.
        op: &'static str,
        /// The chunk's number.
        chunk: usize,
        /// The codec's reason.
        source: CodecError,
    },
    /// A chunk did not come back as it was.
    #[error("{setting}: chunk {chunk} expands to other bytes than were compressed")]
    RoundTrip {
        /// The codec with its level.
        setting: EngineSetting,
        /// The chunk's number.
        chunk: usize,
    },
    /// Too few runs for a median.
    #[error("{runs} runs are too few for a median; at least 3 are needed")]
    TooFewRuns {
        /// How many were asked for.
        runs: usize,
    },
    /// A text that is no bundlespec, or one of another kind.
    #[error("bundlespec {spec}: {reason}")]
    BundleSpec {
        /// The text.
        spec: String,
        /// The reason.
        reason: String,
    },
    /// A bundle cannot be written or applied.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// A bundle was applied, and its changesets are not those of the repository.
    #[error("the bundle gives other changesets than the repository has")]
    OtherHistory,
    /// An engine of which revlogs know nothing.
    #[error("revlogs know none, deflate and zstd, and not {setting}")]
    NotInRevlogs {
        /// The engine with its level.
        setting: EngineSetting,
    },
    /// A text that was written for the measurement reads back as another.
    #[error("{path}: revision {rev} does not read back as it was", path = path.display())]
    WrongText {
        /// The file.
        path: PathBuf,
        /// The revision.
        rev: u32,
    },
    /// A program cannot be started.
    #[error("cannot run {program}: {reason}", program = program.display())]
    Program {
        /// Its file.
        program: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A program did not succeed.
    #[error("'{command}' fails: {reason}")]
    FailedCommand {
        /// The call.
        command: String,
        /// The end of its standard error, or its exit status.
        reason: String,
    },
    /// Two programs that do the same work print different texts.
    #[error("'{command}' prints other bytes than Varve")]
    OtherOutput {
        /// The call of the other program.
        command: String,
    },
    /// Two programs that commit the same files make different changesets.
    #[error("{program} makes another changeset of the same files than Varve")]
    OtherChangeset {
        /// Name of the other program.
        program: &'static str,
    },
    /// A choice of commands that leaves none.
    #[error("no measured command has '{word}' in its name")]
    NoCommand {
        /// The word.
        word: String,
    },
    /// A server answered the same request in two ways.
    #[error("{url} answers the same request with different bytes; measure while nothing is pushed")]
    OtherAnswer {
        /// The server.
        url: String,
    },
    /// A URL where a path or a name is needed.
    #[error("{url} is a URL; only files are measured: give the path or the name of a database")]
    Remote {
        /// The URL as given.
        url: String,
    },
    /// A template that gives no documents.
    #[error("the template gives no JSON object: {reason}")]
    Template {
        /// The reason.
        reason: String,
    },
    /// A server cannot be loaded.
    #[error("cannot load {url}: {reason}")]
    Server {
        /// The URL without its login, or as it was given.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A file that is no database of this program.
    #[error("{path} is not a Varve database", path = path.display())]
    NotADatabase {
        /// The file or directory.
        path: PathBuf,
    },
    /// A line of a file is not a JSON object.
    #[error("{path}, line {line}: {reason}", path = path.display())]
    NotADocument {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// Why not.
        reason: String,
    },
    /// A line of a file of results is not one.
    #[error("{path}, line {line}: not a result", path = path.display())]
    NotAResult {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
    },
    /// A document cannot be stored.
    #[error("document '{id}' is refused: {reason}")]
    Refused {
        /// Its id.
        id: String,
        /// The database's reason.
        reason: String,
    },
    /// A document that was stored is not there.
    #[error("document '{id}' was stored and is not there")]
    Missing {
        /// Its id.
        id: String,
    },
    /// Two databases of the same documents differ.
    #[error("a database compressed with {setting} gives other texts than the one before")]
    OtherTexts {
        /// Compression of the second.
        setting: EngineSetting,
    },
    /// A server gives a document back that is not the one which was sent.
    #[error("{server} gives document '{id}' back with other contents")]
    OtherDocument {
        /// The server.
        server: String,
        /// Id of the document.
        id: String,
    },
    /// A map function cannot be used.
    #[error("the map function is refused: {reason}")]
    Map {
        /// The reason.
        reason: String,
    },
    /// A view cannot be built.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Latencies cannot be counted.
    #[error("cannot count latencies: {reason}")]
    Histogram {
        /// The library's reason.
        reason: String,
    },
    /// A plot could not be drawn.
    #[error("cannot draw a plot: {reason}")]
    Plot {
        /// The plotting library's reason.
        reason: String,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
