//! Interactive and replicated edits, local documents, settings.

use crate::{PATH, edit, get, memory, options, put, put_rev, replicate};
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_docdb::{Database, Edit, EditError, Limits, Mode};

#[test]
fn an_edit_must_continue_a_leaf() {
    let db = memory();
    let first = put_rev(&db, r#"{"_id":"a","x":1}"#);
    assert_eq!(first, "1-0785e9eb543380151003dc452c3a001a");
    assert_eq!(put(&db, r#"{"_id":"a","x":2}"#), Err(EditError::Conflict));
    // Of a document that was never there, the peer takes the client's word (recorded answer).
    let unknown = r#"{"_id":"new","_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;
    assert_eq!(put_rev(&db, unknown), "2-9a2f9bd4979924793802fd6cb23bcff3");
    let second = put_rev(&db, &format!(r#"{{"_id":"a","_rev":"{first}","x":2}}"#));
    assert_eq!(second, "2-8c49edca19d786e747fb5bea32c4cb91");
    assert_eq!(
        put(&db, &format!(r#"{{"_id":"a","_rev":"{first}"}}"#)),
        Err(EditError::Conflict)
    );
    let snapshot = db.snapshot();
    assert_eq!(
        get(&snapshot, "a").unwrap(),
        format!(r#"{{"_id":"a","_rev":"{second}","x":2}}"#)
    );
    assert_eq!(snapshot.update_seq(), 3);
    let document = snapshot.document("a").unwrap().unwrap();
    let old = document.revision(&first.parse().unwrap()).unwrap().1;
    let mut body = Vec::new();
    snapshot.body(old, &mut body).unwrap();
    assert_eq!(body, br#"{"x":1}"#, "an old body is still there");
}

#[test]
fn a_deleted_document_begins_anew_on_its_tombstone() {
    let db = memory();
    let first = put_rev(&db, r#"{"_id":"a","x":1}"#);
    let gone = db.update_one(Edit::deletion("a", &first).unwrap(), Mode::Interactive);
    let gone = gone.unwrap().unwrap().rev.to_string();
    let info = db.snapshot().info().unwrap();
    assert_eq!((info.doc_count, info.doc_del_count), (0, 1));
    // As recorded: with the tombstone's revision it is a conflict, without one it is not.
    let with_rev = format!(r#"{{"_id":"a","_rev":"{gone}","x":2}}"#);
    assert_eq!(put(&db, &with_rev), Err(EditError::Conflict));
    assert_eq!(
        put(&db, r#"{"_id":"a","_deleted":true}"#),
        Err(EditError::Conflict)
    );
    let again = put_rev(&db, r#"{"_id":"a","x":2}"#);
    assert!(again.starts_with("3-"), "{again}");
    let document = db.snapshot().document("a").unwrap().unwrap();
    assert_eq!(document.tree().history(&again.parse().unwrap()).len(), 3);
    let info = db.snapshot().info().unwrap();
    assert_eq!(
        (info.doc_count, info.doc_del_count, info.update_seq),
        (1, 0, 3)
    );
}

#[test]
fn edits_of_one_request_are_judged_one_by_one() {
    let db = memory();
    put_rev(&db, r#"{"_id":"b"}"#);
    let texts = [
        r#"{"_id":"c"}"#,
        r#"{"_id":"b"}"#,
        r#"{"_id":"a"}"#,
        r#"{"_id":"c","x":1}"#,
        r#"{"y":1}"#,
    ];
    let edits = texts.iter().map(|text| edit(text)).collect();
    let outcomes = db.update(edits, Mode::Interactive).unwrap();
    let accepted: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(accepted, [true, false, true, false, true]);
    let id = &outcomes[4].as_ref().unwrap().id;
    assert_eq!(id.len(), 32, "{id}");
    let seqs: Vec<_> = db
        .snapshot()
        .changes(1, varve_btree::Direction::Forward)
        .unwrap()
        .map(|change| change.unwrap().id)
        .collect();
    assert_eq!(seqs.len(), 3);
    assert!(
        seqs.is_sorted(),
        "sequences are given in order of ids: {seqs:?}"
    );
}

#[test]
fn replicated_edits_branch_and_known_ones_change_nothing() {
    let db = memory();
    let all = [
        r#"{"_id":"c","_rev":"1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","v":"a"}"#,
        r#"{"_id":"c","_rev":"1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","v":"b"}"#,
        r#"{"_id":"c","_rev":"2-cccccccccccccccccccccccccccccccc","_revisions":{"start":2,"ids":["cccccccccccccccccccccccccccccccc","aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]},"v":"c"}"#,
    ];
    replicate(&db, &all);
    assert_eq!(
        db.snapshot().update_seq(),
        1,
        "one document, one update a commit"
    );
    replicate(&db, &all);
    assert_eq!(db.snapshot().update_seq(), 1);
    let document = db.snapshot().document("c").unwrap().unwrap();
    assert_eq!(
        document.winner().unwrap().0.to_string(),
        "2-cccccccccccccccccccccccccccccccc"
    );
    let conflicts: Vec<_> = document
        .tree()
        .conflicts()
        .map(|node| node.rev.to_string())
        .collect();
    assert_eq!(conflicts, ["1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]);
    let outcome = db
        .update_one(edit(r#"{"_id":"c"}"#), Mode::Replicated)
        .unwrap();
    assert_eq!(outcome, Err(EditError::RevNeeded));
}

#[test]
fn local_documents_have_no_history() {
    let db = memory();
    assert_eq!(put_rev(&db, r#"{"_id":"_local/l","a":1}"#), "0-1");
    assert_eq!(put_rev(&db, r#"{"_id":"_local/l","a":2}"#), "0-1");
    let local = db.snapshot().local("_local/l").unwrap().unwrap();
    assert_eq!(
        (local.rev.as_str(), &local.body[..]),
        ("0-1", &br#"{"a":2}"#[..])
    );
    assert_eq!(
        put_rev(&db, r#"{"_id":"_local/l","a":3,"_rev":"0-7"}"#),
        "0-8"
    );
    let long = format!(r#"{{"_id":"_local/long","a":"{}"}}"#, "x".repeat(10_000));
    put_rev(&db, &long);
    assert_eq!(
        db.snapshot().local("long").unwrap().unwrap().body.len(),
        10_008
    );
    assert_eq!(db.snapshot().update_seq(), 0);
    let gone = db.update_one(
        Edit::deletion("_local/l", "0-8").unwrap(),
        Mode::Interactive,
    );
    assert_eq!(gone.unwrap().unwrap().rev.to_string(), "0-0");
    assert_eq!(db.snapshot().local("_local/l").unwrap(), None);
}

#[test]
fn settings_are_kept_and_stemming_follows_them() {
    let db = memory();
    assert_eq!(db.snapshot().security().unwrap(), None);
    let security = varve_json::parse_object(br#"{"admins":{"names":["a"]}}"#).unwrap();
    db.set_security(&security).unwrap();
    db.set_revs_limit(2).unwrap();
    let mut rev = put_rev(&db, r#"{"_id":"a"}"#);
    for _ in 0..4 {
        rev = put_rev(&db, &format!(r#"{{"_id":"a","_rev":"{rev}"}}"#));
    }
    let snapshot = db.snapshot();
    assert_eq!(
        snapshot.security().unwrap().unwrap(),
        br#"{"admins":{"names":["a"]}}"#
    );
    assert_eq!(snapshot.revs_limit(), 2);
    let document = snapshot.document("a").unwrap().unwrap();
    assert_eq!(document.tree().len(), 2);
    assert!(rev.starts_with("5-"));
}

#[test]
fn commits_are_heard_and_a_deleted_database_refuses() {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    let db = memory();
    let heard = std::sync::Arc::new(AtomicU64::new(0));
    let inside = heard.clone();
    let subscription = db.on_commit(move |seq| inside.store(seq, Ordering::Relaxed));
    put_rev(&db, r#"{"_id":"a"}"#);
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    drop(subscription);
    put_rev(&db, r#"{"_id":"b"}"#);
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    assert_eq!(db.wait_beyond(1, Duration::from_secs(60)), 2);
    assert_eq!(db.wait_beyond(2, Duration::ZERO), 2);
    let (snapshot, waiting) = (db.snapshot(), db.clone());
    let waiter = std::thread::spawn(move || waiting.wait_beyond(2, Duration::from_secs(60)));
    db.delete().unwrap();
    assert_eq!(waiter.join().unwrap(), 2, "waiters end with the database");
    let refused = db.update(vec![edit(r#"{"_id":"c"}"#)], Mode::Interactive);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "database db.varve was deleted"
    );
    assert!(
        get(&snapshot, "a").is_some(),
        "a snapshot can be read to its end"
    );
}

#[test]
fn concurrent_requests_lose_nothing() {
    let db = memory();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for number in 0..50 {
                    put_rev(db, &format!(r#"{{"_id":"t{thread}-{number}"}}"#));
                }
            });
        }
    });
    let info = db.snapshot().info().unwrap();
    assert_eq!((info.doc_count, info.update_seq), (200, 200));
}

#[test]
fn what_is_too_large_is_refused_and_the_rest_of_the_batch_is_kept() {
    let limits = Limits {
        document: 20,
        attachment: 3,
        attachments: 2,
        ..Limits::default()
    };
    let options = varve_docdb::DatabaseOptions {
        limits,
        ..options()
    };
    let storage = Arc::new(MemoryStorage::default());
    let db = Database::create(storage, Path::new(PATH), &options).unwrap();
    let texts = [
        r#"{"_id":"fits","x":"0123456789ab"}"#,
        r#"{"_id":"long","x":"0123456789abc"}"#,
        r#"{"_id":"att","_attachments":{"a":{"data":"AAAA"}}}"#,
        r#"{"_id":"big","_attachments":{"b":{"data":"AAAAAA=="}}}"#,
        r#"{"_id":"many","_attachments":{"a":{"data":""},"b":{"data":""},"c":{"data":""}}}"#,
    ];
    let edits = texts.iter().map(|text| edit(text)).collect();
    let outcomes = db.update(edits, Mode::Interactive).unwrap();
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert_eq!(outcomes[1], Err(EditError::DocumentTooLarge("long".into())));
    assert_eq!(outcomes[3], Err(EditError::AttachmentTooLarge("b".into())));
    let many = EditError::TooManyAttachments("many".into());
    assert_eq!(outcomes[4], Err(many));
    assert_eq!(db.snapshot().update_seq(), 2);
}
