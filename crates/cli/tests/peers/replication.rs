//! Replication by the real server: with PouchDB as a third peer, and with both sides killed in turns.

use super::Site;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use varve_testkit::http::Client;
use varve_testkit::peers::run_script;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

/// Documents that are written while servers are killed.
const DOCUMENTS: usize = 600;
/// Times that each side is killed.
const KILLS: usize = 4;

/// Jobs wait for a short time after a crash: a killed side is one.
const SETTINGS: &str =
    "[replicator]\nretries_per_request = 20\ncheckpoint_interval = 50\nworker_batch_size = 7\n";

/// A port that nothing listens on.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A server that can be killed and started again at the same address.
struct Side {
    site: Site,
    port: u16,
    server: Server,
}

impl Side {
    fn start() -> Side {
        let site = Site::new();
        configure(site.path(), SETTINGS);
        let port = free_port();
        let server = Side::serve(site.path(), port);
        Side { site, port, server }
    }

    fn serve(directory: &Path, port: u16) -> Server {
        Server::start_at(crate::VARVE, directory, port).unwrap()
    }

    fn kill(self) -> Side {
        self.server.kill();
        let server = Side::serve(self.site.path(), self.port);
        Side { server, ..self }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut client = Client::new(self.server.address()).with_basic(ADMIN, PASSWORD);
        let json = [("Content-Type", "application/json")];
        let answer = client.request(method, path, &json, body.to_string().as_bytes());
        answer.unwrap().json()
    }

    fn url(&self, database: &str) -> String {
        format!(
            "http://{ADMIN}:{PASSWORD}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    fn ids(&self, database: &str) -> BTreeSet<String> {
        let changes = self.server.admin().get(&format!("/{database}/_changes"));
        let changes = changes.expect_status(200).json();
        let rows = changes["results"].as_array().unwrap().iter();
        rows.map(|row| format!("{} {}", row["id"], row["changes"]))
            .collect()
    }
}

#[test]
fn nothing_is_lost_when_either_side_is_killed() {
    let (mut source, mut target) = (Side::start(), Side::start());
    source.ask("PUT", "/a", &Value::Null);
    let job = json!({
        "source": source.url("a"), "target": target.url("b"),
        "create_target": true, "continuous": true,
    });
    assert_eq!(target.ask("PUT", "/_replicator/job", &job)["ok"], true);
    let mut written = 0;
    for round in 0..2 * KILLS {
        while written < DOCUMENTS * (round + 1) / (2 * KILLS) {
            let made = source.ask("PUT", &format!("/a/{written}"), &json!({"n": written}));
            assert_eq!(made["ok"], true, "{made}");
            written += 1;
        }
        match round % 2 {
            0 => source = source.kill(),
            _ => target = target.kill(),
        }
    }
    let deadline = Instant::now() + Duration::from_secs(240);
    while source.ids("a") != target.ids("b") {
        let docs = target.ask("GET", "/_scheduler/docs", &Value::Null);
        assert!(
            Instant::now() < deadline,
            "{docs}\n{}",
            target.server.printed()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(target.ids("b").len(), DOCUMENTS);
}

/// Waits until a database has so many updates more.
fn wait_for_updates(side: &Side, database: &str, more: u64, script: &JoinHandle<String>) {
    let number = || {
        let info = side.ask("GET", &format!("/{database}"), &Value::Null);
        let seq = info["update_seq"].as_str().unwrap_or_default();
        seq.split('-').next().unwrap().parse().unwrap_or(0u64)
    };
    let wanted = number() + more;
    while number() < wanted && !script.is_finished() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The one server pushes to the other and the other back, and a PouchDB pushes to the one and pulls from the other.
#[test]
fn a_ring_whose_servers_are_killed_in_turns_ends_equal() {
    let mut sides = [Side::start(), Side::start()];
    let done = sides[0].site.path().join("done");
    for side in &sides {
        assert_eq!(side.ask("PUT", "/ring", &Value::Null)["ok"], true);
    }
    let script = std::thread::spawn({
        let [one, two] = [sides[0].url(""), sides[1].url("")];
        let done = done.to_str().unwrap().to_owned();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/ring_killed.js");
        move || run_script(&path, &[("SERVER", &one), ("OTHER", &two), ("DONE", &done)])
    });
    // Before its first revisions are on both, nothing connects them.
    for side in &sides {
        wait_for_updates(side, "ring", 24, &script);
    }
    for (from, to) in [(0, 1), (1, 0)] {
        let (source, target) = (sides[from].url("ring"), sides[to].url("ring"));
        let job = json!({"source": source, "target": target, "continuous": true});
        assert_eq!(
            sides[from].ask("PUT", "/_replicator/push", &job)["ok"],
            true
        );
    }
    for round in 0..2 * KILLS {
        wait_for_updates(&sides[round % 2], "ring", 20, &script);
        let [one, two] = sides;
        sides = match round % 2 {
            0 => [one.kill(), two],
            _ => [one, two.kill()],
        };
    }
    std::fs::write(&done, "").unwrap();
    let ended = script.join();
    let jobs = || {
        sides
            .each_ref()
            .map(|side| side.ask("GET", "/_scheduler/jobs", &Value::Null))
    };
    assert!(ended.is_ok(), "{:#?}", jobs());
}

#[test]
fn three_peers_in_a_ring_end_with_the_same_conflicts() {
    let (one, two) = (Side::start(), Side::start());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/ring.js");
    let [one, two] = [one, two].map(|side| (side.url(""), side));
    run_script(&script, &[("SERVER", &one.0), ("OTHER", &two.0)]);
}
