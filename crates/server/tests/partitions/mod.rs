//! Partitioned databases.

mod durable;
mod find;
mod ids;
mod limits;
mod rows;
mod views;

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

/// A server with an empty partitioned database `/db`.
fn partitioned() -> (Running, Connection) {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db?partitioned=true", &Value::Null);
    (server, connection)
}

/// Ten documents in each of `a`, `ab` and `b`, whose ids and numbers interleave.
fn filled() -> (Running, Connection) {
    let (server, mut connection) = partitioned();
    let docs = (0..30).map(|n| {
        let (partition, kind) = (["a", "ab", "b"][n % 3], ["x", "y"][n % 2]);
        json!({"_id": format!("{partition}:{n:02}"), "n": n, "kind": kind})
    });
    let docs: Vec<_> = docs.collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    (server, connection)
}

fn get(connection: &mut Connection, path: &str) -> Value {
    call(connection, "GET", path, &Value::Null)
}

/// Status, `error` and `reason` of a refused request.
fn refusal(connection: &mut Connection, method: &str, path: &str, body: &Value) -> String {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let reply = connection.send(method, path, &[ADMIN, JSON], &body);
    let said: Value = serde_json::from_str(&reply.body).unwrap();
    let text = |name: &str| said[name].as_str().unwrap_or("-").to_owned();
    format!("{} {}: {}", reply.status, text("error"), text("reason"))
}

/// The ids of rows, one behind the other.
fn ids(answer: &Value) -> String {
    let rows = answer["rows"].as_array().unwrap().iter();
    let ids: Vec<&str> = rows.map(|row| row["id"].as_str().unwrap_or("-")).collect();
    ids.join(" ")
}
