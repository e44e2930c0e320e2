//! Queries that wait for their index, and the limits of functions meanwhile.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call, until};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;

const VIEW: &str = "/db/_design/d/_view/v";

/// A server with documents `a` to `e`, and a view whose function never ends for so many of them.
fn endless_for(settings: &str, bad: usize) -> (Running, Connection) {
    let server = Running::start_with(&format!("{settings}[views]\nskip_failed = true\n"));
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    write(&mut connection, &["a", "b", "c", "d", "e"]);
    let map = format!(
        "function (doc) {{ if (doc._id < '{}') while (true) {{}} emit(doc._id) }}",
        char::from(b'a' + u8::try_from(bad).unwrap())
    );
    let design = json!({"views": {"v": {"map": map}}});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    (server, connection)
}

fn write(connection: &mut Connection, ids: &[&str]) {
    let docs: Vec<_> = ids.iter().map(|id| json!({"_id": id})).collect();
    let docs = json!({"docs": docs});
    call(connection, "POST", "/db/_bulk_docs", &docs);
}

fn get(connection: &mut Connection, path: &str) -> Value {
    call(connection, "GET", path, &Value::Null)
}

fn count(answer: &Value) -> usize {
    answer["rows"].as_array().unwrap().len()
}

/// A member of the information on the index.
fn told(connection: &mut Connection, member: &str) -> Value {
    get(connection, "/db/_design/d/_info")["view_index"][member].clone()
}

fn asks(address: SocketAddr, query: &'static str) -> JoinHandle<Reply> {
    std::thread::spawn(move || {
        let mut connection = Connection::open(address);
        connection.send("GET", &format!("{VIEW}{query}"), &[ADMIN], "")
    })
}

#[test]
fn a_query_that_waited_for_long_enough_is_told_so_and_the_index_is_built_all_the_same() {
    let settings = "[fabric]\nrequest_timeout = 50\n[couchdb]\nos_process_timeout = 2000\n";
    let (server, mut connection) = endless_for(settings, 1);
    let several = format!("{VIEW}/queries");
    for (method, path, body) in [
        ("GET", VIEW, String::new()),
        (
            "GET",
            "/db/_design/d/_view/v?update=true&limit=0",
            String::new(),
        ),
        ("POST", VIEW, "{}".to_owned()),
        ("POST", &several, json!({"queries": [{}]}).to_string()),
    ] {
        let reply = connection.send(method, path, &[ADMIN, JSON], &body);
        let words = "The request could not be processed in a reasonable amount of time.";
        let expected = json!({"error": "timeout", "reason": words});
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!((reply.status, answer), (500, expected), "{method} {path}");
    }
    // A client that does not want to wait need not, and the build has gone on.
    until(&mut connection, &format!("{VIEW}?update=false"), |answer| {
        count(answer) == 4
    });
    assert_eq!(count(&get(&mut connection, VIEW)), 4);
    // It was built once.
    let lines = server.told();
    let about = lines
        .iter()
        .filter(|line| line.contains("ran longer than 2s"));
    assert_eq!(about.count(), 1, "{lines:?}");
}

#[test]
fn a_query_gets_its_answer_when_the_index_is_ready() {
    for timeout in ["60000", "infinity"] {
        let settings =
            format!("[fabric]\nrequest_timeout = {timeout}\n[couchdb]\nos_process_timeout = 200\n");
        let (server, mut connection) = endless_for(&settings, 3);
        let clients = [(); 3].map(|()| asks(server.address, ""));
        // A document that comes meanwhile is in the answer to a later request.
        write(&mut connection, &["f"]);
        assert_eq!(count(&get(&mut connection, VIEW)), 3, "{timeout}");
        for client in clients {
            let reply = client.join().unwrap();
            let answer: Value = serde_json::from_str(&reply.body).unwrap();
            assert_eq!(reply.status, 200);
            assert!((2..=3).contains(&count(&answer)), "{timeout}: {answer}");
        }
    }
}

