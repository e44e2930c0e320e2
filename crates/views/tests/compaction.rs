//! Compaction of indexes: the same rows in a shorter file.

use crate::common::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_base::{Interrupt, MemoryStorage, OpenMode, Silent, Storage};
use varve_docdb::Database;
use varve_testkit::Recorder;
use varve_views::{IndexKind, IndexSnapshot, ViewIndex, remove_stale};

const DESIGN: &str = r#"{"views":{"v":{"map":"function(d){emit(d.n % 7, d.n)}","reduce":"_sum"},
    "w":{"map":"function(d){if (d.n % 2) emit([d._id])}"}}}"#;

fn seen(view: &IndexSnapshot) -> [String; 3] {
    ["v?reduce=false", "v?group=true", "w"].map(|question| ask(view, question).unwrap())
}

/// Edits all documents once more.
fn edit(db: &Database, round: u64) {
    let documents: Vec<_> = (0..200)
        .map(|number| {
            let deleted = round > 1 && number % 10 == round % 10;
            let generation = round + 1;
            format!(
                r#"{{"_id":"d{number:04}","_rev":"{generation}-a","_deleted":{deleted},"n":{}}}"#,
                number * 31 + round
            )
        })
        .collect();
    replicate(db, &documents);
}

fn compact(index: &ViewIndex) {
    index.compact(&Silent, &Interrupt::default()).unwrap();
}

fn names(storage: &dyn Storage) -> usize {
    storage.list(Path::new(DIRECTORY)).unwrap().len()
}

#[test]
fn an_index_is_shorter_afterwards_and_has_the_same_rows() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let db = database(Arc::clone(&storage));
    let index = open_writing(Arc::clone(&storage), DESIGN);
    compact(&index);
    for round in 0..12 {
        edit(&db, round);
        refresh(&index, &db);
    }
    let view = refresh(&index, &db);
    let (rows, before) = (seen(&view), index.sizes());
    compact(&index);
    let after = index.sizes();
    assert!(after.file * 3 < before.file, "{before:?} {after:?}");
    assert!(after.file - after.nodes < 600, "{after:?}");
    assert_eq!(seen(&view), rows, "a moment stays what it is");
    assert_eq!(seen(&index.current(&db.snapshot()).unwrap()), rows);
    assert_eq!(
        index.current(&db.snapshot()).unwrap().update_seq(),
        view.update_seq()
    );
    edit(&db, 12);
    let rows = seen(&refresh(&index, &db));
    drop(index);
    let index = open_writing(Arc::clone(&storage), DESIGN);
    assert_eq!(seen(&index.current(&db.snapshot()).unwrap()), rows);
    assert_eq!(names(&*storage), 1);
}

#[test]
fn building_goes_on_during_a_compaction() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let db = database(Arc::clone(&storage));
    let index = open(Arc::clone(&storage), DESIGN);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let compacting = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                compact(&index);
            }
        });
        for round in 0..30 {
            edit(&db, round);
            let view = refresh(&index, &db);
            assert_eq!(view.update_seq(), db.snapshot().update_seq());
        }
        stop.store(true, Ordering::Relaxed);
        compacting.join().unwrap();
    });
    let other = open(Arc::new(MemoryStorage::default()), DESIGN);
    assert_eq!(seen(&refresh(&index, &db)), seen(&refresh(&other, &db)));
}

#[test]
fn an_interrupted_compaction_and_one_that_crashed_leave_nothing() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let db = database(Arc::clone(&storage));
    let index = open(Arc::clone(&storage), DESIGN);
    for round in 0..50 {
        edit(&db, round);
    }
    let before = seen(&refresh(&index, &db));
    edit(&db, 50);
    let stop = Interrupt::default();
    stop.raise();
    index.compact(&Silent, &stop).unwrap_err();
    assert!(!index.is_compacting());
    assert_eq!(names(&*storage), 1);
    assert_eq!(seen(&index.current(&db.snapshot()).unwrap()), before);
    let name = format!("{}.view.compact", index.group().signature());
    let rest = Path::new(DIRECTORY).join(&name);
    drop(index);
    storage.open(&rest, OpenMode::CreateNew).unwrap();
    let signature = open(Arc::clone(&storage), DESIGN).group().signature();
    assert_eq!(names(&*storage), 1);
    storage.open(&rest, OpenMode::CreateNew).unwrap();
    assert_eq!(
        remove_stale(
            &*storage,
            Path::new(DIRECTORY),
            IndexKind::Views,
            &[signature]
        )
        .unwrap(),
        0
    );
    assert_eq!(
        remove_stale(&*storage, Path::new(DIRECTORY), IndexKind::Views, &[]).unwrap(),
        2
    );
}

#[test]
fn no_power_cut_during_a_compaction_leaves_a_wrong_index() {
    // With changes that compactions write, and with changes that they find in the file.
    for open_index in [open, open_writing] {
        cut_power_during_compactions(open_index);
    }
}

fn cut_power_during_compactions(open_index: fn(Arc<dyn Storage>, &str) -> ViewIndex) {
    let db = database(Arc::new(MemoryStorage::default()));
    let recorder = Recorder::default();
    let index = open_index(Arc::new(recorder.clone()), DESIGN);
    let mut states = std::collections::BTreeMap::new();
    for round in 0..4 {
        edit(&db, round);
        let view = refresh(&index, &db);
        states.insert(view.update_seq(), seen(&view));
        compact(&index);
    }
    let newest = states.values().next_back().unwrap().clone();
    let images = recorder.for_each_image(8, |image| {
        let storage: Arc<dyn Storage> = Arc::new(image.storage);
        let index = open(Arc::clone(&storage), DESIGN);
        let found = index.current(&db.snapshot()).unwrap();
        if found.update_seq() > 0 {
            assert_eq!(
                Some(&seen(&found)),
                states.get(&found.update_seq()),
                "{}",
                image.cut
            );
        }
        assert_eq!(seen(&refresh(&index, &db)), newest, "{}", image.cut);
        assert_eq!(names(&*storage), 1, "{}", image.cut);
    });
    assert!(images > 150, "only {images} images");
}
