//! Databases from outside: edits, reading, replication, crashes, recorded answers of CouchDB.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod compaction;
mod compression;
mod copying;
mod crash;
mod durability;
mod edits;
mod faults;
mod following;
mod purges;
mod reading;
mod recorded;
mod replicas;
mod verify;

use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_btree::NodeCache;
use varve_codec::EngineSetting;
use varve_docdb::{
    Announced, Database, DatabaseOptions, DocdbError, DocumentText, Edit, EditOutcome, Mode, Rev,
    Snapshot,
};

const PATH: &str = "db.varve";

fn options() -> DatabaseOptions {
    DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(1 << 20))
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

/// An edit that sets or removes an attachment, in pieces of 100,000 bytes.
fn attaching(
    db: &Database,
    id: &str,
    rev: Option<&Rev>,
    name: &str,
    data: Option<(&str, &[u8])>,
) -> Edit {
    try_attaching(db, id, rev, name, data).unwrap()
}

/// The same where the disk may refuse.
fn try_attaching(
    db: &Database,
    id: &str,
    rev: Option<&Rev>,
    name: &str,
    data: Option<(&str, &[u8])>,
) -> Result<Edit, DocdbError> {
    let mut edit = db.snapshot().continued(id, rev)?.unwrap();
    let Some((content_type, data)) = data else {
        assert!(edit.detach(name));
        return Ok(edit);
    };
    let announced = Announced {
        name: name.to_owned(),
        content_type: content_type.to_owned(),
        is_gzip: false,
        length: None,
    };
    let mut upload = db.upload(&announced)?;
    for piece in data.chunks(100_000) {
        upload.write(piece)?.unwrap();
    }
    edit.attach(announced).unwrap();
    assert_eq!(edit.awaited().count(), 1);
    edit.bring(name, upload.finish()?.unwrap());
    Ok(edit)
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