#[test]
fn waiting_clients_and_waiting_commits_are_reported() {
    let (mut server, mut connection) = endless_for("[couchdb]\nos_process_timeout = 1500\n", 2);
    let state = |info: &Value| {
        let index = &info["view_index"];
        ["waiting_commit", "waiting_clients", "updater_running"].map(|name| index[name].clone())
    };
    let info = get(&mut connection, "/db/_design/d/_info");
    assert_eq!(state(&info), [json!(false), json!(0), json!(false)]);
    let clients = [(); 3].map(|()| asks(server.address, "?limit=1"));
    until(&mut connection, "/db/_design/d/_info", |info| {
        state(info) == [json!(false), json!(3), json!(true)]
    });
    // One thread builds, however many wait.
    let tasks = get(&mut connection, "/_active_tasks");
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
    for client in clients {
        assert_eq!(client.join().unwrap().status, 200);
    }
    until(&mut connection, "/db/_design/d/_info", |info| {
        state(info) == [json!(true), json!(0), json!(false)]
    });
    call(&mut connection, "POST", "/db/_compact/d", &json!({}));
    until(&mut connection, "/db/_design/d/_info", |info| {
        state(info) == [json!(false), json!(0), json!(false)]
    });
    write(&mut connection, &["f"]);
    get(&mut connection, VIEW);
    assert_eq!(told(&mut connection, "waiting_commit"), true);
    drop(connection);
    server = server.restart(|_| {});
    connection = Connection::open(server.address);
    assert_eq!(told(&mut connection, "waiting_commit"), false);
}

