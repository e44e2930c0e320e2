//! `bench hg`: commands against stock Mercurial and git.

use super::output::OutputArgs;
use super::programs;
use crate::context::Context;
use crate::error::CliError;
use std::path::{Path, PathBuf};
use varve_bench::commands::{self, Options};

/// Measure commands against the same ones of stock Mercurial, and of git on a conversion
///
/// Every program gets copies of the repository and runs the same commands in turns: status, files, log, diff, cat,
/// annotate, update and commit. Prints wall times as median and range, and the ratio of the rounds. What Varve and
/// Mercurial print must be the same, and so must the changesets that they commit. The copies lie beside the store until
/// the end; nothing in the repository is changed. Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
pub(super) struct HgArgs {
    /// Repository to measure
    #[arg(value_name = "REPO")]
    repository: PathBuf,
    #[command(flatten)]
    programs: ProgramArgs,
    /// Measure only commands with WORDS in their name, such as log (can be repeated)
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
    /// How often each measurement is made; at least 3
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

/// The other programs.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(super) struct ProgramArgs {
    /// Stock Mercurial
    #[arg(long, value_name = "PROGRAM", default_value = "hg")]
    hg: PathBuf,
    /// Also convert the repository to git and measure git
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true, default_missing_value = "git")]
    git: Option<PathBuf>,
    /// Also measure Mercurial's program in Rust, in what it can do
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true, default_missing_value = "rhg")]
    rhg: Option<PathBuf>,
}

impl ProgramArgs {
    /// The programs with their files.
    pub(super) fn options(&self, runs: usize) -> Result<Options, CliError> {
        Ok(Options {
            varve: programs::own()?,
            hg: programs::other(&self.hg)?,
            git: self.git.as_deref().map(programs::other).transpose()?,
            rhg: self.rhg.as_deref().map(programs::other).transpose()?,
            only: Vec::new(),
            runs,
        })
    }
}

pub(super) fn run(args: &HgArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let options = Options {
        only: args.only.clone(),
        ..args.programs.options(args.runs)?
    };
    let report = measured(&args.repository, &options, context)?;
    args.output.print(&report, context)
}

pub(super) fn measured(
    repository: &Path,
    options: &Options,
    context: &Context<'_>,
) -> Result<varve_bench::report::Report, CliError> {
    let scratch = repository.join(".hg");
    let paths = (repository, scratch.as_path());
    let (progress, stop) = (context.progress, context.stop);
    Ok(commands::run(
        &super::disk(),
        paths,
        options,
        progress,
        stop,
    )?)
}
