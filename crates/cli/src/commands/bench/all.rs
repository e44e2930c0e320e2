//! `bench all`: every measurement of a repository or of a database.

use super::hg::{self, ProgramArgs};
use super::output::OutputArgs;
use super::{disk, private_disk};
use crate::context::Context;
use crate::error::CliError;
use std::path::{Path, PathBuf};
use varve_bench::advice::Subject;
use varve_bench::database::{self, DocumentSource, SampleSize};
use varve_bench::processes::Program;
use varve_bench::report::Report;
use varve_bench::{BenchError, bundle, codec, repository, revlog, stream};

/// Chunks of each engine if the user names no number.
const CHUNKS: usize = 10_000;

/// Make every measurement of a repository or of a database, and print one report
///
/// Of a repository: codecs alone, engines and levels, revlogs, bundles, clones over HTTP, and commands against stock
/// Mercurial (see 'varve bench repo', 'bundle', 'stream' and 'hg'); of a database: codecs alone, and compressions (see
/// 'varve bench db'). Without stock Mercurial commands and its server are left out, and the report says so. This takes
/// many minutes. Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
pub(super) struct AllArgs {
    /// Repository, or database by its file or its name in a served directory
    #[arg(value_name = "REPO|DATABASE")]
    subject: PathBuf,
    #[command(flatten)]
    programs: ProgramArgs,
    /// Compress about N chunks or load about N documents; 10000 if no number is given, of documents as many as fit into
    /// 256 MiB
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// How often each measurement is made; at least 3
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &AllArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let mut parts = Vec::new();
    match Subject::find(disk().as_ref(), &args.subject)? {
        Subject::Repository(path) => of_repository(args, &path, &mut parts, context)?,
        Subject::Database(path) => of_database(args, &path, &mut parts, context)?,
    }
    let title = format!("varve bench all {}", args.subject.display());
    let report = Report::joined(title, parts).ok_or(BenchError::Nothing)?;
    args.output.print(&report, context)
}

/// Adds the report of one part. After Ctrl-C no further part begins, and one that has no results yet is left out.
fn add(
    parts: &mut Vec<Report>,
    context: &Context<'_>,
    measured: impl FnOnce() -> Result<Report, CliError>,
) -> Result<(), CliError> {
    if context.stop.is_raised()
        && let Some(last) = parts.last_mut()
    {
        last.is_cut_short = true;
        return Ok(());
    }
    match measured() {
        Err(_) if context.stop.is_raised() && !parts.is_empty() => Ok(()),
        report => {
            parts.push(report?);
            Ok(())
        }
    }
}

fn of_repository(
    args: &AllArgs,
    path: &Path,
    parts: &mut Vec<Report>,
    context: &Context<'_>,
) -> Result<(), CliError> {
    let (progress, stop, storage) = (context.progress, context.stop, disk());
    let scratch = path.join(".hg");
    let programs = args.programs.options(args.runs);
    add(parts, context, || {
        let options = repository::Options {
            sample: Some(args.sample.map_or(CHUNKS, |count| count as usize)),
            runs: args.runs,
            ..repository::Options::default()
        };
        Ok(repository::run(&storage, path, &options, progress, stop)?)
    })?;
    add(parts, context, || codecs(args, path, context))?;
    add(parts, context, || {
        let options = revlog::Options {
            runs: args.runs,
            ..revlog::Options::default()
        };
        Ok(revlog::run(&storage, path, &options, progress, stop)?)
    })?;
    add(parts, context, || {
        let options = bundle::Options {
            runs: args.runs,
            ..bundle::Options::default()
        };
        let paths = (path, scratch.as_path());
        Ok(bundle::run(&storage, paths, &options, progress, stop)?)
    })?;
    add(parts, context, || {
        let mut servers = vec![Program::new("varve", super::programs::own()?)];
        servers.extend(programs.iter().map(|found| Program::new("hg", &found.hg)));
        let subject = stream::Subject::Repository {
            path: path.to_owned(),
            programs: servers,
        };
        let options = stream::Options {
            runs: args.runs,
            ..stream::Options::default()
        };
        Ok(stream::run(&subject, &options, progress, stop)?)
    })?;
    match programs {
        Ok(options) => add(parts, context, || hg::measured(path, &options, context)),
        Err(error) => {
            if let Some(last) = parts.last_mut() {
                last.notes
                    .push(format!("Not compared with other programs: {error}."));
            }
            Ok(())
        }
    }
}

fn of_database(
    args: &AllArgs,
    path: &Path,
    parts: &mut Vec<Report>,
    context: &Context<'_>,
) -> Result<(), CliError> {
    add(parts, context, || {
        let usual = database::Options::default();
        let sample = args
            .sample
            .map(|count| SampleSize::at_least(count as usize));
        let options = database::Options {
            sample: sample.unwrap_or(usual.sample),
            runs: args.runs,
            ..usual
        };
        let source = DocumentSource::Database(path.to_owned());
        let beside = path.parent().unwrap_or(Path::new(""));
        let (progress, stop) = (context.progress, context.stop);
        let report = database::run(&private_disk(), (&source, beside), &options, progress, stop)?;
        Ok(report)
    })?;
    add(parts, context, || codecs(args, path, context))
}

fn codecs(args: &AllArgs, path: &Path, context: &Context<'_>) -> Result<Report, CliError> {
    let options = codec::Options {
        runs: args.runs,
        ..codec::Options::default()
    };
    let paths = [path.to_owned()];
    let (progress, stop) = (context.progress, context.stop);
    Ok(codec::run(&disk(), &paths, &options, progress, stop)?)
}
