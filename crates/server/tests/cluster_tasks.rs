//! `_active_tasks` of several servers of one store.

use crate::client::{ADMIN, Running};
use crate::hand_over::{ONE, TWO, candidates, create, databases_of, start};
use crate::replication::{ask, get, put_docs, wait_for};
use serde_json::{Value, json};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use varve_shared::{DirectoryStore, Membership, Node, SystemClock};

/// A map function that takes long enough for its build to be seen.
const SLOW: &str =
    r#"{"views":{"v":{"map":"function (doc) { for (var i = 0; i < 3e6; i++); emit(1); }"}}}"#;

fn tasks(server: &Running) -> Vec<Value> {
    let (status, list) = ask(server, "GET", "/_active_tasks", &Value::Null);
    assert_eq!(status, 200, "{list}");
    list.as_array().unwrap().clone()
}

#[test]
fn any_server_shows_the_tasks_of_all_and_leaves_one_out_that_does_not_answer() {
    let store = tempfile::tempdir().unwrap();
    let (one, two) = (start(&store, ONE), start(&store, TWO));
    wait_for("both may own databases", || candidates(&one) == 2);
    let database = databases_of(ONE).next().unwrap();
    create(&one, &database);
    put_docs(&one, &database, &(0..200).map(|_| json!({})).collect());
    let design: Value = serde_json::from_str(SLOW).unwrap();
    let path = format!("/{database}/_design/d");
    assert_eq!(ask(&one, "PUT", &path, &design).0, 201);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let is_over = AtomicBool::new(false);
    // The server that is asked builds the index of its own copy, until it stops.
    let mut asking = TcpStream::connect(two.address).unwrap();
    let (name, value) = ADMIN;
    let head = format!("GET {path}/_view/v HTTP/1.1\r\nhost: localhost\r\n{name}: {value}\r\n\r\n");
    asking.write_all(head.as_bytes()).unwrap();
    thread::scope(|scope| {
        // Also if the test fails.
        let over = RaisedWhenDropped(&is_over);
        let builder = format!("varve@{}", two.address);
        let is_shown = |server| {
            let mut of_builder = tasks(server)
                .into_iter()
                .filter(|it| it["node"] == *builder);
            of_builder.any(|task| task["type"] == "indexer")
        };
        for server in [&one, &two] {
            wait_for("the build is shown", || is_shown(server));
        }
        scope.spawn(|| show_heartbeats(&store, &address, &is_over));
        let all = || {
            get(&one, "/_membership")["all_nodes"]
                .as_array()
                .unwrap()
                .len()
        };
        wait_for("it is seen", || all() == 3);
        let is_left_out = || {
            let told = one.told();
            let mut lines = told.iter().filter(|line| line.contains(&address));
            lines.any(|line| line.contains("are left out: it does not answer"))
        };
        wait_for("it is left out", || {
            let is_shown = is_shown(&one);
            is_left_out() && is_shown
        });
        drop(over);
    });
    assert!(two.told().iter().all(|line| !line.contains(&address)));
}

struct RaisedWhenDropped<'a>(&'a AtomicBool);

impl Drop for RaisedWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A live server, as far as its heartbeats say, that accepts connections and nothing more.
fn show_heartbeats(store: &tempfile::TempDir, address: &str, is_over: &AtomicBool) {
    let store = Arc::new(DirectoryStore::new(store.path()).unwrap());
    let node = Node {
        id: "3".repeat(32),
        address: address.to_owned(),
    };
    let takeover = Duration::from_secs(1);
    let clock = Arc::new(SystemClock::default());
    let mut membership = Membership::new(store, clock, node, takeover).unwrap();
    while !is_over.load(Ordering::SeqCst) {
        membership.beat().unwrap();
        thread::sleep(membership.interval());
    }
    membership.leave().unwrap();
}
