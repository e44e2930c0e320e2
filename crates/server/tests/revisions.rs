//! Revisions as clients name them: in queries, in headers, and by their descendants.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

/// A server with these settings and a database `db`, and a connection to it.
fn served(settings: &str) -> (Running, Connection) {
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    (server, connection)
}

/// The status and the answer.
fn send(
    connection: &mut Connection,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Value) {
    let headers = [&[ADMIN, JSON], headers].concat();
    let reply = connection.send(method, path, &headers, &body.to_string());
    let answer = serde_json::from_str(&reply.body);
    (reply.status, answer.unwrap_or_else(|_| panic!("{reply:?}")))
}

/// A document of which revision 1-a has two branches, one of them longer, and another one a tombstone.
fn branched(connection: &mut Connection) {
    let revision = |ids: &[&str], rest: Value| {
        let mut doc = rest;
        doc["_id"] = json!("doc");
        doc["_revisions"] = json!({"start": ids.len(), "ids": ids});
        doc
    };
    let docs = [
        revision(&["a"], json!({"n": 1})),
        revision(&["c", "b", "a"], json!({"n": 3})),
        revision(&["d", "a"], json!({"n": 2})),
        revision(&["f", "e"], json!({"_deleted": true})),
    ];
    let body = json!({"new_edits": false, "docs": docs});
    assert_eq!(call(connection, "POST", "/db/_bulk_docs", &body), json!([]));
}

#[test]
fn latest_leads_from_a_revision_to_the_leaves_that_follow_it() {
    let (_server, mut connection) = served("");
    branched(&mut connection);
    let mut get = |query: &str| {
        let path = format!("/db/doc?{query}");
        let headers = [("accept", "application/json")];
        send(&mut connection, "GET", &path, &headers, &Value::Null)
    };
    for (query, expected) in [
        ("rev=1-a", "1-a"),
        ("rev=1-a&latest=true", "3-c"),
        ("rev=2-d&latest=true", "2-d"),
        ("rev=1-e&latest=true", "2-f"),
        ("rev=1-a&latest=false", "1-a"),
    ] {
        let (status, shown) = get(query);
        assert_eq!((status, &shown["_rev"]), (200, &json!(expected)), "{query}");
    }
    // A revision that is known as an ancestor only has no document.
    assert_eq!(get("rev=2-b").0, 404);
    assert_eq!(get("rev=2-b&latest=true").1["_rev"], "3-c");
    assert_eq!(get("rev=9-z&latest=true").0, 404);
    let revs = |answer: &Value| {
        let each = answer.as_array().unwrap().iter();
        let rev = |one: &Value| match one.get("ok") {
            Some(doc) => doc["_rev"].as_str().unwrap().to_owned(),
            None => format!("no {}", one["missing"].as_str().unwrap()),
        };
        each.map(rev).collect::<Vec<_>>()
    };
    let (_, plain) = get("open_revs=[\"1-a\",\"9-z\"]");
    assert_eq!(revs(&plain), ["1-a", "no 9-z"]);
    let (_, latest) = get("open_revs=[\"1-a\",\"9-z\"]&latest=true");
    let mut found = revs(&latest);
    found.sort();
    assert_eq!(found, ["2-d", "3-c", "no 9-z"]);
    let asked = json!({"docs": [{"id": "doc", "rev": "1-a"}]});
    let latest = call(&mut connection, "POST", "/db/_bulk_get?latest=true", &asked);
    let docs = latest["results"][0]["docs"].as_array().unwrap();
    assert_eq!(docs.len(), 2, "{latest}");
}

#[test]
fn conflicts_are_listed_apart_from_those_that_are_deleted() {
    let (_server, mut connection) = served("");
    branched(&mut connection);
    let path = "/db/doc?conflicts=true&deleted_conflicts=true";
    let shown = call(&mut connection, "GET", path, &Value::Null);
    assert_eq!(shown["_rev"], "3-c");
    assert_eq!(shown["_conflicts"], json!(["2-d"]));
    assert_eq!(shown["_deleted_conflicts"], json!(["2-f"]));
    let path = "/db/_changes?include_docs=true&conflicts=true";
    let changes = call(&mut connection, "GET", path, &Value::Null);
    assert_eq!(changes["results"][0]["doc"]["_conflicts"], json!(["2-d"]));
    let rows = call(
        &mut connection,
        "GET",
        "/db/_all_docs?include_docs=true&conflicts=true",
        &Value::Null,
    );
    assert_eq!(rows["rows"][0]["doc"]["_conflicts"], json!(["2-d"]));
}

