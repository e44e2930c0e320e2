//! `bench load`: requests to a server that speaks CouchDB's interface.

use super::output::OutputArgs;
use crate::context::Context;
use crate::error::CliError;
use std::path::PathBuf;
use std::time::Duration;
use varve_bench::load::{self, DEFAULT_TEMPLATE, Mix, Options};

/// Load a server that speaks CouchDB's HTTP interface, and measure its answers
///
/// Sends reads, writes, queries and pages of the changes feed from several connections, and prints rates and latencies
/// by kind, as median and range of the runs, with the processor time and memory of the server if it is on this
/// machine. The database is made if it is not there; it gets new documents, and stays. With --rate requests are due at
/// fixed times, and latency counts from then, so that a server which stalls is charged for what it kept from being
/// sent (coordinated omission). Ctrl-C prints what is there.
#[derive(clap::Args, Debug)]
pub(super) struct LoadArgs {
    /// Database to load, such as http://USER:PASSWORD@127.0.0.1:5984/NAME
    #[arg(value_name = "URL")]
    url: String,
    /// Write the documents of FILE, one JSON object a line, each under an id of its own; of more than 256 MiB an even sample
    #[arg(long, value_name = "FILE", conflicts_with = "template")]
    docs: Option<PathBuf>,
    /// Write documents made of TEXT, a JSON object in which an n in braces stands for a number
    #[arg(long, value_name = "TEXT", default_value = DEFAULT_TEMPLATE, hide_default_value = true)]
    template: String,
    /// Connections, each with one request at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=4096))]
    clients: u32,
    /// Documents in one write
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Shares of the kinds of requests
    #[arg(
        long,
        value_name = "SHARES",
        default_value = "read=70,write=20,query=5,feed=5"
    )]
    mix: Mix,
    /// Requests a second that are due, of all connections together; without it each connection asks again as soon as it
    /// has its answer
    #[arg(long, value_name = "N", value_parser = positive)]
    rate: Option<f64>,
    /// Seconds of one run
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive)]
    duration: f64,
    /// Path below the database that queries ask for
    #[arg(long, value_name = "PATH", default_value = "_all_docs?limit=20")]
    query: String,
    /// How many runs count, after one to warm up; at least 3
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    output: OutputArgs,
}

/// A number above 0, and not above a million.
fn positive(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| *number > 0.0 && *number <= 1e6);
    number.ok_or_else(|| "a number above 0, at most 1000000".to_owned())
}

pub(super) fn run(args: &LoadArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let documents = match &args.docs {
        Some(file) => load::documents_of_file(&super::disk(), file, context.stop)?,
        None => load::documents_of_template(&args.template)?,
    };
    let options = Options {
        documents,
        mix: args.mix,
        clients: args.clients as usize,
        batch: args.batch as usize,
        rate: args.rate,
        duration: Duration::from_secs_f64(args.duration),
        query: args.query.trim_start_matches('/').to_owned(),
        runs: args.runs,
    };
    let report = load::run(&args.url, &options, context.progress, context.stop)?;
    args.output.print(&report, context)
}
