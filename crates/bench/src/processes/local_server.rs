//! A server of one repository, started for a measurement.

use super::{Program, ServerProcess, words};
use crate::BenchError;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A running server; it ends with this value.
#[derive(Debug)]
pub(crate) struct LocalServer {
    child: Child,
    url: String,
    /// Kept open: a server that prints more would fail.
    _output: Option<BufReader<ChildStdout>>,
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
            _output: Some(output),
        };
        match read.is_ok() && server.url.starts_with("http://") {
            true => Ok(server),
            false => Err(silent()),
        }
    }

    /// Starts git's own server, `git daemon`, for the repository in `directory`, and waits until it listens.
    ///
    /// # Errors
    /// [`BenchError::Program`]: it cannot be started, or does not listen.
    pub fn start_git(git: &Program, directory: &Path) -> Result<LocalServer, BenchError> {
        let printed = git.output(&words(&["--exec-path"]), directory)?;
        let programs = String::from_utf8_lossy(&printed).trim().to_owned();
        // Started by `git daemon`, it would outlive this process's child.
        let daemon = PathBuf::from(programs).join("git-daemon");
        let port = free_port().map_err(|error| git.cannot_run(&error))?;
        let mut command = Command::new(daemon);
        let base = directory.display();
        command.args(["--export-all", "--reuseaddr", "--listen=127.0.0.1"]);
        command.args([format!("--port={port}"), format!("--base-path={base}")]);
        command.arg(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn();
        let server = LocalServer {
            child: child.map_err(|error| git.cannot_run(&error))?,
            url: format!("git://127.0.0.1:{port}"),
            _output: None,
        };
        await_listener(port).map_err(|error| git.cannot_run(&error))?;
        Ok(server)
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

/// A port of the loopback interface that is free now.
fn free_port() -> io::Result<u16> {
    let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(probe.local_addr()?.port())
}

/// Waits until a connection to the port is accepted, at most ten seconds.
fn await_listener(port: u16) -> io::Result<()> {
    const TRIES: u32 = 500;
    const PAUSE: Duration = Duration::from_millis(20);
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for _ in 0..TRIES {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
        thread::sleep(PAUSE);
    }
    Err(last)
}
