//! The varve binary: arguments, terminal, one file per command.

mod commands;
mod context;
mod demo;
mod error;
mod terminal;

use clap::{Parser, Subcommand};
use context::Context;
use error::CliError;
use std::io::{self, Write};
use std::process::ExitCode;
use terminal::TerminalProgress;
use varve_base::Interrupt;

/// Many small values are made on one thread and freed on another; the system's allocator spends a
/// fifth of a bulk write on that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Serve Mercurial repositories and CouchDB databases from one folder
#[derive(Parser, Debug)]
#[command(name = "varve", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Serve(commands::serve::ServeArgs),
    Bench(commands::bench::BenchArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
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
        Command::Bench(args) => commands::bench::run(args, context),
    }
}
