//! The server and its clients are killed in the middle of pushes, many times.

use super::breaking::with_much;
use super::{Pair, copy};
use crate::hgcli::our_hg;
use crate::killing::{bytes_below, held_back, is_caught, kill, looks, start};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::Ordering;
use varve_testkit::peers::hg_program;
use varve_testkit::varve::Server;

/// How many processes are killed in one test.
const ROUNDS: u32 = 16;
/// How many of them must have met the middle of the work; on a busy machine some come too late.
const LEAST: u32 = 6;

/// A push, from both programs in turn, to a server that may be killed.
struct Scene {
    pair: Pair,
    /// The client, the repository of the server, and copies of both before the push.
    client: PathBuf,
    repository: PathBuf,
    kept: [PathBuf; 2],
    directory: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let pair = with_much();
        let client = pair.clients()[0].clone();
        let directory = pair.site.path().join("second");
        std::fs::create_dir_all(directory.join("repos")).unwrap();
        let kept = ["kept-client", "kept"].map(|name| pair.site.path().join(name));
        for (from, to) in [&client, &pair.servers()[0]].into_iter().zip(&kept) {
            copy(from, to);
        }
        Scene {
            repository: directory.join("repos/r"),
            client,
            kept,
            directory,
            pair,
        }
    }

    /// Puts both sides back to their copies.
    fn reset(&self) {
        for (path, kept) in [&self.client, &self.repository].into_iter().zip(&self.kept) {
            let _ = std::fs::remove_dir_all(path);
            copy(kept, path);
        }
    }

    fn serve(&self) -> Server {
        Server::start(crate::VARVE, &self.directory)
    }

    fn push(&self, round: u32, url: &str) -> Child {
        let program = match round % 2 {
            0 => hg_program(),
            _ => our_hg(),
        };
        start(&program, &self.client, &["push", "-f", url])
    }

    /// All changesets. `verify` checks that their names match their content.
    fn history(&self, path: &Path) -> String {
        self.pair.hg.ok(path, &["log", "-T", "{node}\n"])
    }

    /// Whether a transaction has begun in the server's repository and not ended.
    fn is_writing(&self) -> bool {
        self.repository.join(".hg/store/journal").exists()
    }

    /// Undoes an open transaction; tells whether there was one. Nothing is wrong then.
    fn recover(&self, path: &Path) -> bool {
        let is_open = path.join(".hg/store/journal").exists();
        if is_open {
            self.pair.hg.ok(path, &["recover"]);
        }
        self.pair.hg.ok(path, &["verify", "-q"]);
        is_open
    }

    /// The server has all of it or nothing, and an open transaction was undone; the client is
    /// unchanged.
    fn has_all_or_nothing(&self) {
        let [before, after] = [&self.kept[1], &self.kept[0]].map(|path| self.history(path));
        let is_open = self.recover(&self.repository);
        let found = self.history(&self.repository);
        assert!(found == before || (!is_open && found == after), "{found}");
        self.recover(&self.client);
        assert_eq!(self.history(&self.client), after);
    }

    /// The next push lands everything, and both sides are equal.
    fn lands(&self, round: u32, url: &str) {
        let hg = &self.pair.hg;
        let mut push = self.push(round, url);
        // 1 says that all had arrived before.
        assert!(matches!(push.wait().unwrap().code(), Some(0 | 1)));
        hg.ok(&self.repository, &["verify", "-q"]);
        assert_eq!(self.history(&self.repository), self.history(&self.client));
        for path in [&self.repository, &self.client] {
            assert_eq!(hg.ok(path, &["log", "-r", "not public()", "-T", "x"]), "");
        }
    }
}

