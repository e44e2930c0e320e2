//! A server of one repository, started for a measurement.

use super::{Program, ServerProcess};
use crate::BenchError;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

/// A running server; it ends with this value.
pub(crate) struct LocalServer {
    child: Child,
    url: String,
    /// Kept open: a server that prints more would fail.
    _output: BufReader<ChildStdout>,
}

impl LocalServer {
    /// Starts `hg serve`, of Mercurial or of Varve, on a free port of this machine, and waits until it listens.
    ///
    /// # Errors
    /// [`BenchError::Program`]: it cannot be started, or does not print a URL.
    pub fn start(program: &Program, repository: &Path) -> Result<LocalServer, BenchError> {
        let mut command = program.command();
        command.arg("-R").arg(repository);
        command.args(["serve", "-a", "127.0.0.1", "-p", "0", "--print-url"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|error| program.cannot_run(&error))?;
        let silent = || BenchError::Program {
            program: program.file.clone(),
            reason: "'serve --print-url' prints no URL".to_owned(),
        };
        let mut output = BufReader::new(child.stdout.take().ok_or_else(silent)?);
        let mut line = String::new();
        let read = output.read_line(&mut line);
        let server = LocalServer {
            child,
            url: line.trim().trim_end_matches('/').to_owned(),
            _output: output,
        };
        match read.is_ok() && server.url.starts_with("http://") {
            true => Ok(server),
            false => Err(silent()),
        }
    }

    /// Its address, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process, for processor time and memory.
    pub fn process(&self) -> ServerProcess {
        ServerProcess::with_id(self.child.id())
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        // It has ended already if these fail.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
