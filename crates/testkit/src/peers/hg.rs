//! The real Mercurial, without a user's configuration.

use super::fork::run_all;
use super::{Outcome, installed, run_hg};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Runs `hg` with no configuration but the test's, so that two runs make the same hashes.
#[derive(Clone, Debug)]
pub struct Hg {
    program: PathBuf,
    config: Vec<String>,
}

/// The installed Mercurial.
pub fn hg() -> Hg {
    Hg {
        program: installed("venv/bin/hg"),
        // Commits without -d get this date instead of the clock's.
        config: vec!["devel.default-date=1700000000 0".to_owned()],
    }
}

/// The program itself, for tests that set its environment.
pub fn hg_program() -> PathBuf {
    installed("venv/bin/hg")
}

impl Hg {
    /// The same with `section.key=value` on every command line.
    pub fn with_config(&self, settings: &[&str]) -> Hg {
        let mut hg = self.clone();
        hg.config.extend(settings.iter().map(|s| (*s).to_owned()));
        hg
    }

    /// Runs one command in a directory and waits for its end.
    pub fn run<A: AsRef<OsStr>>(&self, directory: &Path, arguments: &[A]) -> Outcome {
        run_hg(&mut self.command(directory, arguments))
    }

    /// Runs commands that change nothing one after the other, in one process.
    pub fn run_all(&self, directory: &Path, lines: &[&[&str]]) -> Vec<Outcome> {
        let commands = lines.iter().map(|line| self.command(directory, line));
        let commands: Vec<Command> = commands.collect();
        run_all(&commands.iter().collect::<Vec<_>>())
    }

    /// Serves the repository in a directory on a free port of this machine.
    ///
    /// # Panics
    /// If it does not start.
    pub fn serve(&self, directory: &Path) -> HgServer {
        // Its log would go to a pipe that is read no more.
        self.serve_with(directory, &["-A", "/dev/null"])
    }

    /// As [`Hg::serve`], with options that must say where the log goes.
    ///
    /// # Panics
    /// If it does not start.
    pub fn serve_with(&self, directory: &Path, options: &[&str]) -> HgServer {
        let usual = "serve -p 0 -a 127.0.0.1 --print-url -E /dev/null";
        let mut arguments: Vec<&str> = usual.split(' ').collect();
        arguments.extend(options);
        let mut command = self.command(directory, &arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut url = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut url).unwrap();
        assert!(url.starts_with("http"), "hg serve said {url:?}");
        HgServer {
            process,
            url: url.trim().to_owned(),
        }
    }

    fn command<A: AsRef<OsStr>>(&self, directory: &Path, arguments: &[A]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(directory).env_clear();
        for setting in &self.config {
            command.arg("--config").arg(setting);
        }
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", directory)
            .env("HGRCPATH", "")
            .env("HGPLAIN", "1")
            .env("HGUSER", "Ada Lovelace <ada@example.org>")
            .env("LC_ALL", "C.UTF-8")
            // The default, vi, would wait for a terminal for ever.
            .env("EDITOR", "false");
        command
    }

    /// Standard output of a command that must succeed.
    #[track_caller]
    pub fn ok<A: AsRef<OsStr>>(&self, directory: &Path, arguments: &[A]) -> String {
        self.run(directory, arguments).success()
    }

    /// Everything said by a command that must fail.
    #[track_caller]
    pub fn fails<A: AsRef<OsStr>>(&self, directory: &Path, arguments: &[A]) -> String {
        self.run(directory, arguments).failure()
    }
}

/// A running `hg serve`; it ends with this value.
#[derive(Debug)]
pub struct HgServer {
    process: Child,
    url: String,
}

impl HgServer {
    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for HgServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_reproducible() {
        let ids: Vec<String> = (0..2)
            .map(|_| {
                let directory = tempfile::tempdir().unwrap();
                let hg = hg();
                hg.ok(directory.path(), &["init"]);
                std::fs::write(directory.path().join("a"), "a\n").unwrap();
                hg.ok(directory.path(), &["commit", "-A", "-m", "one"]);
                hg.ok(directory.path(), &["identify", "-i"])
            })
            .collect();
        assert_eq!(ids[0], ids[1]);
    }
}
