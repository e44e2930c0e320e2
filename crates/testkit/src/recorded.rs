//! Answers that the peers gave, recorded once as JSON under `recorded/`.

use serde_json::Value;
use std::path::Path;

/// 251 requests in order, each with CouchDB's status, headers and answer.
pub fn couchdb_answers() -> Value {
    load("couchdb-answers.json")
}

/// View keys in the order that CouchDB gives them.
pub fn couchdb_collation() -> Value {
    load("couchdb-collation.json")
}

/// Document bodies with the revision ids that CouchDB made for them.
pub fn couchdb_revisions() -> Value {
    load("couchdb-revisions.json")
}

fn load(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("recorded")
        .join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("cannot read {path:?}: {e}"));
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{path:?} is not JSON: {e}"))
}
