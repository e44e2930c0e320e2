//! Short answers are made at once and sent whole, long ones are streamed; both say the same.

use crate::client::{ADMIN, Running};
use serde_json::Value;

const DOCUMENTS: usize = 40;
const JSON: (&str, &str) = ("content-type", "application/json");

/// A server with documents of 8 KB.
fn server() -> Running {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/d", &[ADMIN], "").status, 201);
    let documents =
        (0..DOCUMENTS).map(|n| format!("{{\"_id\":\"{n:03}\",\"text\":\"{n:08192}\"}}"));
    let body = format!("{{\"docs\":[{}]}}", documents.collect::<Vec<_>>().join(","));
    let reply = server.send("POST", "/d/_bulk_docs", &[ADMIN, JSON], &body);
    assert_eq!(reply.status, 201);
    server
}

fn rows(server: &Running, path: &str, is_whole: bool) -> Vec<Value> {
    let reply = server.send("GET", path, &[ADMIN], "");
    assert_eq!(reply.status, 200, "{path}");
    let streamed = reply.header("transfer-encoding") == Some("chunked");
    assert_eq!(streamed, !is_whole, "{path}");
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    body["rows"].as_array().unwrap().clone()
}

#[test]
fn rows_that_fit_in_a_buffer_are_those_that_are_streamed() {
    let server = server();
    let path = |limit| format!("/d/_all_docs?include_docs=true{limit}");
    let all = rows(&server, &path(String::new()), false);
    assert_eq!(all.len(), DOCUMENTS);
    assert_eq!(
        rows(&server, &path("&limit=10".to_owned()), true),
        all[..10]
    );
    // Few rows, but more bytes than are made at once.
    assert_eq!(
        rows(&server, &path("&limit=30".to_owned()), false),
        all[..30]
    );
}

#[test]
fn what_fails_at_once_fails_as_it_does_later() {
    let server = server();
    for (path, status) in [
        ("/d/000", 200),
        ("/d/nothing", 404),
        ("/d/000?rev=nonsense", 400),
        ("/nothing/000", 404),
        ("/d/_all_docs?limit=5&skip=x", 400),
    ] {
        assert_eq!(
            server.send("GET", path, &[ADMIN], "").status,
            status,
            "{path}"
        );
        // Not read without the right to, in either way.
        assert_eq!(
            server.send("GET", path, &[], "").status,
            if path.starts_with("/n") { 404 } else { 401 },
            "{path}"
        );
    }
}
