//! Failures of a command, and the exit code of each.

use crate::demo::DemoError;
use crate::store_address::StoreAddressError;
use std::io;
use std::path::PathBuf;
use varve_bench::BenchError;
use varve_server::ServerError;

/// A command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The results could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// The server did not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A file that the server writes could not be made.
    #[error("cannot write {file}: {source}", file = file.display())]
    File {
        /// Path of the file that was to be written.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The repositories of a directory that is to be served stand in it and not where they belong.
    #[error(
        "{repository} is a repository, and 'varve serve' looks for those below {repos}; make that directory and move \
         the repositories there, or serve one of them alone with 'varve -R REPOSITORY serve'",
        repository = repository.display(),
        repos = directory.join(varve_server::directory::REPOSITORIES).display()
    )]
    BareRepositories {
        /// The directory that was to be served.
        directory: PathBuf,
        /// One of them.
        repository: PathBuf,
    },
    /// The server in the background has ended already, and has said why.
    #[error("the server in the background has not started")]
    Daemon {
        /// The code that it ended with.
        code: u8,
    },
    /// Another server of the shared store leads, so that this one has stopped.
    #[error("another server of the shared store leads; started again, this one stands by")]
    Superseded,
    /// The shared store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreAddressError),
    /// The demo could not be made.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// A measurement could not be made.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A program to compare with is not there.
    #[error("there is no program '{named}': name the one to compare with by --hg or --git", named = named.display())]
    NoProgram {
        /// Its path or name.
        named: PathBuf,
    },
    /// A program to compare with is this one.
    #[error("{file} is Varve itself: name stock Mercurial by --hg", file = file.display())]
    OwnProgram {
        /// Its file.
        file: PathBuf,
    },
    /// A server that runs already and another program to serve by.
    #[error("--hg serves a repository on this machine, and not one that is served already")]
    HgServesPaths,
    /// A measurement was interrupted after its first results, which have been printed.
    #[error("interrupted; the results are incomplete")]
    CutShort,
}

/// Wrong arguments or configuration; clap uses the same.
const WRONG_INPUT: u8 = 2;
/// Everything else.
const FAILED: u8 = 1;
/// Ended by Ctrl-C; by custom of shells 128 and the signal's number.
pub(crate) const INTERRUPTED: u8 = 130;

impl CliError {
    /// The only place where errors become exit codes.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            CliError::Server(ServerError::Config(_) | ServerError::ConfigText { .. }) => {
                WRONG_INPUT
            }
            CliError::Bench(
                BenchError::NoSource { .. }
                | BenchError::Nothing
                | BenchError::NotInRevlogs { .. }
                | BenchError::NotADatabase { .. }
                | BenchError::NotADocument { .. }
                | BenchError::Map { .. }
                | BenchError::BundleSpec { .. }
                | BenchError::Template { .. }
                | BenchError::NoCommand { .. }
                | BenchError::Remote { .. },
            ) => WRONG_INPUT,
            CliError::CutShort | CliError::Bench(BenchError::Interrupted(_)) => INTERRUPTED,
            CliError::BareRepositories { .. }
            | CliError::NoProgram { .. }
            | CliError::OwnProgram { .. }
            | CliError::HgServesPaths => WRONG_INPUT,
            CliError::Daemon { code } => *code,
            CliError::Output(_)
            | CliError::Server(_)
            | CliError::Superseded
            | CliError::Store(_)
            | CliError::File { .. }
            | CliError::Bench(_)
            | CliError::Demo(_) => FAILED,
        }
    }

    /// A reader that has seen enough, such as `head`, is no failure.
    pub(crate) fn unless_broken_pipe(self) -> Result<(), CliError> {
        match self {
            CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Err(other),
        }
    }
}
