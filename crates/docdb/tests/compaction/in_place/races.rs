//! Others read and write while room is given back.

use super::*;
use crate::attaching;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_reader_of_an_old_commit_reads_it_to_its_end() {
    let db = open(MemoryStorage::default(), 4096);
    cold(&db, COLD);
    hot(&db, "hot", 60);
    let snapshot = db.snapshot();
    let expected = answers(&snapshot);
    hot(&db, "hot", 60);
    std::thread::scope(|scope| {
        let compacting = scope.spawn(|| run(&db));
        // Only the compaction waits for this reader.
        while !db.is_compacting() && !compacting.is_finished() {
            std::thread::yield_now();
        }
        for round in 0..30 {
            put(&db, &format!(r#"{{"_id":"new-{round}"}}"#)).unwrap();
            assert_eq!(answers(&snapshot), expected);
        }
        assert!(db.is_compacting());
        drop(snapshot);
        let done = compacting.join().unwrap().unwrap();
        assert!(done.after < done.before, "{done:?}");
    });
}

/// Edits that take over parts of earlier ones: deltas, attachments that are kept, uploads, copies. Returns the text and
/// how many attachments there are.
fn take_over(db: &Database, writer: u32, stop: &AtomicBool) -> (String, usize) {
    let id = format!("busy-{writer}");
    let mut text = noise(6000, writer + 1);
    let mut rev = put_rev(db, &format!(r#"{{"_id":"{id}","text":"{text}"}}"#));
    let mut files = 0;
    for step in 0.. {
        if stop.load(Ordering::Relaxed) && step > 12 {
            break;
        }
        let at = step * 31 % 5000;
        text.replace_range(at..at + 4, "----");
        let stubs = (0..files).map(|file| format!(r#""{file}":{{"stub":true}}"#));
        let stubs = stubs.collect::<Vec<_>>().join(",");
        let own = format!(r#""_attachments":{{{stubs}}},"text":"{text}""#);
        rev = put_rev(db, &format!(r#"{{"_id":"{id}","_rev":"{rev}",{own}}}"#));
        if step % 4 == 0 && files < 12 {
            let (data, of) = (data(writer, files), rev.parse().unwrap());
            let name = files.to_string();
            let edit = attaching(db, &id, Some(&of), &name, Some(("image/png", &data)));
            let done = db.update_one(edit, Mode::Interactive).unwrap();
            rev = done.unwrap().rev.to_string();
            files += 1;
        }
        if step % 5 == 0 {
            let snapshot = db.snapshot();
            let of: Rev = rev.parse().unwrap();
            let mut edit = snapshot.continued(&id, Some(&of)).unwrap().unwrap();
            edit.copy_to(&format!("copy-{writer}-{step}"), None)
                .unwrap();
            std::thread::yield_now();
            drop(snapshot);
            db.update_one(edit, Mode::Interactive).unwrap().unwrap();
        }
    }
    (text, files)
}

/// An attachment of two pieces.
fn data(writer: u32, file: usize) -> Vec<u8> {
    varve_testkit::repos::noise(1_100_000, writer * 100 + file as u32)
}

#[test]
fn what_is_taken_over_from_old_commits_is_never_in_a_hole() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone(), 4096);
    // Enough that stays, whatever the writers do.
    let rev: Rev = put_rev(&db, r#"{"_id":"stays"}"#).parse().unwrap();
    let much = varve_testkit::repos::noise(60_000_000, 3);
    let edit = attaching(&db, "stays", Some(&rev), "file", Some(("image/png", &much)));
    db.update_one(edit, Mode::Interactive).unwrap().unwrap();
    cold(&db, COLD);
    let stop = AtomicBool::new(false);
    let mut compactions = 0;
    let written: Vec<_> = std::thread::scope(|scope| {
        let (db, stop) = (&db, &stop);
        let writers: Vec<_> = (0..3)
            .map(|writer| scope.spawn(move || take_over(db, writer, stop)))
            .collect();
        let mut purged = 0;
        for round in 0..25 {
            compactions += usize::from(run(db).is_some());
            let rev: Rev = put_rev(db, &format!(r#"{{"_id":"purged-{round}"}}"#))
                .parse()
                .unwrap();
            purged += db
                .purge([(format!("purged-{round}"), vec![rev])].into())
                .unwrap()
                .len();
        }
        assert_eq!(purged, 25);
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(compactions > 10, "{compactions}");
    run(&db);
    let snapshot = db.snapshot();
    for (writer, (text, files)) in (0..).zip(&written) {
        let document = snapshot
            .document(&format!("busy-{writer}"))
            .unwrap()
            .unwrap();
        let (_, stored) = document.winner().unwrap();
        let mut body = Vec::new();
        snapshot.body(stored, &mut body).unwrap();
        assert_eq!(body, format!(r#"{{"text":"{text}"}}"#).as_bytes());
        let attachments = snapshot.attachments(stored).unwrap();
        assert_eq!(attachments.len(), *files);
        for (file, attachment) in attachments.iter().enumerate() {
            let mut found = Vec::new();
            snapshot.attachment_data(attachment, &mut found).unwrap();
            assert_eq!(
                found,
                data(writer, attachment.name.parse().unwrap()),
                "{file}"
            );
        }
    }
    drop((snapshot, db));
    assert_whole(&storage);
}

#[test]
fn holes_of_before_count_although_a_reader_stays_too_long() {
    let directory = tempfile::tempdir().unwrap();
    let disk = varve_base::DiskStorage::new(directory.path());
    let db = open(disk.clone(), 4096);
    cold(&db, COLD);
    hot(&db, "hot", 60);
    let Some(done) = run(&db) else {
        // This file system has no holes.
        return;
    };
    hot(&db, "hot", 60);
    // Another process would hold the same lock.
    let file = disk.open(Path::new(PATH), OpenMode::Read).unwrap();
    file.pin().unwrap();
    let kept = run(&db).expect("it is done but for the holes");
    let len = disk.file_len(Path::new(PATH)).unwrap().unwrap();
    let holes = len - kept.after;
    assert!(holes >= done.before - done.after, "{done:?} {kept:?} {len}");
    drop(file);
    let third = run(&db).unwrap();
    assert!(third.after < kept.after, "{kept:?} {third:?}");
    assert_whole(&disk);
}
