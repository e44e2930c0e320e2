//! CouchDB's recorded answers, sent again in order to Varve.
//!
//! `couchdb-answers.json` holds 251 requests to CouchDB 3.5.0 with its answers. Each is compared:
//! status, the headers that were recorded, the body with its order of members.

mod compare;

use serde_json::Value;

use crate::client::{ADMIN, Reply, Running};

/// The exchange that makes the first json index. CouchDB counts more updates from there on than
/// documents are written.
const FIRST_INDEX: usize = 182;

/// The exchange that tells the sizes of the database with all documents.
const DATABASES: usize = 242;

/// `sizes.external` counts what CouchDB counts.
fn check_external(recorded: &Value, body: &str) {
    let answer: Value = serde_json::from_str(body).unwrap();
    let external = |answer: &Value| answer[0]["info"]["sizes"]["external"].as_u64().unwrap();
    assert_eq!(external(&answer), external(&recorded["answer"]), "{body}");
}

fn recorded() -> Vec<Value> {
    let text = include_str!("../../../testkit/recorded/couchdb-answers.json");
    let mut whole: Value = serde_json::from_str(text).unwrap();
    match whole["exchanges"].take() {
        Value::Array(exchanges) => exchanges,
        other => panic!("exchanges is no array: {other}"),
    }
}

/// A recorded request, ready to be sent.
struct Recorded<'a> {
    method: &'a str,
    path: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body: String,
}

impl<'a> Recorded<'a> {
    /// A body that the recording cut is made whole again.
    fn of(exchange: &'a Value) -> Recorded<'a> {
        let request = &exchange["request"];
        let text = |name: &str| request[name].as_str().unwrap_or_default();
        let mut headers = Vec::new();
        if request["anonymous"] != true {
            headers.push(ADMIN);
        }
        let own = request["headers"].as_object().into_iter().flatten();
        // CouchDB's single node stores an attachment whatever digest is announced; here another one is refused.
        let own = own.filter(|(name, _)| *name != "Content-MD5");
        headers.extend(own.map(|(name, value)| (name.as_str(), value.as_str().unwrap())));
        let body = match text("path") {
            "/ans/big" => format!("{{\"x\":{}{}}}", "[".repeat(2000), "]".repeat(2000)),
            _ => text("body").to_owned(),
        };
        Recorded {
            method: text("method"),
            path: text("path"),
            headers,
            body,
        }
    }

    fn send(&self, server: &Running) -> Reply {
        server.send(self.method, self.path, &self.headers, &self.body)
    }
}

/// Waits for the compaction, so that the next answers do not depend on its duration.
fn wait_for_compaction(server: &Running) {
    let begun = std::time::Instant::now();
    loop {
        let info = server.send("GET", "/ans", &[ADMIN], "").body;
        if info.contains("\"compact_running\":false") {
            return;
        }
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(60),
            "{info}"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn answers_are_couchdbs() {
    let server = Running::start();
    let exchanges = recorded();
    assert_eq!(exchanges.len(), 251);
    let mut differing = Vec::new();
    for (index, recorded) in exchanges.iter().enumerate() {
        let request = Recorded::of(recorded);
        let reply = request.send(&server);
        if request.path.ends_with("/_compact") && reply.status == 202 {
            wait_for_compaction(&server);
        }
        if index == DATABASES {
            check_external(recorded, &reply.body);
        }
        let diff = compare::diff(recorded, &reply, index < FIRST_INDEX);
        if !diff.is_empty() {
            let body: String = request.body.chars().take(200).collect();
            let line = format!("{index} {} {} {body}", request.method, request.path);
            differing.push(format!("{line}\n    {}", diff.join("\n    ")));
        }
    }
    assert!(
        differing.is_empty(),
        "{} of {} answers differ:\n{}",
        differing.len(),
        exchanges.len(),
        differing.join("\n")
    );
}
