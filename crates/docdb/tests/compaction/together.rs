//! Writers, readers and deletions while a database is compacted.

use super::*;
use crate::attaching;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use varve_docdb::{Announced, AttachmentForm};

/// Documents that each writer keeps editing.
const DOCUMENTS: usize = 20;
const WRITERS: usize = 3;

/// Edits documents round and round until told to stop; returns how often each was edited.
fn write(db: &Database, writer: usize, stop: &AtomicBool) -> Vec<usize> {
    let mut revs = vec![String::new(); DOCUMENTS];
    let mut counts = vec![0; DOCUMENTS];
    for step in 0.. {
        let number = step % DOCUMENTS;
        let id = format!("{writer}-{number}");
        counts[number] += 1;
        let count = counts[number];
        let mut text = format!(r#"{{"_id":"{id}","count":{count}"#);
        if count == 1 {
            text += r#","_attachments":{"it":{"data":"AAECAwQF","content_type":"image/png"}}}"#;
        } else {
            let rev = &revs[number];
            text += &format!(r#","_rev":"{rev}","_attachments":{{"it":{{"stub":true}}}}}}"#);
        }
        revs[number] = put_rev(db, &text);
        put(db, &format!(r#"{{"_id":"_local/{id}","count":{count}}}"#)).unwrap();
        if stop.load(Ordering::Relaxed) && step > 2 * DOCUMENTS {
            break;
        }
    }
    counts
}

fn check(db: &Database, writer: usize, counts: &[usize]) {
    let snapshot = db.snapshot();
    for (number, count) in counts.iter().enumerate() {
        let id = format!("{writer}-{number}");
        let document = snapshot.document(&id).unwrap().unwrap();
        let (rev, stored) = document.winner().unwrap();
        assert_eq!(rev.generation, *count as u64, "{id}");
        let mut body = Vec::new();
        snapshot.body(stored, &mut body).unwrap();
        assert_eq!(body, format!(r#"{{"count":{count}}}"#).as_bytes(), "{id}");
        let attachment = &snapshot.attachments(stored).unwrap()[0];
        let mut data = Vec::new();
        snapshot.attachment_data(attachment, &mut data).unwrap();
        assert_eq!(data, [0, 1, 2, 3, 4, 5], "{id}");
        let local = snapshot.local(&format!("_local/{id}")).unwrap().unwrap();
        assert_eq!(local.body, body, "{id}");
    }
}

#[test]
fn writers_and_readers_go_on() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    for number in 0..3000 {
        put(&db, &format!(r#"{{"_id":"old{number:05}","n":{number}}}"#)).unwrap();
    }
    let (stop, compactions) = (AtomicBool::new(false), AtomicUsize::new(0));
    let counts: Vec<_> = std::thread::scope(|scope| {
        let (db, stop, compactions) = (&db, &stop, &compactions);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(db, writer, stop)))
            .collect();
        let reader = scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let snapshot = db.snapshot();
                let first = answers(&snapshot);
                assert_eq!(answers(&snapshot), first);
            }
        });
        for _ in 0..12 {
            compact(db);
            compactions.fetch_add(1, Ordering::Relaxed);
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        writers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for (writer, counts) in counts.iter().enumerate() {
        check(&db, writer, counts);
    }
    let now = answers(&db.snapshot());
    compact(&db);
    assert_eq!(answers(&db.snapshot()), now);
    assert_eq!(names(&storage), [PATH]);
    drop(db);
    let again = Database::open(Arc::new(storage), Path::new(PATH), &options()).unwrap();
    assert_eq!(answers(&again.snapshot()), now);
}

/// Everything that can happen between the whole copy and the end is caught up with.
#[test]
fn what_is_written_meanwhile_is_in_the_copy() {
    let db = memory();
    let mut revs = Vec::new();
    for number in 0..2000 {
        revs.push(put_rev(&db, &format!(r#"{{"_id":"{number:05}"}}"#)));
        let local = format!(r#"{{"_id":"_local/{number:05}","n":{number}}}"#);
        put(&db, &local).unwrap();
    }
    let mut compaction = db.begin_compaction().unwrap();
    assert!(db.is_compacting());
    let twice = db.compact(&Silent, &Interrupt::default()).unwrap_err();
    assert!(twice.to_string().ends_with("is being compacted already"));
    compaction.copy(&Silent, &Interrupt::default()).unwrap();
    for number in (0..2000).step_by(3) {
        let rev = &revs[number];
        let deleted = number % 2 == 0;
        let text =
            format!(r#"{{"_id":"{number:05}","_rev":"{rev}","_deleted":{deleted},"n":{number}}}"#);
        put(&db, &text).unwrap();
    }
    for number in (0..2000).step_by(50) {
        let local = format!(r#"{{"_id":"_local/{number:05}","_deleted":true}}"#);
        put(&db, &local).unwrap();
        put(&db, &format!(r#"{{"_id":"new{number}"}}"#)).unwrap();
        let branch = format!(r#"{{"_id":"{number:05}","_rev":"1-0c","branch":true}}"#);
        replicate(&db, &[&branch]);
        let long = "long ".repeat(1000);
        put(
            &db,
            &format!(r#"{{"_id":"_local/new{number}","text":"{long}"}}"#),
        )
        .unwrap();
    }
    db.set_revs_limit(77).unwrap();
    let security = varve_json::parse_object(br#"{"admins":{"names":["ann"]}}"#).unwrap();
    db.set_security(&security).unwrap();
    let before = answers(&db.snapshot());
    compaction.finish(&Interrupt::default()).unwrap();
    assert_eq!(answers(&db.snapshot()), before);
    assert!(!db.is_compacting());
    compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
}

#[test]
fn an_edit_that_keeps_attachments_survives_the_swap() {
    let db = memory();
    let data = varve_testkit::repos::noise(2_500_000, 5);
    let first = put_rev(&db, r#"{"_id":"a","x":1}"#);
    let rev: Rev = first.parse().unwrap();
    let attach = |rev: &Rev, name: &str, data: &[u8]| {
        attaching(&db, "a", Some(rev), name, Some(("image/png", data)))
    };
    let long = attach(&rev, "long", &data);
    let second = db.update_one(long, Mode::Interactive).unwrap().unwrap().rev;
    // Prepared of the file as it was, done in the one that came in its place.
    let late = attach(&second, "short", b"12");
    for number in 0..200 {
        put(&db, &format!(r#"{{"_id":"{number}"}}"#)).unwrap();
    }
    compact(&db);
    db.update_one(late, Mode::Interactive).unwrap().unwrap();
    let snapshot = db.snapshot();
    let document = snapshot.document("a").unwrap().unwrap();
    let attachments = snapshot.attachments(document.winner().unwrap().1).unwrap();
    let read = |index: usize| {
        let mut out = Vec::new();
        snapshot
            .attachment_data(&attachments[index], &mut out)
            .unwrap();
        out
    };
    assert_eq!((read(0), read(1)), (b"12".to_vec(), data));
}

#[test]
fn an_attachment_that_comes_during_compactions_is_whole() {
    let db = memory();
    put(&db, r#"{"_id":"a"}"#).unwrap();
    let data = varve_testkit::repos::noise(4_500_000, 6);
    let announced = Announced {
        name: "long".to_owned(),
        content_type: "image/png".to_owned(),
        is_gzip: false,
        length: None,
    };
    let mut upload = db.upload(&announced).unwrap();
    for piece in data.chunks(1_500_000) {
        upload.write(piece).unwrap().unwrap();
        put(&db, "{}").unwrap();
        compact(&db);
    }
    let before = db.sizes().unwrap().file;
    assert!(
        before < 100_000,
        "{before}: bytes without a reader are not kept"
    );
    let mut edit = db.snapshot().continued("b", None).unwrap().unwrap();
    edit.attach(announced).unwrap();
    edit.bring("long", upload.finish().unwrap().unwrap());
    db.update_one(edit, Mode::Interactive).unwrap().unwrap();
    compact(&db);
    let snapshot = db.snapshot();
    let document = snapshot.document("b").unwrap().unwrap();
    let attachments = snapshot.attachments(document.winner().unwrap().1).unwrap();
    let mut out = Vec::new();
    snapshot.attachment_data(&attachments[0], &mut out).unwrap();
    assert!(out == data);
    for (start, end) in [
        (0, 1),
        (1 << 20, (1 << 20) + 5),
        (3_000_000, 4_500_000),
        (7, 7),
    ] {
        out.clear();
        let mut reader =
            snapshot.attachment_reader(&attachments[0], AttachmentForm::Plain, start..end);
        while reader.read(&mut out, 70_000).unwrap() {}
        assert!(out == data[start as usize..end as usize], "{start}..{end}");
        out.clear();
        let mut reader =
            snapshot.attachment_reader(&attachments[0], AttachmentForm::Plain, start..end);
        while reader.read(&mut out, 1 << 18).unwrap() {
            reader.release();
        }
        assert!(out == data[start as usize..end as usize], "{start}..{end}");
    }
}

#[test]
fn a_deletion_ends_the_compaction() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    for number in 0..5000 {
        put(&db, &format!(r#"{{"_id":"{number}"}}"#)).unwrap();
    }
    let begun = db.begin_compaction().unwrap();
    let outcome = std::thread::scope(|scope| {
        let compacting = scope.spawn(move || {
            let mut begun = begun;
            begun.copy(&Silent, &Interrupt::default())?;
            std::thread::sleep(std::time::Duration::from_millis(20));
            begun.finish(&Interrupt::default())
        });
        db.delete().unwrap();
        assert!(names(&storage).is_empty(), "{:?}", names(&storage));
        compacting.join().unwrap()
    });
    let error = outcome.unwrap_err().to_string();
    assert!(error.ends_with("was deleted"), "{error}");
    assert!(db.begin_compaction().is_err());
    create(storage.clone());
    assert_eq!(names(&storage), [PATH]);
}
