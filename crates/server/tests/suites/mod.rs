//! Answers that CouchDB's own tests look at, as a real one gave them.

mod documents;
mod find;
mod http;
mod rows;

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

/// A server with a database `db`.
fn with_database() -> Running {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    server
}

fn ask(server: &Running, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let reply = server.send(method, path, &[ADMIN, JSON], &body.to_string());
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

/// The bytes of an answer count.
fn text_of(server: &Running, method: &str, path: &str, body: &Value) -> (u16, String) {
    let reply: Reply = server.send(method, path, &[ADMIN, JSON], &body.to_string());
    (reply.status, reply.body)
}

/// Writes revisions as they come from elsewhere.
fn replicate(server: &Running, docs: &Value) {
    let body = json!({"new_edits": false, "docs": docs});
    let written = ask(server, "POST", "/db/_bulk_docs", &body);
    assert_eq!(written, (201, json!([])));
}

fn put_views(server: &Running, views: &Value) {
    let written = ask(server, "PUT", "/db/_design/d", &json!({"views": views}));
    assert_eq!(written.0, 201, "{}", written.1);
}

/// The rows of a view, or of all documents.
fn rows_of(server: &Running, path: &str) -> Value {
    ask(server, "GET", &format!("/db/{path}"), &Value::Null).1["rows"].clone()
}

fn error(word: &str, reason: &str) -> Value {
    json!({"error": word, "reason": reason})
}

fn put_all(server: &Running, docs: &[Value]) {
    let written = ask(server, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
    assert_eq!(written.0, 201, "{}", written.1);
}

#[test]
fn the_first_row_of_each_interval_tells_its_sequence() {
    let server = with_database();
    let docs: Vec<_> = (0..6).map(|n| json!({"_id": n.to_string()})).collect();
    put_all(&server, &docs);
    let told = |interval: u64| {
        let path = format!("/db/_changes?seq_interval={interval}");
        let rows = ask(&server, "GET", &path, &Value::Null).1["results"].clone();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| !row["seq"].is_null()).collect::<Vec<_>>()
    };
    assert_eq!(told(4), [true, false, false, false, true, false]);
    assert_eq!(told(10), [true, false, false, false, false, false]);
    assert_eq!(told(1), [true; 6]);
}

#[test]
fn values_that_are_equal_count_once_among_the_highest() {
    let server = with_database();
    let docs: Vec<_> = [27, 65, 21, 37].iter().map(|n| json!({"age": n})).collect();
    put_all(&server, &docs);
    let map = "function (doc) { emit(1, doc.age); emit(1, doc.age) }";
    let views = json!({"top": {"map": map, "reduce": "_top_3"}, "low": {"map": map, "reduce": "_bottom_2"}});
    assert_eq!(
        ask(&server, "PUT", "/db/_design/d", &json!({"views": views})).0,
        201
    );
    for (view, expected) in [("top", json!([65, 37, 27])), ("low", json!([21, 27]))] {
        let path = format!("/db/_design/d/_view/{view}");
        let answer = ask(&server, "GET", &path, &Value::Null).1;
        assert_eq!(answer["rows"][0]["value"], expected, "{view}");
    }
}

#[test]
fn a_reduce_that_throws_gives_null_and_names_of_built_in_ones_may_go_on() {
    let server = with_database();
    put_all(&server, &[json!({"_id": "a"}), json!({"_id": "b"})]);
    let map = "function (doc) { emit(1, 2) }";
    let views = json!({
        "thrown": {"map": map, "reduce": "function (k, v) { throw new Error('boom') }"},
        "undefined": {"map": map, "reduce": "function (k, v) { return v.x.y }"},
        "sum": {"map": map, "reduce": "_sum andothergarbage"},
        "count": {"map": map, "reduce": "_counted"},
    });
    assert_eq!(
        ask(&server, "PUT", "/db/_design/d", &json!({"views": views})).0,
        201
    );
    for (view, expected) in [
        ("thrown", Value::Null),
        ("undefined", Value::Null),
        ("sum", json!(4)),
        ("count", json!(2)),
    ] {
        let path = format!("/db/_design/d/_view/{view}");
        let (status, answer) = ask(&server, "GET", &path, &Value::Null);
        let row = json!([{"key": null, "value": expected}]);
        assert_eq!((status, &answer["rows"]), (200, &row), "{view}");
    }
}

#[test]
fn writes_of_all_documents_or_none_are_refused_and_new_edits_is_a_truth_value() {
    let server = with_database();
    let docs = json!([{"_id": "a"}, {"_id": "b", "_rev": "1-x"}]);
    let body = json!({"all_or_nothing": true, "docs": docs});
    let rows = ["0-", "1-x"].into_iter().zip(["a", "b"]).map(|(rev, id)| {
        json!({"id": id, "rev": rev, "error": "not_implemented", "reason": "all_or_nothing is not supported"})
    });
    let expected = (417, rows.collect::<Value>());
    assert_eq!(ask(&server, "POST", "/db/_bulk_docs", &body), expected);
    let body = json!({"new_edits": "false", "docs": docs});
    assert_eq!(ask(&server, "POST", "/db/_bulk_docs", &body).0, 400);
    let count = ask(&server, "GET", "/db", &Value::Null).1["doc_count"].clone();
    assert_eq!(count, 0);
}

#[test]
fn a_selector_of_no_alternatives_finds_nothing() {
    let server = with_database();
    put_all(&server, &[json!({"_id": "a"})]);
    for selector in [json!({"$or": []}), json!({"$and": []})] {
        let body = json!({"selector": selector, "execution_stats": true});
        let found = ask(&server, "POST", "/db/_find", &body);
        assert_eq!(found, (200, json!({"docs": []})), "{selector}");
    }
}
