//! `varve import` from a running server.

mod faults;
mod following;
mod kept;

use super::import::said;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use varve_testkit::http::{Client, Fault, Proxy};
use varve_testkit::varve::{ADMIN, PASSWORD, Server};

/// Login of the servers that are imported from.
const LOGIN: &str = "admin:layers-of-silt";

/// The command, whose output is read.
fn command(url: &str, to: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(crate::VARVE);
    command.args(["import", url]).arg(to).args(options);
    command.env("HGRCPATH", "").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end. No output may have the password.
fn import(url: &str, to: &Path, options: &[&str]) -> (Option<i32>, String) {
    let done: Output = command(url, to, options).output().unwrap();
    let words = said(&done);
    assert!(!words.contains(PASSWORD), "{words}");
    (done.status.code(), words)
}

fn proxy(server: &Server, fault: impl Fn(&str, usize) -> Fault + Send + Sync + 'static) -> Proxy {
    assert_eq!(LOGIN, format!("{ADMIN}:{PASSWORD}"));
    Proxy::start(server.address().parse().unwrap(), LOGIN, fault)
}

/// Makes a database with documents, each with a text of its own.
fn fill(client: &mut Client, name: &str, count: usize) {
    client
        .put(&format!("/{name}"), &Value::Null)
        .expect_status(201);
    let all: Vec<usize> = (0..count).collect();
    for part in all.chunks(1000) {
        let docs: Vec<Value> = part
            .iter()
            .map(|n| json!({"_id": format!("{n:06}"), "text": format!("words of {n} ").repeat(5)}))
            .collect();
        client
            .post(&format!("/{name}/_bulk_docs"), &json!({"docs": docs}))
            .expect_status(201);
    }
}

/// Ids and leaves of all documents.
fn leaves(client: &mut Client, name: &str) -> Vec<(String, Value)> {
    let changes = client.get(&format!("/{name}/_changes?style=all_docs"));
    let changes = changes.expect_status(200).json();
    let rows = changes["results"].as_array().unwrap().iter();
    let mut rows: Vec<_> = rows
        .map(|row| {
            (
                row["id"].as_str().unwrap().to_owned(),
                row["changes"].clone(),
            )
        })
        .collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}
