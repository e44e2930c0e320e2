//! Unusual requests for databases and documents, and their answers.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

/// A server with a database `db`, and a connection to it.
fn served() -> (Running, Connection) {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    (server, connection)
}

/// The answer, whatever its status is.
fn send(connection: &mut Connection, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let reply = connection.send(method, path, &[ADMIN, JSON], &body);
    let answer = serde_json::from_str(&reply.body);
    (reply.status, answer.unwrap_or_else(|_| panic!("{reply:?}")))
}

fn refused(answer: (u16, Value), status: u16, reason: &str) {
    assert_eq!(
        (answer.0, &answer.1["reason"]),
        (status, &json!(reason)),
        "{answer:?}"
    );
}

#[test]
fn a_revision_keeps_a_database_from_being_deleted_by_accident() {
    let (_server, mut connection) = served();
    call(&mut connection, "PUT", "/db/a", &json!({}));
    for rev in ["1-967a00dff5e02add41819138abb3284d", ""] {
        let path = format!("/db?rev={rev}");
        refused(
            send(&mut connection, "DELETE", &path, &Value::Null),
            400,
            "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?",
        );
    }
    call(&mut connection, "GET", "/db/a", &Value::Null);
    call(&mut connection, "DELETE", "/db", &Value::Null);
    let (status, _) = send(&mut connection, "GET", "/db", &Value::Null);
    assert_eq!(status, 404);
}

/// The ids of rows, or the keys that nothing has.
fn keys(rows: &Value) -> Vec<String> {
    let rows = rows["rows"].as_array().unwrap().iter();
    let key = |row: &Value| {
        let error = row["error"].as_str().unwrap_or_default();
        format!("{}{error}", row["key"].as_str().unwrap())
    };
    rows.map(key).collect()
}

#[test]
fn design_and_local_documents_are_asked_for_by_several_queries_at_once() {
    let (_server, mut connection) = served();
    for id in ["_design/a", "_design/b", "_local/a", "_local/b", "c"] {
        call(&mut connection, "PUT", &format!("/db/{id}"), &json!({}));
    }
    for kind in ["design", "local"] {
        let (a, b) = (format!("_{kind}/a"), format!("_{kind}/b"));
        let queries = json!({"queries": [
            {"limit": 1}, {"descending": true, "limit": 1}, {"start_key": b}, {"keys": [b, "none"]},
            {"keys": [b, a], "include_docs": true},
        ]});
        let path = format!("/db/_{kind}_docs/queries");
        let answer = call(&mut connection, "POST", &path, &queries);
        let found = answer["results"].as_array().unwrap().iter();
        let found: Vec<_> = found.map(keys).collect();
        let (a, b) = (a.as_str(), b.as_str());
        assert_eq!(found, [vec![a], vec![b], vec![b], vec![b], vec![b, a]]);
        assert_eq!(answer["results"][4]["rows"][1]["doc"]["_id"], a);
        let reply = connection.send("GET", &path, &[ADMIN], "");
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
        let wrong = send(&mut connection, "POST", &path, &json!({}));
        refused(wrong, 400, "`queries` member must exist and be an array.");
    }
}

#[test]
fn local_documents_are_found_by_their_keys_in_the_order_of_these() {
    let (_server, mut connection) = served();
    for id in ["_local/a", "_local/b", "_local/c", "d"] {
        call(&mut connection, "PUT", &format!("/db/{id}"), &json!({}));
    }
    let asked = json!({"keys": ["_local/c", "_local/none", "a", "d", "_local/a", "_local/c"]});
    for (query, expected) in [
        (
            "",
            &[
                "_local/c",
                "_local/nonenot_found",
                "anot_found",
                "dnot_found",
                "_local/a",
                "_local/c",
            ][..],
        ),
        ("?limit=1", &["_local/c"]),
        ("?skip=4&limit=1", &["_local/a"]),
        ("?descending=true&limit=2", &["_local/c", "_local/a"]),
    ] {
        let path = format!("/db/_local_docs{query}");
        let rows = call(&mut connection, "POST", &path, &asked);
        assert_eq!(keys(&rows), expected, "{query}");
    }
}

