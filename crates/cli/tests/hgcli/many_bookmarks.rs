//! A hundred thousand bookmarks, which come from a server and go there, with stock `hg` and Varve in
//! either role.

use super::our_hg;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use varve_testkit::peers::{Hg, hg, hg_program, run};
use varve_testkit::repos;
use varve_testkit::varve::Server;

const MANY: usize = 100_000;

/// Gives a repository the bookmarks, in order of their names.
fn bookmark(repository: &Path, node: &str) {
    let mut lines = String::new();
    for number in 0..MANY {
        writeln!(lines, "{node} b{number:06}").unwrap();
    }
    std::fs::write(repository.join(".hg/bookmarks"), lines).unwrap();
}

fn bookmarks(repository: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository.join(".hg/bookmarks")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A repository with all of them on its only changeset, where either server finds it.
struct Origin {
    directory: TempDir,
    hg: Hg,
}

impl Origin {
    fn new() -> Origin {
        let directory = tempfile::tempdir().unwrap();
        let origin = Origin {
            directory,
            hg: hg(),
        };
        let path = origin.path();
        std::fs::create_dir_all(&path).unwrap();
        origin.hg.ok(&path, &["init"]);
        let rc = b"[web]\nallow-push = *\npush_ssl = no\n";
        repos::write(&path, ".hg/hgrc", rc);
        origin.commit("a");
        let node = origin.hg.ok(&path, &["log", "-r", "0", "-T", "{node}"]);
        bookmark(&path, &node);
        origin
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("repos/origin")
    }

    fn commit(&self, name: &str) {
        repos::write(&self.path(), name, name.as_bytes());
        let line = ["commit", "-A", "-m", name, "-d", "1 0"];
        self.hg.ok(&self.path(), &line);
    }

    /// A copy that lacks some bookmarks: stock `hg` takes minutes to add all of them to a new clone.
    fn almost_clone(&self, clone: &Path, url: &str) {
        let mut copy = Command::new("cp");
        let copied = copy.arg("-a").args([&self.path(), clone]).status();
        assert!(copied.unwrap().success());
        let rc = format!("[paths]\ndefault = {url}\n");
        repos::write(clone, ".hg/hgrc", rc.as_bytes());
        let kept: Vec<String> = bookmarks(clone).into_iter().take(MANY - 50).collect();
        let lines = kept.join("\n") + "\n";
        std::fs::write(clone.join(".hg/bookmarks"), lines).unwrap();
    }

    /// Clones, pulls a bookmark that has moved, and pushes one, with one client.
    fn visit(&self, client: &Path, url: &str) {
        let hg = &self.hg;
        let visit = |directory: &Path, words: &[&str]| {
            let mut command = Command::new(client);
            command.args(words).current_dir(directory).env_clear();
            command.env("HGRCPATH", "").env("HGPLAIN", "1");
            command.env("LC_ALL", "C.UTF-8");
            run(&mut command)
        };
        let clone = self.directory.path().join("clone");
        match *client == hg_program() {
            true => self.almost_clone(&clone, url),
            false => drop(visit(self.directory.path(), &["clone", "-q", url, "clone"]).success()),
        }
        visit(&clone, &["pull", "-q"]).success();
        let is_same = || assert!(bookmarks(&clone) == bookmarks(&self.path()));
        is_same();
        self.commit("b");
        let moved = ["bookmark", "-f", "-r", "1", "b050000"];
        hg.ok(&self.path(), &moved);
        visit(&clone, &["pull", "-q"]).success();
        is_same();
        hg.ok(&clone, &["bookmark", "-f", "-r", "1", "b099999"]);
        let before = bookmarks(&self.path());
        let pushed = visit(&clone, &["push", "-q", "-B", "b099999"]);
        // 1 says that no changesets went along.
        assert_eq!((pushed.code, &pushed.stderr[..]), (Some(1), ""));
        is_same();
        let after = bookmarks(&self.path());
        assert_eq!(after.symmetric_difference(&before).count(), 2);
        // Nothing is left to move.
        assert_eq!(
            visit(&clone, &["push", "-q", "-B", "b099999"]).code,
            Some(1)
        );
        hg.ok(&self.path(), &["verify", "-q"]);
    }
}

#[test]
fn varve_exchanges_a_hundred_thousand_with_stock_hg() {
    let origin = Origin::new();
    let server = origin.hg.serve(&origin.path());
    origin.visit(&our_hg(), server.url());
}

#[test]
fn stock_hg_exchanges_a_hundred_thousand_with_varve() {
    let origin = Origin::new();
    let server = Server::start(crate::VARVE, origin.directory.path());
    origin.visit(&hg_program(), &server.url("/hg/origin"));
}

#[test]
fn varve_exchanges_a_hundred_thousand_with_varve() {
    let origin = Origin::new();
    let server = Server::start(crate::VARVE, origin.directory.path());
    origin.visit(&our_hg(), &server.url("/hg/origin"));
}
