//! Databases with access: what a user learns over HTTP.

mod filters;
mod leaks;
mod queries;
mod reading;
mod twins;
mod writing;

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
/// Without it some answers come in parts, between boundaries made by chance.
const AS_JSON: (&str, &str) = ("accept", "application/json");
/// Each has the password `secret`.
const ANN: (&str, &str) = ("authorization", "Basic YW5uOnNlY3JldA==");
const BOB: (&str, &str) = ("authorization", "Basic Ym9iOnNlY3JldA==");
const EVE: (&str, &str) = ("authorization", "Basic ZXZlOnNlY3JldA==");

type Login = (&'static str, &'static str);

/// A server with the users and a database `/db` with access, which every user may use. Ann and Bob are in the team.
fn with_access() -> Running {
    let server = Running::start();
    ok(&server, ADMIN, "PUT", "/_users", &Value::Null);
    for (name, roles) in [
        ("ann", json!(["team"])),
        ("bob", json!(["team"])),
        ("eve", json!([])),
    ] {
        set_roles(&server, name, &roles);
    }
    ok(&server, ADMIN, "PUT", "/db?access=true", &Value::Null);
    let open = json!({"members": {"names": [], "roles": []}, "admins": {"names": [], "roles": []}});
    ok(&server, ADMIN, "PUT", "/db/_security", &open);
    server
}

/// Makes a user, or gives one other roles.
fn set_roles(server: &Running, name: &str, roles: &Value) {
    let path = format!("/_users/org.couchdb.user:{name}");
    let known = server.send("GET", &path, &[ADMIN], "");
    let mut doc = json!({"type": "user", "name": name, "roles": roles, "password": "secret"});
    if known.status == 200 {
        let known: Value = serde_json::from_str(&known.body).unwrap();
        doc["_rev"] = known["_rev"].clone();
    }
    ok(server, ADMIN, "PUT", &path, &doc);
}

fn send(server: &Running, by: Login, method: &str, path: &str, body: &Value) -> Reply {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    server.send(method, path, &[by, JSON, AS_JSON], &body)
}

fn ok(server: &Running, by: Login, method: &str, path: &str, body: &Value) -> Value {
    let reply = send(server, by, method, path, body);
    let (status, text) = (reply.status, reply.body);
    assert!(status < 300, "{method} {path}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_default()
}

fn get(server: &Running, by: Login, path: &str) -> Value {
    ok(server, by, "GET", path, &Value::Null)
}

/// Writes a document and returns its revision.
fn put(server: &Running, by: Login, id: &str, doc: &Value) -> String {
    let made = ok(server, by, "PUT", &format!("/db/{id}"), doc);
    made["rev"].as_str().unwrap().to_owned()
}

/// Status and `error` of a refused request.
fn refusal(server: &Running, by: Login, method: &str, path: &str, body: &Value) -> (u16, String) {
    let reply = send(server, by, method, path, body);
    let said: Value = serde_json::from_str(&reply.body).unwrap_or_default();
    let error = said["error"].as_str().unwrap_or_default();
    (reply.status, error.to_owned())
}

/// The ids of rows or of changes, one behind the other.
fn ids(answer: &Value) -> String {
    let rows = answer.get("rows").or_else(|| answer.get("results"));
    let rows = rows.and_then(Value::as_array).unwrap().iter();
    let ids: Vec<&str> = rows.map(|row| row["id"].as_str().unwrap_or("-")).collect();
    ids.join(" ")
}
