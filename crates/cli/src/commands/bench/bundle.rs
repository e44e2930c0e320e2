//! `bench bundle`: bundlespecs on a repository.

use super::output::OutputArgs;
use crate::context::Context;
use crate::error::CliError;
use std::path::PathBuf;
use varve_bench::bundle::{self, Options};

/// Measure what bundlespecs make of a repository's history
///
/// Writes all served changesets as a bundle of each kind, and applies it to an empty repository, in turns. Prints the
/// size, the wall time and the processor time of both, and the memory of zstd's context. Every hash is checked on
/// arrival, and the changesets are compared. The temporary files lie beside the store; nothing in the repository is
/// changed. Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
pub(super) struct BundleArgs {
    /// Repository to measure
    #[arg(value_name = "REPO")]
    repository: PathBuf,
    /// Bundlespec to measure, such as 'zstd-v2;compressionlevel=15;compressionthreads=-1'; all engines at common levels
    /// if none is given (can be repeated)
    #[arg(long = "type", value_name = "SPEC")]
    specs: Vec<String>,
    /// How often each measurement is made; at least 3
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &BundleArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let mut options = Options {
        runs: args.runs,
        ..Options::default()
    };
    if !args.specs.is_empty() {
        options.specs.clone_from(&args.specs);
    }
    let scratch = args.repository.join(".hg");
    let paths = (args.repository.as_path(), scratch.as_path());
    let (progress, stop) = (context.progress, context.stop);
    let report = bundle::run(&super::disk(), paths, &options, progress, stop)?;
    args.output.print(&report, context)
}
