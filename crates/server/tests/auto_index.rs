//! Indexes that are brought up to date between requests.

use crate::client::{Connection, Running};
use crate::compaction::{call, until};
use serde_json::{Value, json};
use std::time::Duration;

/// A server that builds indexes directly after each write.
fn eager() -> (Running, Connection) {
    let settings = "[ken]\nbatch_channels = 2\nwait_secs = 0\n[ken.ignore]\nleft = true\n";
    let server = Running::start_with(settings);
    let connection = Connection::open(server.address);
    (server, connection)
}

fn make(connection: &mut Connection, name: &str, design: &Value) {
    call(connection, "PUT", &format!("/{name}"), &Value::Null);
    call(connection, "PUT", &format!("/{name}/_design/d"), design);
}

fn write(connection: &mut Connection, name: &str, count: usize) {
    let docs: Vec<_> = (0..count).map(|n| json!({"n": n})).collect();
    call(
        connection,
        "POST",
        &format!("/{name}/_bulk_docs"),
        &json!({"docs": docs}),
    );
}

fn get(connection: &mut Connection, path: &str) -> Value {
    call(connection, "GET", path, &Value::Null)
}

/// How many changes an index has not taken in.
fn pending(info: &Value) -> u64 {
    info["view_index"]["updates_pending"]["total"]
        .as_u64()
        .unwrap()
}

fn files(server: &Running, name: &str) -> Vec<String> {
    let Ok(list) = std::fs::read_dir(server.directory.path().join("indexes").join(name)) else {
        return Vec::new();
    };
    let names = list.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

fn views() -> Value {
    json!({"v": {"map": "function (doc) { emit(doc.n) }"}})
}

#[test]
fn an_index_follows_what_is_written_without_being_asked() {
    let (_server, mut connection) = eager();
    make(&mut connection, "db", &json!({"views": views()}));
    for round in 1..4 {
        write(&mut connection, "db", 100);
        until(&mut connection, "/db/_design/d/_info", |info| {
            pending(info) == 0
        });
        let rows = get(
            &mut connection,
            "/db/_design/d/_view/v?update=false&limit=0",
        );
        assert_eq!(rows["total_rows"], 100 * round);
    }
    // A json index too.
    let index = json!({"index": {"fields": ["n"]}, "ddoc": "i"});
    call(&mut connection, "POST", "/db/_index", &index);
    until(&mut connection, "/db/_design/i/_info", |info| {
        pending(info) == 0
    });
}

#[test]
fn what_is_to_be_left_alone_is() {
    let (server, mut connection) = eager();
    make(&mut connection, "left", &json!({"views": views()}));
    make(
        &mut connection,
        "db",
        &json!({"views": views(), "autoupdate": false}),
    );
    let twice = json!({"views": {"w": {"map": "function (doc) { emit(1) }"}}});
    call(&mut connection, "PUT", "/db/_design/e", &twice);
    call(
        &mut connection,
        "PUT",
        "/db/_design/foreign",
        &json!({"language": "erlang", "views": {"v": {"map": "x"}}}),
    );
    for _ in 0..3 {
        write(&mut connection, "left", 10);
        write(&mut connection, "db", 10);
        until(&mut connection, "/db/_design/e/_info", |info| {
            pending(info) == 0
        });
    }
    assert!(pending(&get(&mut connection, "/db/_design/d/_info")) >= 30);
    assert!(files(&server, "left").is_empty());
    assert_eq!(server.told(), Vec::<String>::new());
}

#[test]
fn the_index_of_a_design_document_that_is_gone_is_removed() {
    let (server, mut connection) = eager();
    make(&mut connection, "db", &json!({"views": views()}));
    until(&mut connection, "/db/_design/d/_info", |info| {
        pending(info) == 0
    });
    assert_eq!(files(&server, "db").len(), 1);
    let rev = get(&mut connection, "/db/_design/d")["_rev"]
        .as_str()
        .unwrap()
        .to_owned();
    call(
        &mut connection,
        "DELETE",
        &format!("/db/_design/d?rev={rev}"),
        &Value::Null,
    );
    until(&mut connection, "/db", |_| files(&server, "db").is_empty());
}

#[test]
fn a_database_that_goes_while_its_index_is_built_is_not_spoken_of() {
    let (server, mut connection) = eager();
    for _ in 0..5 {
        let slow = "function (doc) { for (var i = 0; i < 1e6; i++); emit(doc.n) }";
        make(
            &mut connection,
            "db",
            &json!({"views": {"v": {"map": slow}}}),
        );
        write(&mut connection, "db", 2000);
        let builds = |tasks: &Value| tasks.to_string().contains("indexer");
        until(&mut connection, "/_active_tasks", builds);
        call(&mut connection, "DELETE", "/db", &Value::Null);
        until(&mut connection, "/_active_tasks", |tasks| {
            tasks == &json!([])
        });
        assert!(files(&server, "db").is_empty());
    }
    assert_eq!(server.told(), Vec::<String>::new());
}

#[test]
fn a_server_that_stops_does_not_wait_for_its_indexes() {
    let (mut server, mut connection) = eager();
    let endless = "function (doc) { while (true) {} }";
    make(
        &mut connection,
        "db",
        &json!({"views": {"v": {"map": endless}}}),
    );
    write(&mut connection, "db", 5000);
    let builds = |tasks: &Value| tasks.to_string().contains("indexer");
    until(&mut connection, "/_active_tasks", builds);
    drop(connection);
    // 5,000 documents of five seconds each would take seven hours.
    let (stopped, stops) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        server.stop();
        stopped.send(())
    });
    let waited = stops.recv_timeout(Duration::from_secs(120));
    assert!(waited.is_ok(), "the server waits for its indexes");
}
