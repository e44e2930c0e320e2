//! `_stats`: counters of this server as a tree, in CouchDB's places, for the tools that watch a CouchDB.
//!
//! Only what this server counts is there: a zero for anything else would be taken for a measurement.

use crate::couch::admin::json;
use crate::runtime::metrics::METHODS;
use crate::{Answer, CouchContext, Failure};
use varve_json::{Object, Value};

/// Statuses that CouchDB counts.
const STATUSES: [u16; 23] = [
    200, 201, 202, 204, 206, 301, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 416,
    417, 500, 501, 503,
];

/// The tree, or the part of it that a path leads to.
///
/// # Errors
/// 404 for a path to nothing.
pub(super) fn route(app: &CouchContext, path: &[&str]) -> Result<Answer, Failure> {
    let tree = Value::Object(tree(app));
    let mut part = &tree;
    for name in path.iter().filter(|name| !name.is_empty()) {
        let missing = || Failure::not_found("missing");
        part = part.get(name).ok_or_else(missing)?;
    }
    Ok(json(part))
}

fn tree(app: &CouchContext) -> Object {
    let metrics = &app.server().metrics;
    let mut methods = Object::new();
    for method in METHODS {
        let description = format!("{method} requests since the start");
        methods.insert(
            method,
            counter(metrics.couch_requests_by(method), &description),
        );
    }
    let mut statuses = Object::new();
    for status in STATUSES {
        let description = format!("answers with status {status} since the start");
        let count = counter(metrics.couch_answers_with(status), &description);
        statuses.insert(status.to_string(), count);
    }
    let mut httpd = Object::new();
    let requests = counter(metrics.couch_requests(), "requests since the start");
    httpd.insert("requests", requests);
    let mut couchdb = Object::new();
    couchdb.insert("httpd", httpd);
    couchdb.insert("httpd_request_methods", methods);
    couchdb.insert("httpd_status_codes", statuses);
    let open = app.databases.count_open() as u64;
    couchdb.insert("open_databases", counter(open, "open databases now"));
    let mut tree = Object::new();
    tree.insert("couchdb", couchdb);
    tree
}

/// One leaf. CouchDB calls what goes up and down a counter too.
fn counter(value: u64, description: &str) -> Object {
    let mut leaf = Object::new();
    leaf.insert("value", value);
    leaf.insert("type", "counter");
    leaf.insert("desc", description);
    leaf
}
