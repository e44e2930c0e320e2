//! Headers and options of requests.

use super::{JSON, ask, error, put_all, with_database};
use crate::client::ADMIN;
use serde_json::{Value, json};

#[test]
fn bodies_of_changes_are_json_objects() {
    let server = with_database();
    let post = |path: &str, body: &str| {
        let reply = server.send("POST", path, &[ADMIN, JSON], body);
        (reply.status, serde_json::from_str(&reply.body).unwrap())
    };
    let invalid = (400, error("bad_request", "invalid UTF-8 JSON"));
    assert_eq!(post("/db/_changes", "{\"doc_ids\":"), invalid);
    assert_eq!(post("/db/_changes?filter=_doc_ids", "[1,2"), invalid);
    let reason = "Request body must be a JSON object";
    assert_eq!(
        post("/db/_changes", "null"),
        (400, error("bad_request", reason))
    );
    let (status, found): (u16, Value) = post("/db/_changes", "{}");
    assert_eq!((status, &found["results"]), (200, &json!([])));
}

#[test]
fn the_last_event_of_a_browser_goes_before_since() {
    let server = with_database();
    put_all(&server, &[json!({"_id": "a"}), json!({"_id": "b"})]);
    let feed = |last: &str| {
        let path = "/db/_changes?feed=eventsource&timeout=0&since=0";
        server.send("GET", path, &[ADMIN, ("last-event-id", last)], "")
    };
    assert_eq!(feed("x").status, 400);
    let later = feed("1");
    assert_eq!(later.status, 200);
    assert!(later.body.contains("\"id\":\"b\"") && !later.body.contains("\"id\":\"a\""));
    let path = "/db/_changes?since=0";
    let normal = server.send("GET", path, &[ADMIN, ("last-event-id", "x")], "");
    assert_eq!(normal.status, 200);
}

#[test]
fn heartbeats_are_positive_numbers() {
    let server = with_database();
    let reason = "The heartbeat value should be a positive integer (in milliseconds).";
    for heartbeat in ["-1000", "0", "x"] {
        let path = format!("/db/_changes?heartbeat={heartbeat}");
        let refused = ask(&server, "GET", &path, &Value::Null);
        assert_eq!(refused, (400, error("bad_request", reason)), "{heartbeat}");
    }
}

#[test]
fn all_bytes_of_an_attachment_are_no_range() {
    let server = with_database();
    let data = json!({"content_type": "application/octet-stream", "data": "aGkh"});
    let body = json!({"_attachments": {"f": data}});
    assert_eq!(ask(&server, "PUT", "/db/att", &body).0, 201);
    let get = |range| {
        let reply = server.send("GET", "/db/att/f", &[ADMIN, ("range", range)], "");
        (reply.status, reply.body)
    };
    assert_eq!(get("bytes=0-"), (200, "hi!".to_owned()));
    assert_eq!(get("bytes=1-"), (206, "i!".to_owned()));
}

#[test]
fn too_many_ids_are_a_bad_request() {
    let server = with_database();
    let refused = ask(&server, "GET", "/_uuids?count=100000000", &Value::Null);
    let reason = "count parameter too large";
    assert_eq!(refused, (400, error("bad_request", reason)));
}

#[test]
fn updates_of_databases_come_in_either_direction() {
    let server = with_database();
    assert_eq!(ask(&server, "PUT", "/other", &Value::Null).0, 201);
    put_all(&server, &[json!({"_id": "a"})]);
    let names = |path: &str| {
        let (status, found) = ask(&server, "GET", path, &Value::Null);
        assert_eq!(status, 200, "{found}");
        let results = found["results"].as_array().unwrap().iter();
        let names = results.map(|row| row["db_name"].as_str().unwrap().to_owned());
        names
            .filter(|name| !name.starts_with('_'))
            .collect::<Vec<_>>()
    };
    assert_eq!(names("/_db_updates"), ["other", "db"]);
    assert_eq!(names("/_db_updates?descending=true"), ["db", "other"]);
    assert_eq!(names("/_db_updates?descending=true&limit=1"), ["db"]);
}
