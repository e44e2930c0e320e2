//! `bench`: what a choice costs and gives on the user's own data.

use crate::context::Context;
use crate::error::CliError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, Storage};
use varve_bench::codec::{self, Options};
use varve_codec::EngineSetting;

/// Measure on your own data what a choice costs and gives
#[derive(clap::Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Codec(CodecArgs),
}

/// Measure size and speed of every codec and level
///
/// Cuts the given files, folders, repositories and databases into the chunks that would really be
/// compressed, and prints for each codec and level: chunks, bytes in, bytes out, ratio, and the
/// speeds of compressing and expanding in MB/s as median and range of five runs, with the speed
/// of copying memory as base line. Every chunk is expanded again and compared. zstd is also
/// measured with trained dictionaries.
#[derive(clap::Args, Debug)]
struct CodecArgs {
    /// File, folder, repository or database to take chunks from
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Codec with level to measure, such as zstd_9; all common ones if none is given (can be
    /// repeated)
    #[arg(long = "codec", value_name = "CODEC")]
    codecs: Vec<EngineSetting>,
    /// Print one JSON object
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

/// Measures and prints.
pub(crate) fn run(args: &BenchArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let What::Codec(args) = &args.what;
    let mut options = Options::default();
    if !args.codecs.is_empty() {
        options.settings.clone_from(&args.codecs);
    }
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(Path::new("")));
    let report = codec::run(
        &storage,
        &args.paths,
        &options,
        context.progress,
        context.stop,
    )?;
    let text = if args.json {
        codec::json(&report)
    } else if args.csv {
        codec::csv(&report)
    } else {
        codec::table(&report)
    };
    context.out.write_all(text.trim_end().as_bytes())?;
    context.out.write_all(b"\n")?;
    Ok(())
}
