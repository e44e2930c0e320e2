//! Over ssh, or over a script in its place that ignores the host and runs the command.
//!
//! A [`Talk`] is one course of events with a program at either end. All that is said and left
//! behind is written down, and must be the same whichever programs took part.

mod breaking;
mod courses;
mod forms;
mod old_clients;
mod raw;
mod tagged;

use crate::hgcli::our_hg;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use varve_testkit::peers::{Hg, Outcome, hg, hg_program, run_hg};
use varve_testkit::repos;

/// Writes down how it was called, and runs the last word.
const SCRIPT: &str = "#!/bin/sh\n\
    printf '[%s]' \"$@\" >> \"$0.log\"\necho >> \"$0.log\"\n\
    for command; do :; done\nexec sh -c \"$command\"\n";

/// One of two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Hg,
    Varve,
}

impl Side {
    fn program(self) -> PathBuf {
        match self {
            Side::Hg => hg_program(),
            Side::Varve => our_hg(),
        }
    }
}

/// Client and server.
const PAIRS: [(Side, Side); 4] = [
    (Side::Hg, Side::Hg),
    (Side::Hg, Side::Varve),
    (Side::Varve, Side::Hg),
    (Side::Varve, Side::Varve),
];

/// A course of events.
struct Talk {
    directory: TempDir,
    client: Side,
    said: String,
    hg: Hg,
}

impl Talk {
    fn new((client, server): (Side, Side)) -> Talk {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("ssh");
        repos::write(directory.path(), "ssh", SCRIPT.as_bytes());
        let status = Command::new("chmod").arg("+x").arg(&script).status();
        assert!(status.unwrap().success());
        let rc = format!(
            "[ui]\nssh = {}\nremotecmd = {}\n[devel]\ndefault-date = 1700000000 0\n",
            script.display(),
            server.program().display()
        );
        repos::write(directory.path(), "hgrc", rc.as_bytes());
        Talk {
            directory,
            client,
            said: String::new(),
            hg: hg(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The address of a repository below the directory.
    fn url(&self, name: &str) -> String {
        format!("ssh://user@host/{}", self.path(name).display())
    }

    fn command(&self, side: Side, below: &str, words: &[&str]) -> Command {
        let mut command = Command::new(side.program());
        command
            .args(words)
            .current_dir(self.path(below))
            .env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.directory.path())
            .env("HGRCPATH", self.path("hgrc"))
            .env("HGPLAIN", "1")
            .env("HGUSER", "Ada Lovelace <ada@example.org>")
            .env("SSH_CLIENT", "192.0.2.7 1234 22")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Lets the client do something.
    fn run(&self, below: &str, words: &[&str]) -> Outcome {
        let mut command = self.command(self.client, below, words);
        match self.client {
            Side::Hg => run_hg(&mut command),
            Side::Varve => Outcome::of(&mut command, &self.client.program()),
        }
    }

    /// The same, and writes the output down. `SRC` is the address of `src`.
    fn says(&mut self, below: &str, line: &str) {
        let url = self.url("src");
        let words: Vec<String> = line
            .split(' ')
            .map(|word| word.replace("SRC", &url))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let outcome = self.run(below, &words);
        let Outcome {
            code,
            stdout,
            stderr,
            ..
        } = outcome;
        let text = format!("$ {line}\n{stdout}-- {code:?}\n{stderr}");
        self.note(&text);
    }

    /// Writes down a text.
    fn note(&mut self, text: &str) {
        let root = self.directory.path().to_str().unwrap();
        self.said.push_str(&text.replace(root, "ROOT"));
    }

    /// Stock hg does something with a repository.
    fn stock(&self, below: &str, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        self.hg.ok(&self.path(below), &words)
    }

    /// Makes a commit of one file with that name.
    fn commit(&self, below: &str, name: &str) {
        repos::write(&self.path(below), name, name.as_bytes());
        let words = ["commit", "-q", "-A", "-m", name, "-u", "me", "-d", "1 0"];
        self.hg.ok(&self.path(below), &words);
    }

    /// Writes down all that a repository has, in which nothing may be wrong.
    fn state(&mut self, below: &str) {
        self.stock(below, "verify -q");
        let log = self.stock(below, "log --debug -p --hidden -r all()");
        let marks = self.stock(below, "bookmarks -T {bookmark}={node}\\n");
        self.note(&format!("== {below}\n{log}{marks}"));
    }
}

/// A repository with all that travels: branches, merges, closed and secret ones, bookmarks.
fn rich(talk: &Talk) {
    repos::make(&talk.hg, &talk.path("src"), repos::DEFAULT);
    repos::add_secret(&talk.hg, &talk.path("src"));
}

/// All pairs of programs say the same.
#[track_caller]
fn all_same(course: impl Fn(&mut Talk)) {
    let said = PAIRS.map(|pair| {
        let mut talk = Talk::new(pair);
        course(&mut talk);
        talk.said
    });
    for (pair, text) in PAIRS.iter().zip(&said) {
        let differs = said[0].lines().zip(text.lines()).find(|(a, b)| a != b);
        assert!(
            *text == said[0],
            "{pair:?}: {differs:?}\n--- stock\n{}\n--- this\n{text}",
            said[0]
        );
    }
}

fn write_rc(repository: &Path, lines: &str) {
    std::fs::write(repository.join(".hg/hgrc"), lines).unwrap();
}

/// A clone with much to push.
fn apart_by_much(talk: &Talk) {
    talk.stock("", "init src");
    talk.commit("src", "base");
    talk.stock("", "clone -q src c");
    for number in 0..6 {
        for file in 0..10 {
            let bytes = repos::noise(40_000, number * 10 + file);
            repos::write(&talk.path("c"), &format!("f{file}"), &bytes);
        }
        talk.commit("c", &format!("n{number}"));
    }
}
