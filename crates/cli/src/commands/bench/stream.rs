//! `bench stream`: clones and pulls over HTTP.

use super::output::OutputArgs;
use super::programs;
use crate::context::Context;
use crate::error::CliError;
use std::path::PathBuf;
use varve_bench::stream::{self, Options, Subject};

/// Measure stream clones and pulls over HTTP, with several clients at once
///
/// Clients connect to a server, all ask for the whole history at once, and read and expand the answers. Prints
/// throughput, wall time, and the processor time and memory of the server if it is on this machine. A repository is
/// served by Varve over the loopback interface, and with --hg by stock Mercurial in turns. All answers must have the
/// same length, and those of the first round the same contents. Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
pub(super) struct StreamArgs {
    /// Repository to serve, or http:// URL of one that is served
    #[arg(value_name = "REPO|URL")]
    subject: PathBuf,
    /// How many clients ask at once; 1, 4 and 16 if none is given (can be repeated)
    #[arg(long = "clients", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: Vec<u32>,
    /// Also serve the repository by this program, such as hg
    #[arg(long, value_name = "PROGRAM")]
    hg: Option<PathBuf>,
    /// How often each measurement is made; at least 3
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &StreamArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let subject = match args.subject.to_str().filter(|text| text.contains("://")) {
        Some(_) if args.hg.is_some() => return Err(CliError::HgServesPaths),
        Some(url) => Subject::Url(url.to_owned()),
        None => Subject::Repository {
            path: args.subject.clone(),
            programs: programs::servers(args.hg.as_deref())?,
        },
    };
    let mut options = Options {
        runs: args.runs,
        ..Options::default()
    };
    if !args.clients.is_empty() {
        options.clients = args.clients.iter().map(|count| *count as usize).collect();
    }
    let report = stream::run(&subject, &options, context.progress, context.stop)?;
    args.output.print(&report, context)
}
