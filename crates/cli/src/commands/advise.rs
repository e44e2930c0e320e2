//! `advise`: which compression suits a repository or a database.

use super::bench::{OutputArgs, catch_signals, disk, private_disk};
use crate::context::Context;
use crate::error::CliError;
use std::path::{Path, PathBuf};
use std::time::Duration;
use varve_bench::BenchError;
use varve_bench::advice::{self, Goal, Options, Subject};
use varve_hgcli::context::Command;
use varve_server::directory::{DATABASES, OfflineDirectory};

/// The line of `advise` in the list of commands; its arguments `clap` takes apart.
pub(crate) const COMMAND: Command = Command {
    names: &["advise"],
    options: &[],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... REPO|DATABASE",
    summary: "say which compression suits a repository or a database, and what it will cost",
    help: "",
    category: None,
    run: |_, _| {
        Err(COMMAND.usage_error("it takes none of hg's options; 'varve advise' comes first"))
    },
};

/// Say which compression suits a repository or a database, and what it will cost
///
/// Measures a sample within the time of --budget, and says what takes the space. Prints three choices with predicted
/// size, times of reading and writing, and memory, the one for your goal first; then the lines of configuration and
/// the command for each. Times that the runs cannot tell apart count as equal. Nothing is changed without --apply.
/// Ctrl-C ends it without advice.
#[derive(clap::Args, Debug)]
pub(crate) struct AdviseArgs {
    /// Repository, or database: its file, or its name in a served directory
    #[arg(value_name = "REPO|DATABASE")]
    subject: PathBuf,
    /// Aim: balanced, space, speed, or serving (many reads, few writes)
    #[arg(long = "for", value_name = "GOAL", default_value = "balanced")]
    goal: Goal,
    /// Seconds that measuring may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,
    /// Do what the first choice says: recompress the repository and add the lines to its hgrc, or set the compression
    /// of the database, which must not be served meanwhile, and compact it
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Measures, prints, and applies.
pub(crate) fn run(args: &AdviseArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    catch_signals(context.stop)?;
    let subject = Subject::find(disk().as_ref(), &args.subject)?;
    let storage = match subject {
        Subject::Repository(_) => disk(),
        Subject::Database(_) => private_disk(),
    };
    let _lock = match args.apply {
        true => lock(&subject)?,
        false => None,
    };
    let options = Options {
        budget: Duration::from_secs(args.budget.into()),
        ..Options::new(args.goal)
    };
    let (progress, stop) = (context.progress, context.stop);
    let mut advice = advice::advise(&storage, &subject, &options, progress, stop)?;
    if args.apply {
        let first = advice.choices.first().ok_or(BenchError::Nothing)?;
        let size = advice::apply(&storage, &subject, first, progress, stop)?;
        let difference = (size as f64 / first.size.max(1) as f64 - 1.0) * 100.0;
        advice.report.notes.insert(
            0,
            format!(
                "Applied {}: {size} bytes now, {difference:+.1} % from the prediction.",
                first.setting
            ),
        );
    }
    args.output.print(&advice.report, context)
}

/// Keeps a server away from the directory of a database, if it has one.
fn lock(subject: &Subject) -> Result<Option<OfflineDirectory>, CliError> {
    let Subject::Database(file) = subject else {
        return Ok(None);
    };
    let file = std::path::absolute(file)?;
    let parent = file.parent().filter(|parent| parent.ends_with(DATABASES));
    match parent.and_then(Path::parent) {
        Some(served) => Ok(Some(OfflineDirectory::open(served)?)),
        None => Ok(None),
    }
}
