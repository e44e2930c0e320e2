//! Compactions by the settings, as an operator watches and holds them.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call, until};
use serde_json::{Value, json};

const SETTINGS: &str = "[smoosh]\nwait_secs = 0\ndb_channels = rewritten\nview_channels = none\n\
                        [smoosh.rewritten]\npriority = ratio\nmin_priority = 2\nmin_size = 1kb\n";
const STATUS: &str = "/_node/_local/_smoosh/status";

/// Writes one document again and again, so that most of its file is unneeded.
fn rewrite(connection: &mut Connection) {
    let mut rev = Value::Null;
    for round in 0..40 {
        let text = format!("{round} ").repeat(3000);
        let mut doc = json!({"text": text});
        if !rev.is_null() {
            doc["_rev"] = rev;
        }
        rev = call(connection, "PUT", "/db/doc", &doc)["rev"].take();
    }
}

fn file_size(connection: &mut Connection) -> u64 {
    call(connection, "GET", "/db", &Value::Null)["sizes"]["file"]
        .as_u64()
        .unwrap()
}

#[test]
fn compactions_wait_while_they_are_suspended() {
    let server = Running::start_with(SETTINGS);
    let mut connection = Connection::open(server.address);
    let connection = &mut connection;
    let ok = json!({"ok": true});
    let post = |connection: &mut Connection, action: &str, body: &Value| {
        let path = format!("/_node/_local/_smoosh/{action}");
        call(connection, "POST", &path, body)
    };
    assert_eq!(post(connection, "suspend", &json!({})), ok);
    call(connection, "PUT", "/db", &Value::Null);
    rewrite(connection);
    let status = until(connection, STATUS, |status| {
        status["channels"]["rewritten"]["waiting"]["size"] == 1
    });
    assert_eq!(status["suspended"], true);
    let waiting = &status["channels"]["rewritten"]["waiting"];
    assert!(waiting["min"].as_f64() >= Some(2.0) && waiting["min"] == waiting["max"]);
    assert_eq!(status["channels"]["rewritten"]["active"], 0);
    let before = file_size(connection);
    assert_eq!(post(connection, "resume", &json!({})), ok);
    until(connection, "/db", |info| {
        info["sizes"]["file"].as_u64() < Some(before / 2)
    });
    let idle = json!({"rewritten": {"active": 0, "starting": 0, "waiting": {"size": 0}}});
    let status = until(connection, STATUS, |status| status["channels"] == idle);
    assert_eq!(status["suspended"], false);
}

#[test]
fn a_database_that_was_left_alone_is_looked_at_on_request() {
    let server = Running::start_with(&SETTINGS.replace(
        "= ratio\nmin_priority = 2",
        "= ratio\nmin_priority = 1000000",
    ));
    let mut connection = Connection::open(server.address);
    let connection = &mut connection;
    call(connection, "PUT", "/db", &Value::Null);
    rewrite(connection);
    let before = file_size(connection);
    let key = "/_node/_local/_config/smoosh.rewritten/min_priority";
    call(connection, "PUT", key, &json!("2"));
    assert_eq!(file_size(connection), before, "nothing has happened to it");
    let body = json!({"database": "db"});
    let path = "/_node/_local/_smoosh/enqueue";
    assert_eq!(call(connection, "POST", path, &body), json!({"ok": true}));
    until(connection, "/db", |info| {
        info["sizes"]["file"].as_u64() < Some(before / 2)
    });
}

#[test]
fn only_admins_and_the_right_methods_are_let_in() {
    let server = Running::start();
    for (method, action, status) in [
        ("GET", "status", 200),
        ("POST", "status", 405),
        ("GET", "suspend", 405),
        ("GET", "enqueue", 405),
        ("POST", "nothing", 404),
    ] {
        let path = format!("/_node/_local/_smoosh/{action}");
        let reply = server.send(method, &path, &[ADMIN, JSON], "{}");
        assert_eq!(reply.status, status, "{method} {action}");
        assert_eq!(server.send(method, &path, &[JSON], "{}").status, 401);
    }
    let path = "/_node/_local/_smoosh/enqueue";
    for (body, status) in [("{}", 400), ("{\"database\":\"none\"}", 404)] {
        assert_eq!(
            server.send("POST", path, &[ADMIN, JSON], body).status,
            status
        );
    }
    assert_eq!(server.send("POST", path, &[ADMIN], "{}").status, 415);
}
