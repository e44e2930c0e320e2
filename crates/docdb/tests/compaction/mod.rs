//! Compaction: everything that can be asked is answered as before, and the file is smaller.

mod caught_up;
mod crash;
mod damaged;
mod equal;
mod hindered;
pub mod in_place;
mod resumed;
mod together;

use crate::{PATH, create, edit, memory, options, put, put_rev, replicate};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{
    Compacted, Database, Direction, Edit, IdRange, LocalDocument, Mode, Rev, Snapshot,
};

/// Compacts to the end, without progress or interruption.
pub fn compact(db: &Database) -> Compacted {
    db.compact(&Silent, &Interrupt::default()).unwrap()
}

/// Names in the directory of the database.
pub fn names(storage: &dyn Storage) -> Vec<String> {
    let entries = storage.list(Path::new("")).unwrap().into_iter();
    let mut names: Vec<_> = entries
        .map(|entry| entry.name.into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Everything that a client can learn, line by line.
pub fn answers(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = vec![about(snapshot)];
    for change in snapshot.changes(0, Direction::Forward).unwrap() {
        let change = change.unwrap();
        lines.push(format!(
            "{} {} {} deleted {} others {:?} external {}",
            change.seq,
            change.id,
            change.rev,
            change.is_deleted(),
            change.others,
            change.stored.external,
        ));
        let winner = snapshot.document(&change.id).unwrap().unwrap();
        let winner = winner.winner().unwrap();
        assert_eq!((&change.rev, &change.stored), winner, "{}", change.id);
    }
    for row in snapshot
        .all_docs(IdRange::ALL, Direction::Backward)
        .unwrap()
    {
        let row = row.unwrap();
        lines.push(format!("{} {}", row.id(), row.rev));
    }
    for change in snapshot.changes(0, Direction::Forward).unwrap() {
        leaves(snapshot, &change.unwrap().id, &mut lines);
    }
    lines.extend(locals(snapshot).iter().map(|local| format!("{local:?}")));
    lines
}

fn about(snapshot: &Snapshot) -> String {
    let info = snapshot.info().unwrap();
    let security = snapshot.security().unwrap();
    let security = security.map(|text| String::from_utf8(text).unwrap());
    // Bytes in the file are the only thing that may change.
    let info = varve_docdb::Info {
        documents_active: 0,
        ..info
    };
    format!("{info:?} {security:?} {}", snapshot.is_partitioned())
}

fn locals(snapshot: &Snapshot) -> Vec<LocalDocument> {
    let all = snapshot.local_docs(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    all.unwrap().map(Result::unwrap).collect()
}

/// All leaves with their histories, bodies and attachments.
fn leaves(snapshot: &Snapshot, id: &str, lines: &mut Vec<String>) {
    let document = snapshot.document(id).unwrap().unwrap();
    for leaf in document.tree().ranked_leaves() {
        let stored = leaf.stored.as_ref().unwrap();
        let mut body = Vec::new();
        snapshot.body(stored, &mut body).unwrap();
        let history = document.tree().history(&leaf.rev);
        lines.push(format!(
            "{id} {} {} seq {} {} {history:?}",
            leaf.rev,
            stored.deleted,
            stored.seq,
            String::from_utf8(body).unwrap()
        ));
        for attachment in snapshot.attachments(stored).unwrap() {
            let mut data = Vec::new();
            snapshot.attachment_data(&attachment, &mut data).unwrap();
            lines.push(format!(
                "{} {} {:?} {} {} {} {} {}",
                attachment.name,
                attachment.content_type,
                attachment.md5,
                attachment.revpos,
                attachment.is_gzip,
                attachment.length,
                attachment.stored_length,
                data.escape_ascii()
            ));
        }
    }
}

#[test]
fn old_bodies_go_and_leaves_stay() {
    let db = memory();
    let first = put_rev(&db, r#"{"_id":"a","x":1}"#);
    let second = put_rev(&db, &format!(r#"{{"_id":"a","_rev":"{first}","x":2}}"#));
    replicate(&db, &[r#"{"_id":"a","_rev":"1-bb","lost":true}"#]);
    let gone = put_rev(&db, r#"{"_id":"d"}"#);
    put(
        &db,
        &format!(r#"{{"_id":"d","_rev":"{gone}","_deleted":true,"why":"old"}}"#),
    )
    .unwrap();
    let before = answers(&db.snapshot());
    let done = compact(&db);
    assert!(done.after < done.before, "{done:?}");
    assert_eq!(answers(&db.snapshot()), before);
    let document = db.snapshot().document("a").unwrap().unwrap();
    let rev = |text: &str| -> Rev { text.parse().unwrap() };
    assert!(document.revision(&rev(&first)).is_none(), "an old body");
    assert!(document.revision(&rev(&second)).is_some());
    assert!(document.revision(&rev("1-bb")).is_some(), "a conflict");
    assert_eq!(document.tree().len(), 3);
    let sizes = db.sizes().unwrap();
    assert_eq!(sizes.file, done.after);
    // Not counted are the header of the file, its first commit, zeros, and the repetition in the last commit: roots and
    // a record.
    assert!(
        sizes.active <= sizes.file && sizes.file - sizes.active < 800,
        "{sizes:?}"
    );
}

#[test]
fn a_database_goes_on_after_its_compaction_and_opens_again() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    let rev = put_rev(&db, r#"{"_id":"a","x":1}"#);
    let reader = db.snapshot();
    let before = answers(&reader);
    assert!(!db.is_compacting());
    compact(&db);
    compact(&db);
    assert!(!db.is_compacting());
    put_rev(&db, &format!(r#"{{"_id":"a","_rev":"{rev}","x":2}}"#));
    put_rev(&db, r#"{"_id":"b"}"#);
    db.set_revs_limit(7).unwrap();
    assert_eq!(answers(&reader), before, "a reader keeps what it has");
    assert_eq!(names(&storage), [PATH]);
    let now = answers(&db.snapshot());
    assert_eq!(db.snapshot().update_seq(), 3);
    drop(db);
    let again = Database::open(Arc::new(storage), Path::new(PATH), &options()).unwrap();
    assert_eq!(answers(&again.snapshot()), now);
    assert_eq!(again.ignored_tail(), 0);
}

#[test]
fn empty_databases_and_the_security_object_are_copied() {
    let db = memory();
    let empty = answers(&db.snapshot());
    compact(&db);
    assert_eq!(answers(&db.snapshot()), empty);
    let security = varve_json::parse_object(br#"{"admins":{"names":["ann"]}}"#).unwrap();
    db.set_security(&security).unwrap();
    let secured = answers(&db.snapshot());
    for _ in 0..2 {
        compact(&db);
        assert_eq!(answers(&db.snapshot()), secured);
    }
}

fn with_setting(setting: EngineSetting) -> varve_docdb::DatabaseOptions {
    varve_docdb::DatabaseOptions {
        setting,
        ..options()
    }
}

#[test]
fn another_compression_comes_with_the_next_compaction() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let path = Path::new(PATH);
    let text = "words that come again and again, ".repeat(20);
    let made = Database::create(storage.clone(), path, &with_setting(EngineSetting::NONE));
    let made = made.unwrap();
    for number in 0..300 {
        let body = format!(r#"{{"_id":"{number:04}","n":{number},"text":"{text}"}}"#);
        put(&made, &body).unwrap();
    }
    put(
        &made,
        &format!(r#"{{"_id":"_local/l","text":"{}"}}"#, text.repeat(9)),
    )
    .unwrap();
    let before = answers(&made.snapshot());
    let plain = compact(&made).after;
    drop(made);
    let mut last = plain;
    for (setting, most) in [
        ("none", plain),
        ("deflate_1", plain / 4),
        ("deflate_9", plain / 4),
        ("zstd_3", plain / 4),
    ] {
        let setting = with_setting(setting.parse().unwrap());
        let db = Database::open(storage.clone(), path, &setting).unwrap();
        let after = compact(&db).after;
        assert_eq!(answers(&db.snapshot()), before);
        assert!(after <= most, "{after} of {plain}");
        // With nothing to do anew, bytes are copied: the same file comes out.
        assert_eq!(compact(&db).after, after);
        assert!(setting.setting == EngineSetting::NONE || after != last);
        last = after;
    }
}

#[test]
fn a_compacted_database_is_still_partitioned() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let new = varve_docdb::NewDatabase {
        is_partitioned: true,
        ..varve_docdb::NewDatabase::default()
    };
    let path = Path::new(PATH);
    let db = Database::create_with(Arc::clone(&storage), path, &options(), new).unwrap();
    put_rev(&db, r#"{"_id":"a:1"}"#);
    put_rev(&db, r#"{"_id":"b:1"}"#);
    let refused = crate::put(&db, r#"{"_id":"a"}"#).unwrap_err();
    assert_eq!(refused, varve_docdb::EditError::NoPartition);
    let before = answers(&db.snapshot());
    compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
    drop(db);
    let db = Database::open(storage, path, &options()).unwrap();
    assert_eq!(answers(&db.snapshot()), before);
    assert!(db.snapshot().is_partitioned());
    let partition = varve_docdb::Partition::new("a").unwrap();
    let info = db.snapshot().partition_info(&partition).unwrap();
    assert_eq!((info.doc_count, info.doc_del_count), (1, 0));
}