#[test]
fn a_server_that_is_killed_loses_nothing() {
    let scene = Scene::new();
    let mut whole = [0; 2];
    for round in 0..2 {
        scene.reset();
        let server = scene.serve();
        let mut client = scene.push(round, &server.url("/hg/r"));
        whole[round as usize] = looks(&mut client, || scene.is_writing());
        assert!(client.wait().unwrap().success());
    }
    let mut caught = 0;
    for round in 0..ROUNDS {
        scene.reset();
        let server = scene.serve();
        let mut client = scene.push(round, &server.url("/hg/r"));
        let more = whole[round as usize % 2] * round / (ROUNDS + 2);
        is_caught(&mut client, || scene.is_writing(), more);
        server.kill();
        // All writers have ended: a transaction open now was open then.
        caught += u32::from(scene.is_writing());
        client.wait().unwrap();
        scene.has_all_or_nothing();
        let server = scene.serve();
        scene.lands(round / 2, &server.url("/hg/r"));
    }
    assert!(caught >= LEAST, "{caught} of {ROUNDS}");
}

#[test]
fn a_client_that_is_killed_while_the_server_stores_leaves_nothing_behind() {
    let scene = Scene::new();
    let server = scene.serve();
    let url = server.url("/hg/r");
    let (mut whole, mut caught) = ([0; 2], 0);
    for round in 0..ROUNDS + 2 {
        scene.reset();
        let mut client = scene.push(round, &url);
        let own = &mut whole[round as usize % 2];
        if *own == 0 {
            *own = looks(&mut client, || scene.is_writing());
            continue;
        }
        let more = *own * (round - 2) / (ROUNDS + 2);
        is_caught(&mut client, || scene.is_writing(), more);
        caught += u32::from(kill(client));
        // The server ends or undoes the transaction itself; the next push waits for that.
        scene.recover(&scene.client);
        scene.lands(round / 2, &url);
    }
    assert!(caught >= LEAST, "{caught} of {ROUNDS}");
}

#[test]
fn a_client_that_is_killed_while_it_sends_leaves_nothing_behind() {
    let scene = Scene::new();
    let server = scene.serve();
    let all = bytes_below(&scene.client.join(".hg/store")) as usize;
    let mut caught = 0;
    for round in 0..ROUNDS {
        scene.reset();
        // A little of it, up to more than half; the first ones do not get beyond the questions.
        let requests = 600 + all * (round as usize) / (2 * ROUNDS as usize);
        let (url, left) = held_back(server.address(), requests);
        let mut client = scene.push(round, &format!("{url}/hg/r"));
        let is_held = is_caught(&mut client, || left.load(Ordering::SeqCst) == 0, 5 * round);
        caught += u32::from(kill(client) && is_held);
        assert!(!scene.is_writing());
        scene.has_all_or_nothing();
        scene.lands(round / 2, &server.url("/hg/r"));
    }
    assert_eq!(caught, ROUNDS);
}

/// A server that was killed in the middle of a push, and has left its journal and its lock.
fn left_behind(scene: &Scene) {
    for round in 0..4 * ROUNDS {
        scene.reset();
        let server = scene.serve();
        let mut client = scene.push(round, &server.url("/hg/r"));
        is_caught(&mut client, || scene.is_writing(), 0);
        server.kill();
        client.wait().unwrap();
        if scene.is_writing() {
            return;
        }
    }
    panic!("no push was met in its middle");
}

#[test]
fn what_a_killed_server_left_half_done_is_undone_by_the_next_one() {
    let scene = Scene::new();
    let hg = &scene.pair.hg;
    for (round, first) in ["clone --stream", "push"].into_iter().enumerate() {
        left_behind(&scene);
        let server = scene.serve();
        let url = server.url("/hg/r");
        if first == "push" {
            scene.lands(round as u32, &url);
        } else {
            let target = scene.directory.join("streamed");
            hg.ok(
                &scene.directory,
                &["clone", "-U", "--stream", &url, "streamed"],
            );
            assert_eq!(scene.history(&target), scene.history(&scene.kept[1]));
            assert!(!scene.is_writing());
        }
        let said = server.printed_with("repository r: undid the transaction of process '");
        assert!(
            said.contains("which has ended without finishing it"),
            "{said}"
        );
    }
}
