//! Databases with records of every kind, and their content as it is read.

use crate::{attaching, edit, put_rev, replicate};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, OpenMode, Silent, Storage};
use varve_btree::{Direction, NodeCache};
use varve_codec::EngineSetting;
use varve_docdb::verify::{Finding, Verified, Watch, verify};
use varve_docdb::{
    Database, DatabaseOptions, DocdbError, DocumentText, Mode, Rev, Salvaged, Snapshot, salvage,
    write_revisions,
};

pub const PATH: &str = crate::PATH;

pub fn options() -> DatabaseOptions {
    DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(0))
}

/// Letters that do not become much shorter.
pub fn noise(len: usize, seed: u32) -> String {
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let bytes = varve_testkit::repos::noise(len, seed);
    let letter = |byte: u8| char::from(letters[usize::from(byte % 64)]);
    bytes.into_iter().map(letter).collect()
}

fn attach(db: &Database, id: &str, name: &str, content_type: &str, data: &[u8]) {
    let found = db.snapshot().document(id).unwrap();
    let rev = found.map(|found| found.winner().unwrap().0.clone());
    let edit = attaching(db, id, rev.as_ref(), name, Some((content_type, data)));
    db.update_one(edit, Mode::Interactive).unwrap().unwrap();
}

/// Conflicts, tombstones, a long history, attachments, deltas, local documents, a purge, a security object.
pub fn fill(db: &Database) {
    for number in 0..6 {
        let text = format!(
            r#"{{"_id":"plain-{number}","text":"{}"}}"#,
            noise(60, number + 1)
        );
        put_rev(db, &text);
    }
    replicate(
        db,
        &[
            r#"{"_id":"two","_rev":"3-c","_revisions":{"start":3,"ids":["c","b","a"]},"x":1}"#,
            r#"{"_id":"two","_rev":"2-d","_revisions":{"start":2,"ids":["d","a"]},"x":2}"#,
            r#"{"_id":"two","_rev":"2-e","_revisions":{"start":2,"ids":["e","a"]},"_deleted":true}"#,
        ],
    );
    let ids: Vec<_> = (1..=40).rev().map(|id| format!("\"{id:02}\"")).collect();
    let revisions = format!(r#"{{"start":40,"ids":[{}]}}"#, ids.join(","));
    replicate(
        db,
        &[&format!(
            r#"{{"_id":"old","_rev":"40-40","_revisions":{revisions},"x":1}}"#
        )],
    );
    let rev = put_rev(db, r#"{"_id":"gone","x":1}"#);
    put_rev(
        db,
        &format!(r#"{{"_id":"gone","_rev":"{rev}","_deleted":true,"why":"old"}}"#),
    );
    let mut long = noise(4200, 99);
    let mut rev = put_rev(db, &format!(r#"{{"_id":"long","text":"{long}"}}"#));
    for number in 0..2 {
        long.replace_range(100 * number..100 * number + 5, "-----");
        rev = put_rev(
            db,
            &format!(r#"{{"_id":"long","_rev":"{rev}","text":"{long}"}}"#),
        );
    }
    attach(
        db,
        "files",
        "a.txt",
        "text/plain",
        b"abc".repeat(50).as_slice(),
    );
    attach(
        db,
        "files",
        "b.bin",
        "application/octet-stream",
        &varve_testkit::repos::noise(90, 5),
    );
    attach(
        db,
        "others",
        "b.bin",
        "application/octet-stream",
        &varve_testkit::repos::noise(90, 5),
    );
    put_rev(db, r#"{"_id":"_local/short","x":1}"#);
    put_rev(
        db,
        &format!(r#"{{"_id":"_local/long","text":"{}"}}"#, noise(2200, 7)),
    );
    let rev: Rev = put_rev(db, r#"{"_id":"purged"}"#).parse().unwrap();
    db.purge([("purged".to_owned(), vec![rev])].into()).unwrap();
    let security = varve_json::parse_object(br#"{"members":{"roles":["r"]}}"#).unwrap();
    db.set_security(&security).unwrap();
}

pub fn create(storage: &MemoryStorage) -> Database {
    Database::create(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap()
}

pub fn bytes(storage: &MemoryStorage, path: &str) -> Vec<u8> {
    let file = storage.open(Path::new(path), OpenMode::Read).unwrap();
    file.read_all().unwrap()
}

/// A small file; its last commit changes one document.
pub fn small() -> Vec<u8> {
    let storage = MemoryStorage::default();
    let db = create(&storage);
    fill(&db);
    put_rev(&db, r#"{"_id":"last"}"#);
    bytes(&storage, PATH)
}

/// The same after a compaction, which appends everything at once.
pub fn compacted() -> Vec<u8> {
    let storage = storage_of(&small());
    let db = Database::open(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap();
    db.compact(&Silent, &Interrupt::default()).unwrap();
    bytes(&storage, PATH)
}

/// The same, closed in peace.
pub fn sealed() -> Vec<u8> {
    let storage = storage_of(&small());
    let db = Database::open(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap();
    put_rev(&db, r#"{"_id":"later"}"#);
    db.seal().unwrap();
    let sealed = bytes(&storage, PATH);
    db.seal().unwrap();
    assert_eq!(bytes(&storage, PATH), sealed, "once is enough");
    sealed
}

/// Several levels of nodes, and a dictionary; compacted, then continued.
pub fn larger() -> Vec<u8> {
    let storage = MemoryStorage::default();
    let db = create(&storage);
    fill(&db);
    let record = |number: u32| {
        let text = format!(
            r#"{{"_id":"rec-{number:04}","maintainer":"Team <team@example.org>","section":"optional",
                "homepage":"https://example.org/projects/{number}","text":"{}"}}"#,
            noise(30, number + 1)
        );
        edit(&text)
    };
    for outcome in db
        .update((0..1500).map(record).collect(), Mode::Interactive)
        .unwrap()
    {
        outcome.unwrap();
    }
    assert!(db.train().unwrap(), "a dictionary pays");
    db.compact(&Silent, &Interrupt::default()).unwrap();
    for outcome in db
        .update((1500..1700).map(record).collect(), Mode::Interactive)
        .unwrap()
    {
        outcome.unwrap();
    }
    attach(
        &db,
        "files",
        "c.txt",
        "text/plain",
        b"more ".repeat(500).as_slice(),
    );
    put_rev(&db, r#"{"_id":"last"}"#);
    bytes(&storage, PATH)
}

/// Everything that is known of one document: each leaf with history, text and attachments.
pub fn document(snapshot: &Snapshot, id: &str) -> Result<Option<String>, DocdbError> {
    if id.starts_with("_local/") {
        return Ok(snapshot.local(id)?.map(|local| format!("{local:?}")));
    }
    let Some(document) = snapshot.document(id)? else {
        return Ok(None);
    };
    let mut text = Vec::new();
    for leaf in document.tree().ranked_leaves() {
        let stored = leaf.stored.as_ref().expect("content");
        let mut body = Vec::new();
        snapshot.body(stored, &mut body)?;
        let mut writing = DocumentText::begin(id, &leaf.rev, stored.deleted, &body, &mut text);
        let history = document.tree().history(&leaf.rev);
        writing.member("_revisions", |out| {
            write_revisions(leaf.rev.generation, &history, out)
        });
        writing.end();
        for attachment in snapshot.attachments(stored)? {
            text.extend_from_slice(attachment.name.as_bytes());
            text.extend_from_slice(attachment.content_type.as_bytes());
            snapshot.attachment_data(&attachment, &mut text)?;
        }
    }
    Ok(Some(text.escape_ascii().to_string()))
}

/// The ids of all documents, local ones too.
pub fn ids(snapshot: &Snapshot) -> Vec<String> {
    let changes = snapshot.changes(0, Direction::Forward).unwrap();
    let all = (Bound::Unbounded, Bound::Unbounded);
    let locals = snapshot
        .local_docs(all.0, all.1, Direction::Forward)
        .unwrap();
    let ids = changes.map(|change| change.unwrap().id);
    ids.chain(locals.map(|local| local.unwrap().id)).collect()
}

pub type Documents = BTreeMap<String, String>;

/// All documents of a database that is whole.
pub fn documents(snapshot: &Snapshot) -> Documents {
    let read = |id: String| {
        let text = document(snapshot, &id).unwrap().unwrap();
        (id, text)
    };
    ids(snapshot).into_iter().map(read).collect()
}

pub fn storage_of(bytes: &[u8]) -> MemoryStorage {
    MemoryStorage::with_files([(PATH.into(), bytes.to_vec())])
}

pub fn snapshot_of(storage: &dyn Storage) -> Result<Snapshot, DocdbError> {
    Database::read_only(storage, Path::new(PATH), &options())
}

/// Findings of a check of a file.
pub fn findings(storage: &dyn Storage, path: &str) -> Result<(Verified, Vec<Finding>), DocdbError> {
    let mut found = Vec::new();
    let mut watch = Watch {
        report: &mut |finding| found.push(finding.clone()),
        progress: &Silent,
        stop: &Interrupt::default(),
    };
    let report = verify(storage, Path::new(path), &options(), &mut watch)?;
    assert_eq!(report.findings, found.len() as u64);
    Ok((report, found))
}

/// Writes all readable parts into a new file; also returns the findings on those left out.
pub fn salvaged(storage: &dyn Storage, to: &str) -> Result<(Salvaged, Vec<Finding>), DocdbError> {
    let mut told = Vec::new();
    let mut watch = Watch {
        report: &mut |finding| told.push(finding.clone()),
        progress: &Silent,
        stop: &Interrupt::default(),
    };
    let paths = (Path::new(PATH), Path::new(to));
    let done = salvage(storage, paths, &options(), &mut watch)?;
    assert_eq!(done.findings, told.len() as u64);
    Ok((done, told))
}
