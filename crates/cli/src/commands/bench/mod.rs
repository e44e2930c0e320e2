//! `bench`: costs and gains of a choice, measured on the user's own data.

mod all;
mod bundle;
mod db;
mod hg;
mod load;
mod output;
mod programs;
mod repo;
mod signals;
mod stream;

pub(super) use output::OutputArgs;
pub(super) use signals::catch as catch_signals;

use crate::context::Context;
use crate::error::CliError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, Storage};
use varve_bench::codec::{self, Options};
use varve_bench::revlog;
use varve_codec::EngineSetting;
use varve_hgcli::context::Command;

/// The line of `bench` in the list of commands; its arguments `clap` takes apart.
pub(crate) const COMMAND: Command = Command {
    names: &["bench"],
    options: &[],
    arguments: 0..=usize::MAX,
    synopsis: "all|bundle|codec|db|hg|load|repo|revlog|stream [OPTION]... PATH|URL",
    summary: "measure on your own data what a choice costs and gives",
    help: "",
    category: None,
    run: |_, _| Err(COMMAND.usage_error("it takes none of hg's options; 'varve bench' comes first")),
};

/// Measure on your own data what a choice costs and gives
#[derive(clap::Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    All(all::AllArgs),
    Bundle(bundle::BundleArgs),
    Codec(CodecArgs),
    Db(db::DbArgs),
    Hg(hg::HgArgs),
    Load(load::LoadArgs),
    Repo(repo::RepoArgs),
    Revlog(RevlogArgs),
    Stream(stream::StreamArgs),
}

/// Measure size and speed of every codec and level
///
/// Cuts the given files, directories, repositories and databases into the chunks that would really be
/// compressed, and prints for each codec and level: stored bytes, ratio, and the speeds of compressing
/// and expanding in MB/s as median and range, with the speed of copying memory as base line. Every
/// chunk is expanded again and compared. zstd is also measured with trained dictionaries. Ctrl-C
/// prints what is there.
#[derive(clap::Args, Debug)]
struct CodecArgs {
    /// File, directory, repository or database to take chunks from
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Codec with level to measure, such as zstd_9; all common ones if none is given (can be
    /// repeated)
    #[arg(long = "codec", value_name = "CODEC")]
    codecs: Vec<EngineSetting>,
    /// How often each measurement is made; at least 3
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

/// Measure reading and writing of a repository's revlogs
///
/// Reads all revisions of the manifest in order, in reverse and every 50th, all changesets, and all
/// chunks; and writes the newest revisions of the manifest anew from their full texts, in memory.
/// Every text is checked against its hash, as in any other command. Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
struct RevlogArgs {
    /// Repository to read; nothing is written to it
    #[arg(value_name = "REPO")]
    repository: PathBuf,
    /// How often each measurement is made
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    /// How many threads read, beside one alone
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// Read only the newest N revisions of the manifest in order and in reverse
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Write the newest N revisions of the manifest
    #[arg(long, value_name = "N", default_value_t = 5000)]
    writes: usize,
    #[command(flatten)]
    output: OutputArgs,
}

/// Measures and prints.
pub(crate) fn run(args: &BenchArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    signals::catch(context.stop)?;
    match &args.what {
        What::All(args) => all::run(args, context),
        What::Bundle(args) => bundle::run(args, context),
        What::Codec(args) => codec(args, context),
        What::Db(args) => db::run(args, context),
        What::Hg(args) => hg::run(args, context),
        What::Load(args) => load::run(args, context),
        What::Repo(args) => repo::run(args, context),
        What::Revlog(args) => revlog(args, context),
        What::Stream(args) => stream::run(args, context),
    }
}

pub(super) fn disk() -> Arc<dyn Storage> {
    Arc::new(DiskStorage::new(Path::new("")))
}

/// The same; all that is made there is for its owner only, as databases are.
pub(super) fn private_disk() -> Arc<dyn Storage> {
    Arc::new(DiskStorage::new(Path::new("")).with_private(&[""]))
}

fn revlog(args: &RevlogArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let options = revlog::Options {
        runs: args.runs,
        threads: args.threads,
        last: args.last.unwrap_or(usize::MAX),
        writes: args.writes,
    };
    let (progress, stop) = (context.progress, context.stop);
    let report = revlog::run(&disk(), &args.repository, &options, progress, stop)?;
    args.output.print(&report, context)
}

fn codec(args: &CodecArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let mut options = Options {
        runs: args.runs,
        ..Options::default()
    };
    if !args.codecs.is_empty() {
        options.settings.clone_from(&args.codecs);
    }
    let (progress, stop) = (context.progress, context.stop);
    let report = codec::run(&disk(), &args.paths, &options, progress, stop)?;
    args.output.print(&report, context)
}
