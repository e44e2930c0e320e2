//! Answers that the peers gave, recorded once as JSON under `recorded/`.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::path::{Path, PathBuf};

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

/// A data directory that CouchDB 3.5.0 wrote: databases compressed in each way, fresh and compacted, with one, two and
/// eight shards.
pub fn couch_files() -> PathBuf {
    recorded("couch-files/data")
}

/// Answers over HTTP about each database in that directory, by name: `info`, `security`, `revs_limit`, `purged`,
/// `documents` (by id: `winner`, `deleted`, `leaves` with histories and attachments), `local` (by id).
pub fn couch_files_expected() -> Vec<(String, Value)> {
    let directory = recorded("couch-files/expected");
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{directory:?}: {e}"));
    let mut found: Vec<(String, Value)> = entries
        .map(|entry| {
            let path = entry.map(|entry| entry.path());
            let path = path.unwrap_or_else(|e| panic!("{directory:?}: {e}"));
            let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            let value: Value = serde_json::from_reader(GzDecoder::new(file))
                .unwrap_or_else(|e| panic!("{path:?} is not JSON: {e}"));
            (value["name"].as_str().unwrap_or_default().to_owned(), value)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("recorded")
        .join(name)
}

fn load(name: &str) -> Value {
    let path = recorded(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("cannot read {path:?}: {e}"));
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{path:?} is not JSON: {e}"))
}
