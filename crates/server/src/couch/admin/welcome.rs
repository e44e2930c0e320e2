//! The greeting and other answers that never change.

use crate::couch::admin::{json, read_only};
use crate::runtime::{NODE_NAME, node_name};
use crate::{Answer, CouchContext, Failure, Request};
use hyper::StatusCode;
use varve_config::Maintenance;
use varve_json::{Object, Value};
use varve_shared::Node;

/// The CouchDB whose interface this is: clients choose their requests by this number.
const COUCHDB_VERSION: &str = "3.5.0";

pub(super) fn welcome(app: &CouchContext, request: &Request) -> Result<Answer, Failure> {
    read_only(request)?;
    let mut vendor = Object::new();
    vendor.insert("name", "Varve");
    vendor.insert("version", env!("CARGO_PKG_VERSION"));
    let mut greeting = Object::new();
    greeting.insert("couchdb", "Welcome");
    greeting.insert("version", COUCHDB_VERSION);
    greeting.insert("git_sha", "varve");
    greeting.insert("uuid", app.settings().uuid.clone().unwrap_or_default());
    greeting.insert(
        "features",
        Value::from(vec![Value::from("quickjs"), Value::from("partitioned")]),
    );
    greeting.insert("vendor", vendor);
    Ok(json(&greeting.into()))
}

/// Tells load balancers whether to send requests here.
pub(super) fn up(app: &CouchContext, request: &Request) -> Result<Answer, Failure> {
    read_only(request)?;
    let (status, body) = match app.settings().maintenance {
        Maintenance::Off => (StatusCode::OK, "{\"status\":\"ok\",\"seeds\":{}}\n"),
        Maintenance::On => (StatusCode::NOT_FOUND, "{\"status\":\"maintenance_mode\"}\n"),
        Maintenance::NoLoadBalancing => (StatusCode::NOT_FOUND, "{\"status\":\"nolb\"}\n"),
    };
    Ok(Answer::json(status, body.into()))
}

pub(super) fn favicon(request: &Request) -> Result<Answer, Failure> {
    read_only(request)?;
    let answer = Answer::whole(StatusCode::NOT_FOUND, "text/plain", b"Not found.".to_vec());
    Ok(answer.with_header("cache-control", "public, max-age=31536000"))
}

/// The live servers of a store, and those of them that may write databases.
pub(super) fn membership(app: &CouchContext) -> Answer {
    let (all, writing) = match app.databases.cluster() {
        None => (vec![NODE_NAME.to_owned()], vec![NODE_NAME.to_owned()]),
        Some(view) => {
            let state = view.watch();
            let state = state.borrow();
            let live = state.live().iter().map(|member| &member.node);
            let names = |nodes: &mut dyn Iterator<Item = &Node>| {
                nodes.map(|node| node_name(&node.address)).collect()
            };
            (
                names(&mut live.into_iter()),
                names(&mut state.candidates().iter()),
            )
        }
    };
    let list = |names: Vec<String>| names.into_iter().map(Value::from).collect::<Value>();
    let mut members = Object::new();
    members.insert("all_nodes", list(all));
    members.insert("cluster_nodes", list(writing));
    json(&members.into())
}