#[test]
fn a_revision_may_come_in_if_match() {
    let (_server, mut connection) = served("");
    let first = call(&mut connection, "PUT", "/db/a", &json!({"n": 1}))["rev"].clone();
    let first = first.as_str().unwrap().to_owned();
    let (quoted, stale) = (format!("\"{first}\""), "\"1-0\"");
    let mut send = |method: &str, path: &str, tag: &str| {
        let body = json!({"n": 2});
        send(&mut connection, method, path, &[("if-match", tag)], &body)
    };
    for (method, path) in [("PUT", "/db/a"), ("DELETE", "/db/a"), ("PUT", "/db/a/file")] {
        let (status, error) = send(method, path, stale);
        assert_eq!(
            (status, &error["error"]),
            (409, &json!("conflict")),
            "{method} {path}"
        );
        // Two that differ are not guessed about.
        let (status, error) = send(method, &format!("{path}?rev={first}"), stale);
        let reason = "Document rev and etag have different values";
        assert_eq!((status, &error["reason"]), (400, &json!(reason)));
    }
    let (status, second) = send("PUT", "/db/a", &quoted);
    assert_eq!(status, 201);
    let second = second["rev"].as_str().unwrap().to_owned();
    let (status, third) = send("PUT", "/db/a/file", &second);
    assert_eq!(status, 201, "without quotes");
    let tag = format!("\"{}\"", third["rev"].as_str().unwrap());
    let (status, fourth) = send("DELETE", "/db/a/file", &tag);
    assert_eq!(status, 200);
    let tag = format!("\"{}\"", fourth["rev"].as_str().unwrap());
    assert_eq!(send("DELETE", "/db/a", &tag).0, 200);
}

#[test]
fn a_batch_is_accepted_and_there() {
    let (server, mut connection) = served("");
    let none = &Value::Null;
    let body = json!({"_id": "posted"});
    for (method, path, id) in [
        ("POST", "/db?batch=ok", "posted"),
        ("PUT", "/db/put?batch=ok", "put"),
        ("PUT", "/db/_local/put?batch=ok", "_local/put"),
    ] {
        let (status, answer) = send(&mut connection, method, path, &[], &body);
        assert_eq!(
            (status, answer),
            (202, json!({"ok": true, "id": id})),
            "{path}"
        );
    }
    let (status, _) = send(&mut connection, "PUT", "/db/bad?batch=ok", &[], &json!(1));
    assert_eq!(status, 400);
    drop(connection);
    let server = server.restart(|_| {});
    let mut connection = Connection::open(server.address);
    for id in ["posted", "put", "_local/put"] {
        call(&mut connection, "GET", &format!("/db/{id}"), none);
    }
}

#[test]
fn documents_longer_than_the_limit_are_refused() {
    let (_server, mut connection) = served("[couchdb]\nmax_document_size = 1000\n");
    let text = |len: usize| json!({"text": "x".repeat(len)});
    let too_large = json!("document_too_large");
    for (method, path) in [("PUT", "/db/a"), ("POST", "/db")] {
        let mut long = text(1000);
        long["_id"] = json!("a");
        let (status, error) = send(&mut connection, method, path, &[], &long);
        assert_eq!(
            (status, &error["error"], &error["reason"]),
            (413, &too_large, &json!("a"))
        );
    }
    let docs = json!({"docs": [{"_id": "long", "text": "x".repeat(1000)}, {"_id": "short"}]});
    let rows = call(&mut connection, "POST", "/db/_bulk_docs", &docs);
    assert_eq!(
        (&rows[0]["error"], &rows[1]["ok"]),
        (&too_large, &json!(true))
    );
    // Attachments have a limit of their own.
    let data = "QUJD".repeat(1000);
    let attached = json!({"_attachments": {"a": {"data": data}}, "text": "x".repeat(900)});
    call(&mut connection, "PUT", "/db/a", &attached);
    let (_, found) = send(&mut connection, "GET", "/db/long", &[], &Value::Null);
    assert_eq!(found["reason"], "missing");
}

#[test]
fn as_many_revisions_are_remembered_as_the_limit_says() {
    let (_server, mut connection) = served("");
    call(&mut connection, "PUT", "/db/_revs_limit", &json!(3));
    let mut doc = json!({"n": 0});
    for number in 1..6 {
        let written = call(&mut connection, "PUT", "/db/a", &doc);
        doc = json!({"n": number, "_rev": written["rev"]});
    }
    let path = "/db/a?revs=true&revs_info=true";
    let shown = call(&mut connection, "GET", path, &Value::Null);
    assert_eq!(shown["_revisions"]["start"], 5);
    assert_eq!(shown["_revisions"]["ids"].as_array().unwrap().len(), 3);
    assert_eq!(shown["_revs_info"].as_array().unwrap().len(), 3);
}
