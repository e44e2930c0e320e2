//! `hg serve`: one repository over HTTP, in both programs.

mod announced;
mod clients;
mod collections;
mod daemons;
mod logs;
mod page_settings;
pub(crate) mod pages;
mod read_hooks;
mod settings;

use super::our_hg;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use varve_testkit::http::Client;
use varve_testkit::peers::{Hg, hg, hg_program};
use varve_testkit::repos;

/// The user without rights.
const NOBODY: u32 = 65534;

/// A running `serve`; it ends with this value.
struct Serving {
    process: Child,
    out: BufReader<ChildStdout>,
    err: ChildStderr,
    /// The line that tells where it listens.
    line: String,
}

/// Output of a server, with its port masked, and its exit code.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    out: String,
    err: String,
    code: Option<i32>,
}

impl Serving {
    /// Serves a repository on a free port of this machine.
    fn start(program: &Path, directory: &Path, options: &[&str]) -> Serving {
        let mut command = command(program, directory, options);
        Serving::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Serving {
        let mut process = command.spawn().unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut err = process.stderr.take().unwrap();
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut said = String::new();
            err.read_to_string(&mut said).unwrap();
            panic!("{command:?} said {said}");
        }
        Serving {
            process,
            out,
            err,
            line,
        }
    }

    fn port(&self) -> u16 {
        port(&self.line)
    }

    /// The URL by number, so that no other address of the name is tried.
    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port())
    }

    fn client(&self) -> Client {
        Client::new(&format!("127.0.0.1:{}", self.port()))
    }

    /// Ends it with a signal.
    fn end(mut self, signal: &str) -> Ended {
        kill(signal, self.process.id());
        let code = self.process.wait().unwrap().code();
        let port = self.port().to_string();
        let mut out = std::mem::take(&mut self.line);
        self.out.read_to_string(&mut out).unwrap();
        let mut err = String::new();
        self.err.read_to_string(&mut err).unwrap();
        Ended {
            out: out.replace(&port, "PORT"),
            err,
            code,
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `serve` of a program in a directory.
fn command(program: &Path, directory: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg("serve").args(options).current_dir(directory);
    command.env_clear();
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Both programs, with a name.
fn programs() -> [(&'static str, PathBuf); 2] {
    [("theirs", hg_program()), ("ours", our_hg())]
}

/// The port of a URL.
fn port(line: &str) -> u16 {
    let (_, rest) = line.split_once("://").unwrap();
    let host = rest.split('/').next().unwrap();
    host.rsplit(':').next().unwrap().parse().unwrap()
}

fn kill(signal: &str, id: u32) {
    let id = id.to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// A small repository.
fn repository(directory: &Path) -> Hg {
    let hg = hg();
    std::fs::create_dir_all(directory).unwrap();
    hg.ok(directory, &["init"]);
    repos::write(directory, "a", b"a\n");
    repos::commit(&hg, directory, "one");
    hg
}

/// A log with its times masked.
fn masked(log: &str) -> String {
    let line = |line: &str| match (line.find('['), line.find(']')) {
        (Some(from), Some(to)) => format!("{}{}\n", &line[..from], &line[to + 1..]),
        _ => format!("{line}\n"),
    };
    log.lines().map(line).collect()
}
