//! Ranges, counts, changes, attachments, codecs, damage.

use crate::{PATH, attaching, create, edit, get, memory, options, put_rev};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_btree::Direction;
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Edit, IdRange, Mode, Rev};

fn filled() -> Database {
    let db = memory();
    let edits = (0..1000).map(|number| edit(&format!(r#"{{"_id":"d{number:04}","n":{number}}}"#)));
    for outcome in db.update(edits.collect(), Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
    for number in (0..1000).step_by(10) {
        let id = format!("d{number:04}");
        let document = db.snapshot().document(&id).unwrap().unwrap();
        let rev = document.winner().unwrap().0.to_string();
        let deletion = Edit::deletion(&id, &rev).unwrap();
        db.update_one(deletion, Mode::Interactive).unwrap().unwrap();
    }
    db
}

#[test]
fn all_docs_leaves_out_the_deleted_and_counts() {
    let db = filled();
    let snapshot = db.snapshot();
    let all = snapshot.all_docs(IdRange::ALL, Direction::Forward).unwrap();
    assert_eq!((all.total_rows(), all.offset()), (900, 0));
    assert_eq!(all.count(), 900);
    let range = IdRange {
        low: Bound::Included("d0020"),
        high: Bound::Included("d0031"),
    };
    let rows = snapshot.all_docs(range, Direction::Forward).unwrap();
    assert_eq!(rows.offset(), 18);
    let ids: Vec<_> = rows
        .skip(2)
        .step_by(3)
        .map(|row| row.unwrap().id().to_owned())
        .collect();
    assert_eq!(ids, ["d0023", "d0026", "d0029"]);
    let rows = snapshot.all_docs(range, Direction::Backward).unwrap();
    assert_eq!(rows.offset(), 900 - 28);
    let ids: Vec<_> = rows
        .take(2)
        .map(|row| row.unwrap().id().to_owned())
        .collect();
    assert_eq!(ids, ["d0031", "d0029"]);
}

#[test]
fn changes_hold_each_document_once_at_its_last_update() {
    let db = filled();
    let snapshot = db.snapshot();
    assert_eq!(snapshot.update_seq(), 1100);
    let all: Vec<_> = snapshot
        .changes(0, Direction::Forward)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(all.len(), 1000);
    assert!(all.is_sorted_by_key(|change| change.seq));
    assert_eq!(all.iter().filter(|change| change.is_deleted()).count(), 100);
    assert_eq!(snapshot.count_changes(1000).unwrap(), 100);
    let last = snapshot
        .changes(0, Direction::Backward)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!((last.seq, last.id.as_str()), (1100, "d0990"));
    let mut body = Vec::new();
    snapshot.body(&all[0].stored, &mut body).unwrap();
    assert_eq!(body, br#"{"n":1}"#);
    let ids = ["d0005", "none", "d0001", "d0005"];
    let found = snapshot.documents(&ids).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|document| document.as_ref().map(|d| d.id()))
        .collect();
    assert_eq!(found, [Some("d0005"), None, Some("d0001"), Some("d0005")]);
}

#[test]
fn attachments_are_kept_replaced_and_removed_by_stubs() {
    let db = memory();
    let rev = put_rev(
        &db,
        r#"{"_id":"a","k":1,"_attachments":{"t":{"content_type":"text/plain","data":"aGVsbG8="},"b":{"data":"AAE="}}}"#,
    );
    let names = |rev: &str| {
        let snapshot = db.snapshot();
        let document = snapshot.document("a").unwrap().unwrap();
        let rev: Rev = rev.parse().unwrap();
        let attachments = snapshot
            .attachments(document.revision(&rev).unwrap().1)
            .unwrap();
        let describe = |attachment: &varve_docdb::Attachment| {
            let mut data = Vec::new();
            snapshot.attachment_data(attachment, &mut data).unwrap();
            format!(
                "{} {} {:?}",
                attachment.name,
                attachment.revpos,
                String::from_utf8(data).unwrap()
            )
        };
        attachments.iter().map(describe).collect::<Vec<_>>()
    };
    assert_eq!(names(&rev), [r#"t 1 "hello""#, r#"b 1 "\0\u{1}""#]);
    let set = |rev: &str, name: &str, data: Option<&str>| {
        let rev: Rev = rev.parse().unwrap();
        let data = data.map(|data| ("text/plain", data.as_bytes()));
        let edit = attaching(&db, "a", Some(&rev), name, data);
        db.update_one(edit, Mode::Interactive)
            .unwrap()
            .unwrap()
            .rev
            .to_string()
    };
    let rev = set(&rev, "n", Some("new"));
    assert_eq!(
        names(&rev),
        [r#"n 2 "new""#, r#"t 1 "hello""#, r#"b 1 "\0\u{1}""#]
    );
    let rev = set(&rev, "t", None);
    let text = format!(r#"{{"_id":"a","_rev":"{rev}","_attachments":{{"b":{{"stub":true}}}}}}"#);
    let rev = put_rev(&db, &text);
    assert_eq!(names(&rev), [r#"b 1 "\0\u{1}""#]);
    let text = format!(r#"{{"_id":"a","_rev":"{rev}","_attachments":{{"t":{{"stub":true}}}}}}"#);
    let refused = db.update_one(edit(&text), Mode::Interactive).unwrap();
    assert_eq!(
        refused.unwrap_err().to_string(),
        "Invalid attachment stub in a for t"
    );
}

#[test]
fn chunks_of_every_codec_stay_readable() {
    let storage = MemoryStorage::default();
    drop(create(storage.clone()));
    let mut count = 0;
    for setting in EngineSetting::all() {
        let wanted = DatabaseOptions {
            setting,
            ..options()
        };
        let db = Database::open(Arc::new(storage.clone()), Path::new(PATH), &wanted).unwrap();
        put_rev(
            &db,
            &format!(r#"{{"_id":"{setting}","text":"{}"}}"#, "varve ".repeat(100)),
        );
        count += 1;
    }
    let db = Database::open(Arc::new(storage), Path::new(PATH), &options()).unwrap();
    let snapshot = db.snapshot();
    for setting in EngineSetting::all() {
        assert!(get(&snapshot, &setting.to_string()).unwrap().len() > 600);
    }
    let sizes = db.sizes().unwrap();
    assert_eq!(sizes.external, count * (600 + 11));
    assert!(
        sizes.active < sizes.file && sizes.active < sizes.external,
        "{sizes:?}"
    );
    let mut chunks = 0;
    snapshot
        .visit_chunks::<varve_docdb::DocdbError>(&mut |_| {
            chunks += 1;
            Ok(())
        })
        .unwrap();
    assert!(chunks > count, "{chunks}");
}

#[test]
fn damaged_bytes_give_an_error_or_the_old_content_and_never_a_panic() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    for number in 0..20 {
        put_rev(&db, &format!(r#"{{"_id":"d{number}","n":{number}}}"#));
    }
    drop(db);
    let whole = storage
        .open(Path::new(PATH), OpenMode::Read)
        .unwrap()
        .read_all()
        .unwrap();
    let mut errors = 0;
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let damaged = MemoryStorage::with_files([(PATH.into(), bytes)]);
        let db = match Database::open(Arc::new(damaged), Path::new(PATH), &options()) {
            Ok(db) => db,
            Err(error) => {
                assert!(error.to_string().contains(PATH), "{error}");
                errors += 1;
                continue;
            }
        };
        let snapshot = db.snapshot();
        for number in 0..20 {
            let id = format!("d{number}");
            match snapshot.document(&id) {
                Ok(Some(document)) => {
                    let mut body = Vec::new();
                    let stored = document.winner().unwrap().1;
                    match snapshot.body(stored, &mut body) {
                        Ok(()) => assert_eq!(body, format!(r#"{{"n":{number}}}"#).as_bytes()),
                        Err(_) => errors += 1,
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    assert!(error.to_string().contains(PATH), "{error}");
                    errors += 1;
                }
            }
        }
    }
    assert!(errors > 20, "only {errors} errors");
}
