//! `bench repo`: engines and levels on a repository.

use super::output::OutputArgs;
use crate::context::Context;
use crate::error::CliError;
use std::path::PathBuf;
use varve_bench::repository::{self, Options};
use varve_codec::EngineSetting;

/// Measure what every engine and level makes of a repository
///
/// Compresses every chunk of the store anew at each level, expands it again and compares; writes the manifest at each
/// level into a temporary directory beside the store, and in turns reads its newest revisions from there and writes
/// them anew in memory. Prints the size of the store and of the manifest, the times of reading and writing as median
/// and range, both engines against each other, the stages of reading, and the types of the chunks that are there now.
/// Nothing in the repository is changed. Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
pub(super) struct RepoArgs {
    /// Repository to measure
    #[arg(value_name = "REPO")]
    repository: PathBuf,
    /// Engine with level to measure, such as zstd_9 or deflate_6; deflate 1, 6, 9 and zstd 1, 3, 5, 10, 15, 19, 22 if
    /// none is given (can be repeated)
    #[arg(long = "codec", value_name = "CODEC")]
    codecs: Vec<EngineSetting>,
    /// Compress about N chunks only, evenly spread, and predict sizes from them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// Read and write the newest N revisions of the manifest
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    manifests: u32,
    /// How often each measurement is made; at least 3
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RepoArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let mut options = Options {
        sample: args.sample.map(|count| count as usize),
        manifests: args.manifests as usize,
        runs: args.runs,
        ..Options::default()
    };
    if !args.codecs.is_empty() {
        options.settings.clone_from(&args.codecs);
    }
    let storage = super::disk();
    let (progress, stop) = (context.progress, context.stop);
    let report = repository::run(&storage, &args.repository, &options, progress, stop)?;
    args.output.print(&report, context)
}