#[test]
fn local_documents_have_no_history_to_name_and_no_attachments() {
    let (_server, mut connection) = served();
    let none = &Value::Null;
    for rev in ["", "?rev=0-1", "?rev=0-77"] {
        call(&mut connection, "PUT", "/db/_local/a", &json!({}));
        let path = format!("/db/_local/a{rev}");
        let answer = call(&mut connection, "DELETE", &path, none);
        assert_eq!(answer, json!({"ok": true, "id": "_local/a", "rev": "0-0"}));
        refused(send(&mut connection, "DELETE", &path, none), 404, "missing");
        refused(
            send(&mut connection, "GET", "/db/_local/a", none),
            404,
            "missing",
        );
    }
    call(&mut connection, "PUT", "/db/_local/a", &json!({"n": 1}));
    for method in ["PUT", "GET", "DELETE"] {
        let reason = "_local documents do not accept attachments.";
        let answer = send(&mut connection, method, "/db/_local/a/file?rev=0-1", none);
        refused(answer, 400, reason);
    }
    let kept = call(&mut connection, "GET", "/db/_local/a", none);
    assert_eq!(kept["n"], 1);
}

#[test]
fn the_longest_names_of_databases_can_be_compacted_and_longer_ones_are_refused() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    let none = &Value::Null;
    let name = "d".repeat(238);
    let path = format!("/{name}");
    call(&mut connection, "PUT", &path, none);
    call(&mut connection, "PUT", &format!("{path}/a"), &json!({}));
    let compact = format!("{path}/_compact");
    call(&mut connection, "POST", &compact, none);
    crate::compaction::until(&mut connection, &path, |info| {
        info["compact_running"] == false
    });
    let tasks = call(&mut connection, "GET", "/_active_tasks", none);
    assert_eq!(tasks, json!([]));
    assert_eq!(call(&mut connection, "GET", &path, none)["doc_count"], 1);
    // A slash is longer in the name of a file.
    for name in [format!("{name}d"), format!("a{}", "%2Fb".repeat(61))] {
        let (status, error) = send(&mut connection, "PUT", &format!("/{name}"), none);
        assert_eq!(
            (status, &error["error"]),
            (400, &json!("database_name_too_long"))
        );
    }
}

#[test]
fn a_selector_for_changes_comes_in_a_body() {
    let (_server, mut connection) = served();
    let answer = send(
        &mut connection,
        "GET",
        "/db/_changes?filter=_selector",
        &Value::Null,
    );
    refused(answer, 400, "Selector must be specified in POST payload");
}

#[test]
fn feeds_and_rows_bring_attachments_if_they_are_asked_for() {
    let (_server, mut connection) = served();
    let text = json!({"content_type": "text/plain", "data": "aGF5IGhheSBoYXk="});
    call(
        &mut connection,
        "PUT",
        "/db/a",
        &json!({"_attachments": {"t": text}}),
    );
    for (path, list) in [("/db/_changes", "results"), ("/db/_all_docs", "rows")] {
        let mut shown = |query: &str| {
            let path = format!("{path}?include_docs=true{query}");
            let answer = call(&mut connection, "GET", &path, &Value::Null);
            answer[list][0]["doc"]["_attachments"]["t"].clone()
        };
        let stub = shown("");
        assert_eq!((&stub["stub"], &stub["length"]), (&json!(true), &json!(11)));
        assert!(stub.get("encoding").is_none(), "{stub}");
        let whole = shown("&attachments=true");
        assert_eq!(whole["data"], text["data"]);
        assert!(whole.get("stub").is_none(), "{whole}");
        assert_eq!(shown("&att_encoding_info=true")["encoding"], "gzip");
    }
}
