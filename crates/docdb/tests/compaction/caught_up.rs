//! Copies that were interrupted or ended while they were brought up to date.

use super::resumed::{COPY, Disk, STEP, add, assert_whole, begin, change, disk, go_on, open};
use super::*;
use crate::verify::sample::fill;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use varve_base::{Progress, Unit};
use varve_docdb::{Compaction, DocdbError};
use varve_testkit::Recorder;

/// Changes something once the trees are copied.
struct Changing<C>(Mutex<Option<C>>);

impl<C: FnOnce() + Send> Progress for Changing<C> {
    fn begin(&self, step: &str, _: Unit, _: Option<u64>) {
        if step == "docid_copy"
            && let Some(change) = self.0.lock().unwrap().take()
        {
            change();
        }
    }

    fn advance(&self, _: u64) {}
}

/// Copies the whole database, and then the changes made meanwhile.
fn copied(db: &Database, change: impl FnOnce() + Send) -> Compaction {
    let mut compaction = db.begin_compaction().unwrap().in_steps_of(STEP);
    let changing = Changing(Mutex::new(Some(change)));
    compaction.copy(&changing, &Interrupt::default()).unwrap();
    compaction
}

/// The process ends: nothing is put in order.
fn crash<T>(disk: &Disk, left: T) -> Database {
    std::mem::forget(left);
    open(disk.clone())
}

fn len_of_copy(disk: &Disk) -> u64 {
    disk.file_len(Path::new(COPY)).unwrap().expect("it is left")
}

#[test]
fn what_was_caught_up_with_is_not_copied_again() {
    for is_crash in [true, false] {
        let disk = disk();
        let db = open(disk.clone());
        fill(&db);
        add(&db, "doc", 100);
        let compaction = copied(&db, || change(&db, 1));
        let db = match is_crash {
            true => crash(&disk, (db, compaction)),
            false => {
                let stop = Interrupt::default();
                stop.raise();
                let error = compaction.finish(&stop).unwrap_err();
                assert!(matches!(error, DocdbError::Interrupted), "{error}");
                db
            }
        };
        let kept = len_of_copy(&disk);
        let before = answers(&db.snapshot());
        disk.watcher().0.store(0, Ordering::Relaxed);
        let done = go_on(&db);
        let appended = disk.watcher().0.load(Ordering::Relaxed);
        assert_eq!(appended + kept, done.after);
        assert!(appended * 2 < kept, "{appended} more than {kept}");
        assert_eq!(answers(&db.snapshot()), before);
        assert_whole(&disk);
        let once = compact(&db);
        assert!(once.after < done.after && answers(&db.snapshot()) == before);
    }
}

#[test]
fn a_copy_that_ends_again_and_again_while_it_catches_up_comes_to_its_end() {
    let disk = disk();
    let mut db = open(disk.clone());
    fill(&db);
    add(&db, "doc", 60);
    begin(&db, 50);
    for round in 0..6 {
        let compaction = copied(&db, || change(&db, 2 * round));
        // A change that the copy lacks is met by the next compaction.
        change(&db, 2 * round + 1);
        let kept = len_of_copy(&disk);
        db = crash(&disk, (db, compaction));
        assert_eq!(len_of_copy(&disk), kept, "{round}");
    }
    let before = answers(&db.snapshot());
    go_on(&db);
    assert_eq!(answers(&db.snapshot()), before);
    drop(db);
    assert_whole(&disk);
    let db = open(disk.clone());
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(names(&disk), [PATH]);
}

#[test]
fn no_cut_while_a_copy_catches_up_loses_or_adds_anything() {
    let disk = Recorder::default();
    let db = open(disk.clone());
    fill(&db);
    add(&db, "doc", 12);
    let compaction = copied(&db, || change(&db, 1));
    let expected = answers(&db.snapshot());
    disk.acknowledge();
    compaction.finish(&Interrupt::default()).unwrap();
    disk.acknowledge();
    let mut resumed = 0;
    disk.for_each_image(40, |image| {
        if image.acknowledged == 0 {
            return;
        }
        let storage = image.storage;
        let db = open(storage.clone());
        assert_eq!(answers(&db.snapshot()), expected, "{}", image.cut);
        let kept = storage.file_len(Path::new(COPY)).unwrap();
        resumed += usize::from(kept.is_some());
        go_on(&db);
        assert_eq!(answers(&db.snapshot()), expected, "{}", image.cut);
        assert_whole(&storage);
    });
    assert!(resumed > 5, "{resumed}");
}

/// Of two documents with one attachment the first is gone when the copy is gone on with.
#[test]
fn damage_to_a_shared_attachment_of_the_copy_never_comes_into_the_database() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone());
    let attached =
        r#"{"_id":"ID","_attachments":{"a":{"content_type":"image/png","data":"DATA"}}}"#;
    let data = "QUJD".repeat(400);
    let revs = ["first", "second"]
        .map(|id| put_rev(&db, &attached.replace("ID", id).replace("DATA", &data)));
    add(&db, "doc", 12);
    let gone = format!(r#"{{"_id":"first","_rev":"{}","_deleted":true}}"#, revs[0]);
    let compaction = copied(&db, || {
        put_rev(&db, &gone);
        add(&db, "more", 12);
    });
    std::mem::forget((db, compaction));
    let copy = storage.open(Path::new(COPY), varve_base::OpenMode::Append);
    let copy = copy.unwrap();
    let mut bytes = copy.read_all().unwrap();
    let shared = b"ABCABCABCABC";
    let at = bytes.windows(12).position(|part| part == shared).unwrap();
    bytes[at] ^= 1;
    copy.truncate(0).unwrap();
    copy.append(&bytes).unwrap();
    let db = open(storage.clone());
    let mut compaction = db.begin_compaction().unwrap().in_steps_of(STEP);
    let error = compaction.copy(&Silent, &Interrupt::default()).unwrap_err();
    assert!(matches!(error, DocdbError::DamagedCopy { .. }), "{error}");
    assert!(error.to_string().ends_with("begins a new one"), "{error}");
    drop(compaction);
    go_on(&db);
    assert_whole(&storage);
}
