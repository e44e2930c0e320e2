//! Replication between two servers, each over real sockets.

mod between;
mod documents;
mod foreign;
mod local;
mod members;
mod named;
mod parallel;
mod peers;
mod proxies;

use crate::client::{ADMIN, Running};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub const JSON: (&str, &str) = ("content-type", "application/json");

/// A request of the admin with a JSON body; its status and answer.
pub fn ask(server: &Running, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let text = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let reply = server.send(method, path, &[ADMIN, JSON], &text);
    let value = serde_json::from_str(&reply.body).unwrap_or(Value::Null);
    (reply.status, value)
}

pub fn get(server: &Running, path: &str) -> Value {
    ask(server, "GET", path, &Value::Null).1
}

/// The URL of a database with the admin's login.
pub fn url(server: &Running, database: &str) -> String {
    format!("http://adm:pass@{}/{database}", server.address)
}

pub fn put_docs(server: &Running, database: &str, docs: &Value) {
    let (status, answer) = ask(
        server,
        "POST",
        &format!("/{database}/_bulk_docs"),
        &json!({"docs": docs}),
    );
    assert_eq!(status, 201, "{answer}");
}

/// `_replicate` on a server, with further members.
pub fn replicate(on: &Running, source: &str, target: &str, more: &Value) -> (u16, Value) {
    let mut body = json!({"source": source, "target": target});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    ask(on, "POST", "/_replicate", &body)
}

/// Ids and all leaf revisions, with which two databases are compared.
pub fn leaves(server: &Running, database: &str) -> Value {
    let path = format!("/{database}/_changes?style=all_docs");
    let changes = get(server, &path);
    let mut rows: Vec<(String, Vec<String>)> = changes["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let revs = row["changes"].as_array().unwrap().iter();
            let mut revs: Vec<String> = revs.map(|rev| rev["rev"].to_string()).collect();
            revs.sort();
            (row["id"].to_string(), revs)
        })
        .collect();
    rows.sort();
    json!(rows)
}

pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Twenty documents in the database `a`, and a design document for [`parts`].
pub fn put_numbered(server: &Running) {
    let docs: Vec<Value> = (0..20)
        .map(|n| json!({"_id": format!("d{n:02}"), "n": n}))
        .collect();
    put_docs(server, "a", &json!(docs));
    let design = json!({
        "filters": {"least": "function (doc, req) { return doc.n >= Number(req.query.least); }"},
        "views": {"even": {"map": "function (doc) { if (doc.n % 2 === 0) emit(doc.n); }"}},
    });
    assert_eq!(ask(server, "PUT", "/a/_design/d", &design).0, 201);
}

/// Members of a request that choose documents of [`put_numbered`], each with the number of documents that it chooses.
pub fn parts() -> Vec<(&'static str, Value, u64)> {
    vec![
        ("ids", json!({"doc_ids": ["d03", "d07", "none"]}), 2),
        ("selector", json!({"selector": {"n": {"$gt": 15}}}), 4),
        (
            "filter",
            json!({"filter": "d/least", "query_params": {"least": "18"}}),
            2,
        ),
        (
            "view",
            json!({"filter": "_view", "query_params": {"view": "d/even"}}),
            10,
        ),
    ]
}
