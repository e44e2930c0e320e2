//! The varve binary: Varve's own commands; those of `hg` come from `varve_hgcli`.

mod commands;
mod context;
mod demo;
mod error;
mod help;
mod progress;
mod store_address;

use clap::{Parser, Subcommand};
use context::Context;
use error::CliError;
use progress::TerminalProgress;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::ExitCode;
use varve_base::Interrupt;
use varve_hgcli::context::Program;

/// Many small values are made on one thread and freed on another; the system's allocator spends a
/// fifth of a bulk write on that. Built without huge pages, which take 30 to 40 MB more memory and
/// no less time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Serve Mercurial repositories and CouchDB databases from one directory
#[derive(Parser, Debug)]
#[command(name = "varve", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Serve(commands::serve::ServeArgs),
    Advise(commands::advise::AdviseArgs),
    Bench(commands::bench::BenchArgs),
}

/// Commands of `varve` alone, whose arguments `clap` takes apart.
const OF_VARVE: &[&str] = &["serve", "advise", "bench"];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let called = Path::new(&program).file_stem().unwrap_or_default();
    let mut words: Vec<_> = arguments.collect();
    if called == "hg" {
        return run_hg(&help::HG, words);
    }
    match words.first_mut() {
        Some(word) if word == "-V" => *word = "--version".into(),
        _ => {}
    }
    match help::words_for_clap(&words, OF_VARVE) {
        Some(words) => run_ours(&words),
        None => run_hg(&help::VARVE, words),
    }
}

fn run_hg(program: &Program, words: Vec<OsString>) -> ExitCode {
    let words: Vec<_> = words.into_iter().map(OsString::into_vec).collect();
    ExitCode::from(varve_hgcli::main(program, &words))
}

fn run_ours(words: &[OsString]) -> ExitCode {
    let program = OsString::from("varve");
    let arguments = Arguments::parse_from(std::iter::once(&program).chain(words));
    let progress = TerminalProgress::default();
    let mut context = Context {
        out: &mut io::stdout().lock(),
        progress: &progress,
        stop: &Interrupt::default(),
    };
    let done = run(&arguments.command, &mut context);
    match done.or_else(CliError::unless_broken_pipe) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do if even standard error is gone.
            let _ = writeln!(io::stderr(), "varve: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(command: &Command, context: &mut Context<'_>) -> Result<(), CliError> {
    match command {
        Command::Serve(args) => commands::serve::run(args, context),
        Command::Advise(args) => commands::advise::run(args, context),
        Command::Bench(args) => commands::bench::run(args, context),
    }
}
