//! Servers of one store share the writing of its databases: each has its part, which moves as servers come and go.

use crate::shared_serving::{Scene, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use varve_testkit::http::Client;
use varve_testkit::varve::Server;

const DATABASES: usize = 12;

/// A figure of a server's `_metrics`.
pub(crate) fn metric(server: &Server, name: &str) -> u64 {
    let text = server.admin().get("/_metrics").expect_status(200).text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap().parse().unwrap()
}

fn written_databases(server: &Server) -> u64 {
    metric(server, "varve_written_databases")
}

/// Number of servers that one sees, of a kind in `_membership`.
pub(crate) fn members(server: &Server, kind: &str) -> usize {
    let members = server.admin().get("/_membership").expect_status(200).json();
    members[kind].as_array().unwrap().len()
}

/// Writes documents to all databases in turns, through one server, while that answers; returns those that were acknowledged.
fn write_all(
    mut client: Client,
    writer: usize,
    is_over: &AtomicBool,
    written: &AtomicUsize,
) -> Vec<String> {
    let json = [("Content-Type", "application/json")];
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let path = format!("/db{}/{writer}-{number}", number % DATABASES);
        match client.request("PUT", &path, &json, b"{}") {
            Ok(answer) if answer.status == 201 => {
                acknowledged.push(path);
                written.fetch_add(1, Ordering::SeqCst);
            }
            Ok(answer) => assert_eq!(answer.status, 503, "{path}: {}", answer.text()),
            Err(_) => break,
        }
    }
    acknowledged
}

/// All documents of all databases, as a server reads them.
fn all_documents(server: &Server) -> BTreeMap<String, Vec<String>> {
    let mut client = server.admin();
    let mut read = |number| {
        let database = format!("db{number}");
        let rows = client
            .get(&format!("/{database}/_all_docs"))
            .expect_status(200)
            .json();
        let rows = rows["rows"].as_array().unwrap().iter();
        let ids = rows.map(|row| row["id"].as_str().unwrap().to_owned());
        (database, ids.collect())
    };
    (0..DATABASES).map(&mut read).collect()
}

#[test]
fn databases_are_spread_over_servers_that_come_and_go() {
    let scene = Scene::new();
    let leader = scene.serve("one");
    let mut admin = leader.admin();
    for number in 0..DATABASES {
        admin
            .put(&format!("/db{number}"), &Value::Null)
            .expect_status(201);
    }
    let (is_over, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut others = Vec::new();
    let acknowledged = thread::scope(|scope| {
        let write = |server: &Server, writer| {
            let (client, is_over, written) = (server.admin(), &is_over, &written);
            scope.spawn(move || write_all(client, writer, is_over, written))
        };
        let mut writers = vec![write(&leader, 0)];
        for name in ["two", "three"] {
            let joined = scene.serve(name);
            writers.push(write(&joined, writers.len()));
            wait_until("a server that joins gets its part", || {
                written_databases(&joined) > 0
            });
            others.push(joined);
        }
        assert_eq!(members(&leader, "all_nodes"), 3);
        wait_until("all can write", || members(&leader, "cluster_nodes") == 3);
        assert!(metric(&leader, "varve_forwarded_requests_total") > 0);
        drop(others.pop().unwrap().kill());
        wait_until("the others see that one is dead", || {
            members(&leader, "all_nodes") == 2 && members(&others[0], "cluster_nodes") == 2
        });
        let before = written.load(Ordering::SeqCst);
        wait_until("all databases are written again", || {
            written.load(Ordering::SeqCst) > before + 3 * DATABASES
        });
        is_over.store(true, Ordering::SeqCst);
        let written = writers.into_iter().map(|writer| writer.join().unwrap());
        written.collect::<Vec<_>>()
    });
    let there = all_documents(&others[0]);
    assert_eq!(there, all_documents(&leader));
    for path in acknowledged.iter().flatten() {
        let (database, id) = path[1..].split_once('/').unwrap();
        assert!(
            there[database].iter().any(|there| there == id),
            "{path} is lost"
        );
    }
    assert!(written_databases(&others[0]) > 0 && written_databases(&leader) > 0);
    check_answers_of_all(&leader, &others[0]);
    let (code, listed) = scene.run(&["shared", "list", &scene.store()]);
    assert_eq!(code, Some(0), "{listed}");
    let line = listed.lines().find(|line| line.starts_with("_users: "));
    let expected = format!(", written by {}", leader.address());
    assert!(line.unwrap().ends_with(&expected), "{listed}");
}

/// Asserts that `_db_updates` and the other answers of the leader have what all servers write.
fn check_answers_of_all(leader: &Server, other: &Server) {
    let path = "/_db_updates?feed=continuous&since=now&timeout=60000";
    let mut feed = other.admin().send("GET", path, &[], b"").unwrap();
    for number in 0..DATABASES {
        let path = format!("/db{number}/last");
        leader.admin().put(&path, &json!({})).expect_status(201);
        loop {
            let line = feed.line().unwrap().unwrap();
            if line.contains(&format!("\"db_name\":\"db{number}\"")) {
                break;
            }
        }
    }
    let name = format!("varve@{}", leader.address());
    let node = other
        .admin()
        .get(&format!("/_node/{name}"))
        .expect_status(200)
        .json();
    assert_eq!(node["name"], json!(name));
    other
        .admin()
        .get("/_node/varve@nowhere:1")
        .expect_status(404);
}
