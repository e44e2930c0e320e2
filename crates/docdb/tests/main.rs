//! Databases from outside: edits, reading, replication, crashes, what CouchDB answered.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod compaction;
mod compression;
mod crash;
mod edits;
mod reading;
mod recorded;
mod replicas;

use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_btree::NodeCache;
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, DocumentText, Edit, EditOutcome, Mode, Snapshot};

const PATH: &str = "db.varve";

fn options() -> DatabaseOptions {
    DatabaseOptions {
        setting: EngineSetting::SNAPPY,
        cache: NodeCache::new(1 << 20),
        limits: varve_docdb::Limits::default(),
        trains: varve_docdb::TrainsBy::Request,
    }
}

fn create(storage: impl Storage + 'static) -> Database {
    Database::create(Arc::new(storage), Path::new(PATH), &options()).unwrap()
}

fn memory() -> Database {
    create(MemoryStorage::default())
}

fn edit(text: &str) -> Edit {
    Edit::parse(None, text.as_bytes()).unwrap()
}

fn put(db: &Database, text: &str) -> EditOutcome {
    db.update_one(edit(text), Mode::Interactive).unwrap()
}

/// Puts a document and returns its revision.
fn put_rev(db: &Database, text: &str) -> String {
    put(db, text).unwrap().rev.to_string()
}

fn replicate(db: &Database, texts: &[&str]) {
    let edits = texts.iter().map(|text| edit(text)).collect();
    for outcome in db.update(edits, Mode::Replicated).unwrap() {
        outcome.unwrap();
    }
}

/// The winning revision of a document as a GET shows it.
fn get(snapshot: &Snapshot, id: &str) -> Option<String> {
    let document = snapshot.document(id).unwrap()?;
    let (rev, stored) = document.winner().unwrap();
    let (mut body, mut text) = (Vec::new(), Vec::new());
    snapshot.body(stored, &mut body).unwrap();
    DocumentText::begin(id, rev, stored.deleted, &body, &mut text).end();
    Some(String::from_utf8(text).unwrap())
}
