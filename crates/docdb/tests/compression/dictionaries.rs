//! Dictionaries: trained, used, kept, replaced, and there after every crash.

use super::{check_counts, chunks};
use crate::compaction::{answers, compact};
use crate::verify::sample::findings;
use crate::{PATH, edit, get};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, OpenMode, Silent, Storage};
use varve_btree::NodeCache;
use varve_codec::EngineSetting;
use varve_docdb::verify::Part;
use varve_docdb::{Database, DatabaseOptions, Direction, Mode, TrainsBy};
use varve_testkit::Recorder;

fn options(trains: TrainsBy) -> DatabaseOptions {
    DatabaseOptions {
        trains,
        ..DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(1 << 20))
    }
}

pub fn create(storage: impl Storage + 'static) -> Database {
    let options = options(TrainsBy::Request);
    Database::create(Arc::new(storage), Path::new(PATH), &options).unwrap()
}

pub fn open(storage: &MemoryStorage) -> Database {
    let storage = Arc::new(storage.clone());
    Database::open(storage, Path::new(PATH), &options(TrainsBy::Request)).unwrap()
}

/// A record as a list of packages has it; `kind` decides on its shape.
fn record(kind: &str, number: u32) -> String {
    let mixed = number.wrapping_mul(2_654_435_761);
    let words = [
        "library",
        "for",
        "developers",
        "files",
        "graphical",
        "tools",
    ];
    let text: Vec<_> = (0..12)
        .map(|at| words[(mixed >> at) as usize % 6])
        .collect();
    format!(
        r#"{{"_id":"{kind}{number:05}","{kind}_maintainer":"Team {mixed:x} <team@example.org>",
            "{kind}_homepage":"https://example.org/projects/{kind}/{number}","section":"{kind}/optional",
            "{kind}_description":"{}","{kind}_size":{}}}"#,
        text.join(" "),
        mixed % 100_000
    )
}

fn fill(db: &Database, kind: &str, numbers: std::ops::Range<u32>) {
    let edits = numbers.map(|number| edit(&record(kind, number)));
    for outcome in db.update(edits.collect(), Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
}

fn numbers(db: &Database) -> Vec<u32> {
    let known = db.compression().unwrap().dictionaries;
    known.iter().map(|dictionary| dictionary.number).collect()
}

/// Bytes in the file of the last document's body.
fn last_body(db: &Database) -> u64 {
    let snapshot = db.snapshot();
    let mut changes = snapshot.changes(0, Direction::Backward).unwrap();
    changes.next().unwrap().unwrap().stored.active
}

#[test]
fn without_training_a_compaction_drops_the_dictionary_and_every_document_stays() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    fill(&db, "p", 0..1200);
    assert!(db.train().unwrap());
    fill(&db, "p", 1200..1300);
    drop(db);
    let without = options(TrainsBy::Nothing);
    let shared = Arc::new(storage.clone());
    let db = Database::open(shared, Path::new(PATH), &without).unwrap();
    assert_eq!(db.compression().unwrap().dictionaries.len(), 1);
    let before = db.compression().unwrap();
    db.compact(&Silent, &Interrupt::default()).unwrap();
    let after = db.compression().unwrap();
    assert!(after.dictionaries.is_empty() && !db.train().unwrap());
    assert!(after.stored > before.stored, "{after:?}");
    let snapshot = db.snapshot();
    let document = snapshot.document("p01250").unwrap().unwrap();
    let mut text = Vec::new();
    snapshot
        .body(document.winner().unwrap().1, &mut text)
        .unwrap();
    assert!(String::from_utf8(text).unwrap().contains("/p/1250"));
}

#[test]
fn new_bodies_use_a_dictionary_and_compaction_brings_it_to_all() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    fill(&db, "net", 0..10);
    assert!(!db.train().unwrap(), "ten documents are not enough");
    fill(&db, "net", 10..1200);
    let plain = last_body(&db);
    assert!(db.train().unwrap());
    assert_eq!(numbers(&db), [1]);
    fill(&db, "net", 1200..1300);
    assert!(
        last_body(&db) * 2 < plain,
        "{} then {}",
        plain,
        last_body(&db)
    );
    assert_eq!(chunks(&db, "zstd_dictionary"), 100);
    check_counts(&db, &storage);
    let before = answers(&db.snapshot());
    drop(db);

    let db = open(&storage);
    assert_eq!(answers(&db.snapshot()), before);
    let old = db.snapshot();
    let first = compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(
        answers(&old),
        before,
        "a reader keeps its file's dictionaries"
    );
    assert_eq!(numbers(&db), [1]);
    assert!(chunks(&db, "zstd_dictionary") >= 1300);
    check_counts(&db, &storage);
    assert_eq!(compact(&db).after, first.after, "now bytes are copied");
    fill(&db, "net", 1300..1301);
    assert!(last_body(&db) * 2 < plain);
    drop((db, old));
    assert_eq!(answers(&open(&storage).snapshot()).len(), before.len() + 3);
}

#[test]
fn compaction_trains_and_old_dictionaries_go() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    fill(&db, "net", 0..1500);
    compact(&db);
    assert_eq!(numbers(&db), [1]);
    compact(&db);
    assert_eq!(numbers(&db), [1], "nothing has changed");
    // Documents of another kind: the dictionary knows nothing of them.
    fill(&db, "science", 0..4000);
    let before = answers(&db.snapshot());
    let done = compact(&db);
    assert_eq!(numbers(&db), [2]);
    assert!(done.after < done.before);
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(compact(&db).after, done.after);
    // Without zstd there is none.
    db.set_compression(Some(EngineSetting::SNAPPY)).unwrap();
    assert!(!db.train().unwrap());
    compact(&db);
    assert!(numbers(&db).is_empty());
    assert_eq!(chunks(&db, "zstd_dictionary"), 0);
    assert_eq!(answers(&db.snapshot()), before);
    db.set_compression(None).unwrap();
    compact(&db);
    assert_eq!(numbers(&db), [3], "no number comes twice");
    assert_eq!(answers(&db.snapshot()), before);
    check_counts(&db, &storage);
}

