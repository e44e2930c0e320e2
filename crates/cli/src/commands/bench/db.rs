//! `bench db`: compressions of a database.

use super::output::OutputArgs;
use crate::context::Context;
use crate::error::CliError;
use std::path::{Path, PathBuf};
use varve_bench::database::{self, DEFAULT_MAP, DocumentSource, Options, SampleSize};
use varve_codec::EngineSetting;

/// Measure what every compression makes of a database
///
/// Loads a sample of the documents of a database, or of a file, into a new database for each compression in turns;
/// compacts it, builds a view, and reads single documents and all of them. zstd is measured with and without a trained
/// dictionary. Prints the sizes of the files, the rates of loading and scanning, the times of a view build and of
/// reads, and the peak of memory, as median and range. All databases must give the same texts. The temporary
/// databases lie beside the given file; nothing of the database is changed. Servers with CouchDB's interface do the
/// same over HTTP, as they are configured, in a new database that is deleted at the end. Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
pub(super) struct DbArgs {
    /// Database to take documents from: its file, its name in a served directory, or its http:// URL; the server of a
    /// URL is measured too
    #[arg(
        value_name = "DATABASE",
        required_unless_present = "docs",
        conflicts_with = "docs"
    )]
    database: Option<PathBuf>,
    /// Take the documents from FILE, one JSON object a line
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
    /// Codec with level to measure, such as zstd_9; none, snappy, deflate_1, 6, 9 and zstd_1, 3, 9, 19 if none is given
    /// (can be repeated)
    #[arg(long = "codec", value_name = "CODEC")]
    codecs: Vec<EngineSetting>,
    /// Load at least N documents, evenly spread, and less than twice as many, whatever memory they take; 10000 if no number
    /// is given, or as many as fit into 256 MiB
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// Map function of the view
    #[arg(long, value_name = "FUNCTION", default_value = DEFAULT_MAP)]
    map: String,
    /// Also measure the server at URL, such as http://USER:PASSWORD@127.0.0.1:5984 (can be repeated)
    #[arg(long = "server", value_name = "URL")]
    servers: Vec<String>,
    /// How often each measurement is made; at least 3
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &DbArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let storage = super::private_disk();
    let source = match (&args.docs, &args.database) {
        (Some(file), _) => DocumentSource::Lines(file.clone()),
        (None, Some(named)) if is_url(named) => {
            DocumentSource::Url(named.to_string_lossy().into_owned())
        }
        (None, Some(named)) => DocumentSource::Database(database::locate(storage.as_ref(), named)?),
        // clap asks for one of them.
        (None, None) => return Err(varve_bench::BenchError::Nothing.into()),
    };
    let sample = args
        .sample
        .map(|count| SampleSize::at_least(count as usize));
    let mut options = Options {
        sample: sample.unwrap_or(Options::default().sample),
        map: args.map.clone(),
        servers: servers(args, &source),
        runs: args.runs,
        ..Options::default()
    };
    if !args.codecs.is_empty() {
        options.settings.clone_from(&args.codecs);
    }
    let beside = source.path().and_then(Path::parent);
    let beside = beside.unwrap_or(Path::new("")).to_owned();
    let (progress, stop) = (context.progress, context.stop);
    let report = database::run(&storage, (&source, &beside), &options, progress, stop)?;
    args.output.print(&report, context)
}

fn is_url(named: &Path) -> bool {
    named.to_str().is_some_and(|text| text.contains("://"))
}

/// Servers to measure: that of the documents first.
fn servers(args: &DbArgs, source: &DocumentSource) -> Vec<String> {
    let first = match source {
        DocumentSource::Url(url) => Some(url.clone()),
        DocumentSource::Database(_) | DocumentSource::Lines(_) => None,
    };
    first.into_iter().chain(args.servers.clone()).collect()
}