/// Sends a query that waits, without reading its answer.
fn begin_to_wait(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let (name, value) = ADMIN;
    let head = format!(
        "GET {VIEW} HTTP/1.1\r\nhost: varve.test\r\n{name}: {value}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn a_client_that_leaves_is_no_longer_counted_and_the_build_goes_on() {
    let (server, mut connection) = endless_for("[couchdb]\nos_process_timeout = 2000\n", 2);
    let clients = [(); 3].map(|()| begin_to_wait(server.address));
    let waits = |clients: u32| move |info: &Value| info["view_index"]["waiting_clients"] == clients;
    until(&mut connection, "/db/_design/d/_info", waits(3));
    let [stays, leaves, also_leaves] = clients;
    drop((leaves, also_leaves));
    until(&mut connection, "/db/_design/d/_info", waits(1));
    drop(stays);
    until(&mut connection, "/db/_design/d/_info", waits(0));
    until(&mut connection, &format!("{VIEW}?update=false"), |answer| {
        count(answer) == 3
    });
}

#[test]
fn clients_that_wait_hold_no_threads() {
    let (server, mut connection) = endless_for("[couchdb]\nos_process_timeout = 86400000\n", 1);
    // More than the server may have threads.
    let clients: Vec<_> = (0..600).map(|_| begin_to_wait(server.address)).collect();
    until(&mut connection, "/db/_design/d/_info", |info| {
        info["view_index"]["waiting_clients"] == 600
    });
    // Requests that need a thread get one.
    write(&mut connection, &["f"]);
    let body = json!({"docs": [{"id": "f"}]});
    let found = call(&mut connection, "POST", "/db/_bulk_get", &body);
    assert_eq!(found["results"][0]["id"], "f");
    call(&mut connection, "PUT", "/another", &Value::Null);
    let tasks = get(&mut connection, "/_active_tasks");
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
    // The build ends with its design document, in the middle of a call, and all of them are answered.
    let rev = get(&mut connection, "/db/_design/d")["_rev"].clone();
    let path = format!("/db/_design/d?rev={}", rev.as_str().unwrap());
    call(&mut connection, "DELETE", &path, &Value::Null);
    for mut client in clients {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
}

#[test]
fn queries_that_do_not_wait_take_no_threads() {
    let (_server, mut connection) = endless_for("[couchdb]\nos_process_timeout = 86400000\n", 1);
    // Far more than there are threads.
    for _ in 0..1500 {
        let answer = get(&mut connection, &format!("{VIEW}?update=lazy"));
        assert_eq!(count(&answer), 0);
    }
    write(&mut connection, &["f"]);
    let tasks = get(&mut connection, "/_active_tasks");
    assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks}");
    assert_eq!(told(&mut connection, "waiting_clients"), 0);
    // A build that never ends is interrupted when its design document changes.
    let rev = get(&mut connection, "/db/_design/d")["_rev"].clone();
    let map = "function (doc) { emit(doc._id) }";
    let mended = json!({"_rev": rev, "views": {"v": {"map": map}}});
    call(&mut connection, "PUT", "/db/_design/d", &mended);
    assert_eq!(count(&get(&mut connection, VIEW)), 6);
}

#[test]
fn all_functions_keep_the_limits_of_the_settings() {
    let settings = "[couchdb]\nos_process_timeout = 250\n[quickjs]\nmemory_limit_bytes = 8mb\n";
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    write(&mut connection, &["a"]);
    for (bad, words) in [
        ("while (true) {}", "ran longer than 250ms"),
        (
            "var a = []; for (var i = 0; i < 4e6; i++) a.push(i)",
            "more than 8388608 bytes of memory",
        ),
    ] {
        let map = format!("function (doc) {{ {bad}; emit(1) }}");
        let reduce = format!("function (k, v) {{ {bad}; return 1 }}");
        let one = format!("function (doc, req) {{ {bad}; return true }}");
        let simple = "function (doc) { emit(1) }";
        let mut design = json!({
            "views": {"reduce": {"map": simple, "reduce": reduce}},
            "filters": {"f": one}, "updates": {"u": one},
        });
        let views = json!({"views": {"map": {"map": map}}});
        let maps = call(&mut connection, "PUT", "/db/_design/m", &views);
        let reply = connection.send("HEAD", "/db/_design/d", &[ADMIN], "");
        if let Some(tag) = reply.header("etag") {
            design["_rev"] = json!(tag.trim_matches('"'));
        }
        call(&mut connection, "PUT", "/db/_design/d", &design);
        let validate = json!({"validate_doc_update": one});
        let made = call(&mut connection, "PUT", "/db/_design/v", &validate);
        for (method, path) in [
            ("GET", "/db/_design/d/_view/reduce"),
            ("GET", "/db/_changes?filter=d/f"),
            ("GET", "/db/_changes?filter=_view&view=m/map"),
            ("POST", "/db/_design/d/_update/u"),
            ("PUT", "/db/b"),
        ] {
            let body = if method == "GET" { "" } else { "{}" };
            let reply = connection.send(method, path, &[ADMIN, JSON], body);
            assert!(reply.body.contains(words), "{path}: {reply:?}");
            let is_in_row = path.ends_with("_view/reduce");
            assert_eq!(reply.status, if is_in_row { 200 } else { 500 }, "{path}");
        }
        for _ in 0..2 {
            let reply = connection.send("GET", "/db/_design/m/_view/map", &[ADMIN], "");
            let error: Value = serde_json::from_str(&reply.body).unwrap();
            assert_eq!(
                (reply.status, &error["error"]),
                (500, &json!("os_process_error"))
            );
            let reason = error["reason"].as_str().unwrap();
            assert!(
                reason.contains("document \"a\"") && reason.contains(words),
                "{reason}"
            );
        }
        assert!(server.told().iter().any(|line| line.contains(words)));
        for (id, made) in [("v", made), ("m", maps)] {
            let path = format!("/db/_design/{id}?rev={}", made["rev"].as_str().unwrap());
            call(&mut connection, "DELETE", &path, &Value::Null);
        }
    }
}
