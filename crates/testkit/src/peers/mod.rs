//! The real clients that Varve is tested with: stock `hg`, PouchDB and nano from npm, ibmcloudant and couchdb from PyPI,
//! and kivik for Go.
//!
//! `./test` installs them into `.peers` (or the directory that `VARVE_PEERS` names). A peer that is
//! missing fails the test with that advice; nothing is skipped.

mod fork;
mod go;
mod hg;
mod node;
mod pseudo_terminal;
mod python;

pub use fork::{run, run_hg, run_hg_with_input};
pub use go::run_kivik;
pub use hg::{Hg, HgServer, hg, hg_program};
pub use node::{chromium, node_modules, run_script};
pub use pseudo_terminal::{TerminalCall, TerminalOutcome};
pub use python::run_python;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn directory() -> PathBuf {
    match std::env::var_os("VARVE_PEERS") {
        Some(directory) => PathBuf::from(directory),
        None => crate::workspace_root().join(".peers"),
    }
}

fn installed(name: &str) -> PathBuf {
    let path = directory().join(name);
    assert!(
        path.exists(),
        "the peer {path:?} is missing: run `./test --peers` once, in the root of the workspace"
    );
    path
}

/// A repository of 402 changesets with real content, made by stock `hg` (see `bench/corpus`).
pub fn small_corpus() -> PathBuf {
    installed("corpus-small")
}

/// Output and exit code of a peer.
#[derive(Debug)]
pub struct Outcome {
    /// The command line, for messages.
    pub command: String,
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Everything it wrote to its standard output.
    pub stdout: String,
    /// Everything it wrote to its standard error.
    pub stderr: String,
}

impl Outcome {
    /// Runs a command to its end.
    pub fn of(command: &mut Command, program: &Path) -> Outcome {
        let Output {
            status,
            stdout,
            stderr,
        } = command
            .output()
            .unwrap_or_else(|e| panic!("cannot run {program:?}: {e}"));
        Outcome::new(command, status.code(), &stdout, &stderr)
    }

    fn new(command: &Command, code: Option<i32>, stdout: &[u8], stderr: &[u8]) -> Outcome {
        let arguments = command.get_args().map(|arg| arg.to_string_lossy());
        Outcome {
            command: arguments.collect::<Vec<_>>().join(" "),
            code,
            stdout: String::from_utf8_lossy(stdout).into_owned(),
            stderr: String::from_utf8_lossy(stderr).into_owned(),
        }
    }

    /// Its standard output; panics with everything it said unless it ended with 0.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{self}");
        self.stdout
    }

    /// Both its outputs together; panics if it ended with 0 or by a signal.
    #[track_caller]
    pub fn failure(self) -> String {
        assert!(self.code.is_some_and(|code| code != 0), "{self}");
        self.stdout + &self.stderr
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome {
            command,
            code,
            stdout,
            stderr,
        } = self;
        write!(f, "`{command}` ended with {code:?}\n{stdout}\n{stderr}")
    }
}
