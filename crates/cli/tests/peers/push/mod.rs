//! Stock `hg` pushes to Varve as it pushes to `hg serve`: the same words, the same end.

mod breaking;
mod forms;
mod hooks;
mod killed;
mod long;
mod markers;
mod parts;
mod races;
mod rights;

use super::Site;
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_testkit::peers::{Hg, HgServer, Outcome, hg};
use varve_testkit::repos;
use varve_testkit::varve::Server;

/// Settings that let everybody push.
const OPEN: &str = "[web]\npush_ssl = no\nallow-push = *\n";

/// A repository twice, served by Varve and by `hg serve`, and a clone of each that pushes to it.
struct Pair {
    hg: Hg,
    site: Site,
    ours: Server,
    theirs: Option<HgServer>,
}

/// Copies a directory with all that is in it.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(done.unwrap().success());
}

impl Pair {
    /// Three changesets, served with a configuration.
    fn new(hgrc: &str) -> Pair {
        Pair::of(hg(), hgrc, |hg, path| {
            for name in ["a", "b", "c"] {
                commit(hg, path, name);
            }
        })
    }

    fn of(hg: Hg, hgrc: &str, make: impl Fn(&Hg, &Path)) -> Pair {
        let site = Site::new();
        let origin = site.repository("r");
        std::fs::create_dir_all(&origin).unwrap();
        hg.ok(&origin, &["init"]);
        make(&hg, &origin);
        let theirs = site.path().join("theirs");
        copy(&origin, &theirs);
        hg.ok(site.path(), &["clone", "-q", "theirs", "client-theirs"]);
        copy(
            &site.path().join("client-theirs"),
            &site.path().join("client-ours"),
        );
        let ours = site.serve();
        let mut pair = Pair {
            hg,
            site,
            ours,
            theirs: None,
        };
        pair.configure(hgrc);
        pair
    }

    /// Serves with another configuration. Varve looks at each request, stock hg at its start.
    fn configure(&mut self, hgrc: &str) {
        for server in self.servers() {
            repos::write(&server, ".hg/hgrc", hgrc.as_bytes());
        }
        self.theirs = None;
        let theirs = self.hg.serve(&self.servers()[1]);
        self.theirs = Some(theirs);
    }

    /// The repository that Varve serves, and that of stock hg.
    fn servers(&self) -> [PathBuf; 2] {
        [self.site.repository("r"), self.site.path().join("theirs")]
    }

    fn clients(&self) -> [PathBuf; 2] {
        ["client-ours", "client-theirs"].map(|name| self.site.path().join(name))
    }

    fn urls(&self) -> [String; 2] {
        let theirs = self.theirs.as_ref().unwrap().url().to_owned();
        [
            self.ours.url("/hg/r"),
            theirs.trim_end_matches('/').to_owned(),
        ]
    }

    /// Runs a command line in both clients.
    #[track_caller]
    fn both(&self, line: &str) {
        for client in self.clients() {
            self.hg.ok(&client, &words(line));
        }
    }

    /// Commits a file in both clients.
    fn commit(&self, name: &str) {
        for client in self.clients() {
            commit(&self.hg, &client, name);
        }
    }

    /// Pushes from both clients; both must get the same output, which is returned.
    #[track_caller]
    fn push(&self, line: &str) -> Outcome {
        let [ours, theirs] = self.push_each(line);
        assert_eq!(ours, theirs, "{line}");
        ours.0
    }

    fn push_each(&self, line: &str) -> [PushAnswer; 2] {
        let (clients, urls, servers) = (self.clients(), self.urls(), self.servers());
        [0, 1].map(|at| {
            let mut arguments = vec!["push", &urls[at][..]];
            arguments.extend(words(line));
            let mut told = self.hg.run(&clients[at], &arguments);
            for text in [&mut told.stdout, &mut told.stderr] {
                *text = text.replace(&format!("{}/", urls[at]), "URL");
                *text = text.replace(&urls[at], "URL");
                *text = text.replace(servers[at].to_str().unwrap(), "SERVER");
            }
            PushAnswer(told)
        })
    }

    /// Both repositories and both clients are equal and whole.
    #[track_caller]
    fn same(&self) {
        for [ours, theirs] in [self.servers(), self.clients()] {
            let lines = [
                "verify",
                "log --hidden --debug -p --git",
                "log --hidden -T {node}-{phase}-{bookmarks}-{obsolete}\\n",
                "bookmarks -T {bookmark}-{node}\\n",
                "debugobsolete",
                "heads -c -T {node}\\n",
            ];
            let run = |path: &Path| {
                let lines = lines.map(words);
                let lines: Vec<&[&str]> = lines.iter().map(|line| &line[..]).collect();
                self.hg.run_all(path, &lines)
            };
            let (mut ours_said, mut theirs_said) = (run(&ours), run(&theirs));
            let verified = ours_said.remove(0).success();
            theirs_said.remove(0);
            for (ours, theirs) in ours_said.into_iter().zip(theirs_said) {
                let told = |it: &Outcome| it.stdout.clone() + &it.stderr;
                assert_eq!(told(&ours), told(&theirs), "{}", ours.command);
            }
            assert!(!verified.contains("warning"), "{verified}");
            assert!(!ours.join(".hg/store/journal").exists());
        }
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| !word.is_empty()).collect()
}

fn commit(hg: &Hg, path: &Path, name: &str) {
    repos::write(path, name, name.repeat(50).as_bytes());
    hg.ok(path, &["commit", "-A", "-m", name, "-d", "1 0"]);
}

/// Outcome of a client, to be compared.
#[derive(Debug)]
struct PushAnswer(Outcome);

impl PartialEq for PushAnswer {
    fn eq(&self, other: &PushAnswer) -> bool {
        let parts = |told: &PushAnswer| {
            let Outcome {
                code,
                stdout,
                stderr,
                ..
            } = &told.0;
            (*code, stdout.clone(), stderr.clone())
        };
        parts(self) == parts(other)
    }
}
