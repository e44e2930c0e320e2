//! CouchDB's recorded answers, sent again in order to Varve.
//!
//! `couchdb-answers.json` holds 251 requests to CouchDB 3.5.0 with its answers. Each is either
//! compared (status, the headers that were recorded, the body with its order of members) or
//! stands in [`OUTSIDE`] with the reason.

mod compare;

use serde_json::Value;

use crate::client::{ADMIN, Reply, Running};

/// An exchange that this version of Varve does not answer as CouchDB does.
struct Outside {
    index: usize,
    reason: &'static str,
    /// Sent in its place, so that later answers see what CouchDB's database held.
    instead: Option<(&'static str, &'static str, &'static str)>,
}

const fn outside(index: usize, reason: &'static str) -> Outside {
    Outside {
        index,
        reason,
        instead: None,
    }
}

const INDEXES: &str = "queries by selector and their indexes come with a later issue";

/// Everything that is not compared.
const OUTSIDE: &[Outside] = &[
    Outside {
        index: 182,
        reason: INDEXES,
        instead: Some(("PUT", "/ans/_design/iv", r#"{"language":"query"}"#)),
    },
    outside(183, INDEXES),
    outside(184, INDEXES),
    Outside {
        index: 185,
        reason: INDEXES,
        instead: Some(("PUT", "/ans/_design/i0", r#"{"language":"query"}"#)),
    },
    outside(186, INDEXES),
    outside(187, INDEXES),
    outside(188, INDEXES),
    outside(189, INDEXES),
    outside(190, INDEXES),
    outside(191, INDEXES),
    outside(192, INDEXES),
    outside(193, INDEXES),
    outside(194, INDEXES),
    outside(195, INDEXES),
    outside(196, INDEXES),
    outside(197, INDEXES),
    outside(198, INDEXES),
    outside(199, INDEXES),
    outside(200, INDEXES),
    outside(201, INDEXES),
    outside(202, INDEXES),
    outside(203, INDEXES),
    outside(204, INDEXES),
    Outside {
        index: 205,
        reason: INDEXES,
        instead: Some(("DELETE", "/ans/_design/iv?rev={iv}", "")),
    },
    outside(206, INDEXES),
];

/// How many of the 251 are compared; raised when something leaves [`OUTSIDE`].
const COMPARED: usize = 226;

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

/// Sends what stands in for an exchange that is outside.
fn send_instead(server: &Running, outside: &Outside, design_revision: &mut String) {
    let Some((method, path, body)) = outside.instead else {
        return;
    };
    let headers = [ADMIN, ("content-type", "application/json")];
    let reply = server.send(
        method,
        &path.replace("{iv}", design_revision),
        &headers,
        body,
    );
    assert!(reply.status < 300, "{method} {path}: {reply:?}");
    if path == "/ans/_design/iv" {
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        *design_revision = answer["rev"].as_str().unwrap().to_owned();
    }
}

/// What the next answers say of compactions must not depend on how long one takes.
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
    let (mut compared, mut differing) = (0, Vec::new());
    let mut design_revision = String::new();
    for (index, recorded) in exchanges.iter().enumerate() {
        if let Some(outside) = OUTSIDE.iter().find(|outside| outside.index == index) {
            assert!(!outside.reason.is_empty());
            send_instead(&server, outside, &mut design_revision);
            continue;
        }
        let request = Recorded::of(recorded);
        let reply = request.send(&server);
        if request.path.ends_with("/_compact") && reply.status == 202 {
            wait_for_compaction(&server);
        }
        compared += 1;
        let same_updates = index < OUTSIDE[0].index;
        let differences = compare::differences(recorded, &reply, same_updates);
        if !differences.is_empty() {
            let body: String = request.body.chars().take(200).collect();
            let line = format!("{index} {} {} {body}", request.method, request.path);
            differing.push(format!("{line}\n    {}", differences.join("\n    ")));
        }
    }
    assert!(
        differing.is_empty(),
        "{} of {compared} answers differ:\n{}",
        differing.len(),
        differing.join("\n")
    );
    assert_eq!(compared, COMPARED);
}