#[test]
fn several_dictionaries_stand_in_one_file() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    fill(&db, "net", 0..1000);
    assert!(db.train().unwrap());
    fill(&db, "net", 1000..1500);
    fill(&db, "science", 0..3000);
    assert!(db.train().unwrap());
    assert_eq!(numbers(&db), [1, 2]);
    fill(&db, "science", 3000..3500);
    let before = answers(&db.snapshot());
    drop(db);
    let db = open(&storage);
    assert_eq!(answers(&db.snapshot()), before);
    compact(&db);
    assert_eq!(numbers(&db), [2]);
    assert_eq!(answers(&db.snapshot()), before);
}

#[test]
fn a_dictionary_comes_by_itself() {
    let storage = Arc::new(MemoryStorage::default());
    let options = options(TrainsBy::Itself);
    let db = Database::create(storage, Path::new(PATH), &options).unwrap();
    // However long the training takes: one of the commits takes the dictionary along.
    let mut number = 0;
    while numbers(&db).is_empty() {
        fill(&db, "net", number..number + 50);
        number += 50;
    }
    assert!(number > 1000, "only {number} documents");
    fill(&db, "net", number..number + 50);
    assert_eq!(chunks(&db, "zstd_dictionary"), 50);
    assert!(get(&db.snapshot(), &format!("net{number:05}")).is_some());
    // Among many documents of another kind it has become worse.
    let mut others = 0;
    while numbers(&db) == [1] {
        fill(&db, "science", others..others + 500);
        others += 500;
    }
    assert_eq!(numbers(&db), [1, 2]);
    assert!(others + number > 7000, "only {others} and {number}");
}

#[test]
fn no_cut_leaves_a_chunk_without_its_dictionary() {
    let disk = Recorder::default();
    let db = create(disk.clone());
    fill(&db, "net", 0..1000);
    disk.acknowledge();
    let start = 1;
    assert!(db.train().unwrap());
    disk.acknowledge();
    fill(&db, "net", 1000..1003);
    disk.acknowledge();
    compact(&db);
    fill(&db, "net", 1003..1006);
    disk.acknowledge();
    let mut found = [0; 4];
    let images = disk.for_each_image(400, |image| {
        if image.acknowledged < start {
            return;
        }
        let storage = Arc::new(image.storage);
        let db = Database::open(storage, Path::new(PATH), &options(TrainsBy::Request)).unwrap();
        let count = db.snapshot().info().unwrap().doc_count;
        for (number, least) in [(1003, 2), (1006, 3)] {
            let is_acknowledged = image.acknowledged >= start + least;
            assert!(!is_acknowledged || count >= number, "{}", image.cut);
        }
        // Each body is read, and so each dictionary that is needed.
        let mut body = Vec::new();
        for change in db.snapshot().changes(997, Direction::Forward).unwrap() {
            body.clear();
            db.snapshot()
                .body(&change.unwrap().stored, &mut body)
                .unwrap();
        }
        found[(count as usize - 1000) / 3] += 1;
    });
    assert!(
        images > 100 && found[..3].iter().all(|count| *count > 0),
        "{images} {found:?}"
    );
}

/// Checks the findings on the dictionary of a file.
fn dictionary_is_told(storage: &MemoryStorage, expected: &[&str]) {
    let (_, found) = findings(storage, PATH).unwrap();
    let found = found.iter().filter(|each| each.part == Part::Dictionary);
    let found: Vec<_> = found.map(ToString::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.ends_with(expected), "{found}");
    }
}

#[test]
fn a_damaged_dictionary_has_a_copy_and_without_takes_down_what_needs_it_alone() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    fill(&db, "net", 0..1000);
    let end = db.sizes().unwrap().file as usize;
    assert!(db.train().unwrap());
    fill(&db, "net", 1000..1010);
    drop(db);
    let file = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
    let mut bytes = file.read_vec(0, file.len().unwrap() as usize).unwrap();
    // The dictionary is the first thing behind the first commit.
    bytes[end + 100] ^= 1;
    let with_copy = MemoryStorage::with_files([(PATH.into(), bytes.clone())]);
    dictionary_is_told(&with_copy, &["there is a copy of it"]);
    let db = open(&with_copy);
    assert!(get(&db.snapshot(), "net01005").is_some());
    compact(&db);
    assert!(get(&db.snapshot(), "net01005").is_some());
    // Behind the chunk's head of 13 bytes and its payload stands the copy.
    let len = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap());
    let copy = end + 13 + len as usize;
    bytes[copy + 100] ^= 1;
    let storage = MemoryStorage::with_files([(PATH.into(), bytes.clone())]);
    dictionary_is_told(&storage, &["all bodies that need it cannot be read"; 2]);
    bytes[end + 100] ^= 1;
    let without_copy = MemoryStorage::with_files([(PATH.into(), bytes)]);
    dictionary_is_told(&without_copy, &["it is the copy of one that can be read"]);
    let db = open(&storage);
    assert!(get(&db.snapshot(), "net00007").is_some());
    let document = db.snapshot().document("net01005").unwrap().unwrap();
    let (_, stored) = document.winner().unwrap();
    let error = db.snapshot().body(stored, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("needs a dictionary"), "{error}");
    fill(&db, "net", 1010..1012);
    assert!(get(&db.snapshot(), "net01011").is_some(), "written without");
}
