//! `push`, `outgoing` and `bundle` to repositories elsewhere: the same command lines in two clones
//! against two equal repositories, which stock `hg serve` serves.

mod bookmarks;
mod broken;
mod changes;
mod here;
mod hooks;
mod markers;
mod outgoing;
mod phases;
mod round_trips;
mod tls;
mod to_varve;
mod words;

use super::{Both, Twin};
use std::path::Path;
use varve_testkit::peers::{Hg, HgServer, Outcome, hg};
use varve_testkit::repos;

/// Two clones, one for each program, and their sources.
struct Pair {
    twin: Twin,
    server: HgServer,
    url: String,
    /// Further configuration of every clone.
    usual: String,
    hg: Hg,
}

/// Makes a commit of one file with that name.
fn commit(hg: &Hg, root: &Path, name: &str) {
    repos::write(root, name, name.as_bytes());
    hg.ok(root, &["commit", "-q", "-A", "-m", name, "-d", "1 0"]);
}

impl Pair {
    /// Both sides have `a` and `b`, and the origins publish.
    fn new() -> Pair {
        Pair::served(&["-A", "/dev/null"])
    }

    /// The same behind TLS.
    fn over_tls() -> Pair {
        let file = |name: &str| {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hgcli/tls");
            directory.join(name).to_str().unwrap().to_owned()
        };
        let options = ["-A", "/dev/null", "--certificate", &file("server.pem")];
        let mut pair = Pair::served(&options);
        // It says `http`, whatever it speaks.
        pair.url = pair.url.replace("http://", "https://");
        pair.usual = format!("[web]\ncacerts = {}\n", file("authority.pem"));
        pair.each_clone(|root| pair.configure(root, ""));
        pair
    }

    fn served(options: &[&str]) -> Pair {
        Pair::of(options, |hg, root, origin| {
            hg.ok(origin, &["init"]);
            for name in ["a", "b"] {
                commit(hg, origin, name);
            }
            hg.ok(origin, &["phase", "-p", "tip"]);
            hg.ok(root, &["clone", "-q", "../origin", "."]);
        })
    }

    /// Makes a clone and its origin, which are in two directories side by side.
    fn of(options: &[&str], make: impl FnOnce(&Hg, &Path, &Path)) -> Pair {
        let twin = Twin::writing_with(|hg, root| {
            let origin = root.parent().unwrap().join("origin");
            std::fs::create_dir_all(&origin).unwrap();
            make(hg, root, &origin);
        });
        let [from, to] = [twin.theirs(), twin.ours()].map(|root| root.with_file_name("origin"));
        let copied = std::process::Command::new("cp")
            .arg("-a")
            .args([&from, &to])
            .status();
        assert!(copied.unwrap().success());
        let settings = from.with_file_name("web.conf");
        let lines = format!(
            "[paths]\na/origin = {}\nb/origin = {}\n[web]\npush_ssl = no\nallow-push = *\nrefreshinterval = 0\n",
            from.display(),
            to.display()
        );
        std::fs::write(&settings, lines).unwrap();
        let hg = hg();
        let options = [options, &["--web-conf", settings.to_str().unwrap()]].concat();
        let server = hg.serve_with(from.parent().unwrap(), &options);
        let pair = Pair {
            url: server.url().to_owned(),
            usual: String::new(),
            twin,
            server,
            hg,
        };
        pair.each_clone(|root| pair.configure(root, ""));
        pair
    }

    /// Settings of one clone, behind where it was cloned from.
    fn configure(&self, root: &Path, settings: &str) {
        let side = root
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap();
        let (url, usual) = (&self.url, &self.usual);
        let local = root.with_file_name("origin");
        let rc = format!(
            "[paths]\ndefault = {url}{side}/origin\nlocal = {}\n{usual}{settings}",
            local.display()
        );
        std::fs::write(root.join(".hg/hgrc"), rc).unwrap();
    }

    fn each_clone(&self, change: impl Fn(&Path)) {
        self.twin.each(change);
    }

    fn each_origin(&self, change: impl Fn(&Path)) {
        self.twin
            .each(|root| change(&root.with_file_name("origin")));
    }

    /// Runs a line of stock `hg` in both clones.
    fn here(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        self.each_clone(|root| drop(self.hg.ok(root, &words)));
    }

    /// A commit by stock `hg` in both clones, with options.
    fn commit_as(&self, options: &str) {
        let mut words = vec!["commit", "-q", "-d", "2 0"];
        words.extend(options.split(' '));
        self.each_clone(|root| drop(self.hg.ok(root, &words)));
    }

    /// Runs a line of stock `hg` in both origins.
    fn there(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        self.each_origin(|root| drop(self.hg.ok(root, &words)));
    }

    fn commit(&self, name: &str) {
        self.each_clone(|root| commit(&self.hg, root, name));
    }

    fn commit_there(&self, name: &str) {
        self.each_origin(|root| commit(&self.hg, root, name));
    }

    fn settings_there(&self, lines: &str) {
        self.each_origin(|root| std::fs::write(root.join(".hg/hgrc"), lines).unwrap());
    }

    /// Runs a line of both programs, each in its clone.
    fn run(&self, words: &[&str]) -> Both {
        let mut both = self.twin.run(words);
        for text in [&mut both.ours.stdout, &mut both.ours.stderr] {
            *text = text.replace("/b/origin", "/a/origin");
        }
        both
    }

    /// Both programs say the same, and leave the same behind, on both sides.
    #[track_caller]
    fn same(&self, lines: &[&str]) {
        for line in lines {
            let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
            self.run(&words).same(&words);
        }
        self.same_state();
    }

    #[track_caller]
    fn same_state(&self) {
        let state = |root: &Path| {
            let template = "{node} {phase} {bookmarks}\n";
            let here = ["log", "--hidden", "-r", "all()", "-T", template];
            let there = [&["-R", "../origin"], &here[..]].concat();
            let said = self.hg.run_all(root, &[&here, &there]);
            said.into_iter().map(Outcome::success).collect::<Vec<_>>()
        };
        assert_eq!(state(self.twin.ours()), state(self.twin.theirs()));
    }

    /// Stock `hg` finds nothing wrong with the pushed changesets.
    fn verify(&self) {
        self.there("verify -q");
    }
}
