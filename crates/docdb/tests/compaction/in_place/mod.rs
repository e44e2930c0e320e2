//! Compaction in place: cold data stays where it is, and room in the middle is given back.

mod crash;
mod old;
mod races;

use super::*;
use crate::verify::sample::{self, fill, findings, noise};
use std::collections::BTreeMap;
use varve_base::OpenMode;
use varve_docdb::{DatabaseOptions, InPlace};

/// Documents that stay unchanged.
const COLD: u32 = 300;

pub fn options(region: u64) -> DatabaseOptions {
    DatabaseOptions {
        in_place: InPlace { from: 1, region },
        ..sample::options()
    }
}

fn open(storage: impl Storage + 'static, region: u64) -> Database {
    let (storage, options) = (Arc::new(storage), options(region));
    match storage.kind(Path::new(PATH)).unwrap() {
        None => Database::create(storage, Path::new(PATH), &options).unwrap(),
        Some(_) => Database::open(storage, Path::new(PATH), &options).unwrap(),
    }
}

fn run(db: &Database) -> Option<Compacted> {
    let done = db.compact_in_place(&Silent, &Interrupt::default());
    done.unwrap()
}

/// A document whose text does not become much shorter.
pub fn document(kind: &str, number: u32) -> String {
    let text = noise(900, number + 1);
    format!(r#"{{"_id":"{kind}-{number:04}","text":"{text}"}}"#)
}

fn cold(db: &Database, count: u32) {
    let edits = (0..count).map(|number| edit(&document("cold", number)));
    let edits = edits.collect();
    for outcome in db.update(edits, Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
}

/// Edits a document so often that most of its written bytes are of no use soon.
pub fn hot(db: &Database, id: &str, edits: u32) {
    let found = db.snapshot().document(id).unwrap();
    let rev = found.map(|found| found.winner().unwrap().0.to_string());
    let mut rev = rev.unwrap_or_default();
    for number in 0..edits {
        let text = noise(1500, 7000 + number);
        let from = match rev.is_empty() {
            true => String::new(),
            false => format!(r#""_rev":"{rev}","#),
        };
        rev = put_rev(db, &format!(r#"{{"_id":"{id}",{from}"text":"{text}"}}"#));
    }
}

/// Where the winners' bodies stand.
fn places(db: &Database) -> BTreeMap<String, u64> {
    let changes = db.snapshot().changes(0, Direction::Forward).unwrap();
    let place = |change: varve_docdb::Change| (change.id, change.stored.body.offset);
    changes.map(|change| place(change.unwrap())).collect()
}

fn zeros(storage: &MemoryStorage) -> usize {
    let file = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
    let bytes = file.read_all().unwrap();
    let runs = bytes.chunks(512);
    512 * runs.filter(|run| run.iter().all(|byte| *byte == 0)).count()
}

fn assert_whole(storage: &dyn Storage) {
    let (_, found) = findings(storage, PATH).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn cold_documents_stay_where_they_are() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone(), 4096);
    fill(&db);
    cold(&db, COLD);
    hot(&db, "hot", 120);
    fill_more(&db);
    let before = (answers(&db.snapshot()), places(&db));
    let done = run(&db).expect("most of it is cold");
    assert!(done.before - done.after > 120_000, "{done:?}");
    assert_eq!(db.sizes().unwrap().file, done.after);
    assert!(zeros(&storage) > 120_000);
    assert_eq!(answers(&db.snapshot()), before.0);
    let now = places(&db);
    let moved = before.1.iter().filter(|(id, at)| now[*id] != **at);
    let moved: Vec<_> = moved.map(|(id, _)| id.as_str()).collect();
    assert!(moved.contains(&"hot"), "{moved:?}");
    let cold_ones = moved.iter().filter(|id| id.starts_with("cold"));
    assert!(cold_ones.count() < 20, "{moved:?}");
    assert_whole(&storage);
    // A second one finds the holes where they are, and little else to do.
    let again = run(&db).unwrap();
    assert!(again.after <= done.after + 8192, "{done:?} {again:?}");
    hot(&db, "hot", 120);
    let before = answers(&db.snapshot());
    let third = run(&db).unwrap();
    assert!(third.after < done.after + 30_000, "{done:?} {third:?}");
    drop(db);
    let db = open(storage.clone(), 4096);
    assert_eq!(answers(&db.snapshot()), before);
    assert_whole(&storage);
    // A copy has no holes.
    let mut copy = db.begin_compaction().unwrap();
    copy.copy(&Silent, &Interrupt::default()).unwrap();
    let copied = copy.finish(&Interrupt::default()).unwrap();
    assert_eq!(answers(&db.snapshot()), before);
    let len = storage.file_len(Path::new(PATH)).unwrap().unwrap();
    assert_eq!((copied.sizes.after, db.sizes().unwrap().file), (len, len));
}

/// Writes, behind the cold documents, records of every kind but plain documents.
fn fill_more(db: &Database) {
    let security = varve_json::parse_object(br#"{"members":{"names":["ann"]}}"#).unwrap();
    for number in 0..8 {
        db.set_security(&security).unwrap();
        let text = noise(3000, number);
        put(db, &format!(r#"{{"_id":"_local/long","text":"{text}"}}"#)).unwrap();
        put(
            db,
            &format!(r#"{{"_id":"_local/short","text":"{number}"}}"#),
        )
        .unwrap();
        hot(db, "other", 6);
    }
}

#[test]
fn a_dictionary_in_a_hole_is_moved_with_its_copy() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone(), 2048);
    let record = |number: u32| {
        let text = noise(20, number + 1);
        let home = format!("https://example.org/projects/{number}");
        edit(&format!(
            r#"{{"_id":"{number:05}","maintainer":"Team <team@example.org>","home":"{home}","text":"{text}"}}"#
        ))
    };
    let add = |numbers: std::ops::Range<u32>| {
        let edits = numbers.map(record).collect();
        db.update(edits, Mode::Interactive).unwrap();
    };
    add(0..1500);
    assert!(db.train().unwrap());
    add(1500..4000);
    // Regions are longer than the dictionary: it stands alone in some of them.
    hot(&db, "hot", 60);
    let old = db.compression().unwrap().dictionaries;
    let before = answers(&db.snapshot());
    run(&db).expect("most of it stays");
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(db.compression().unwrap().dictionaries.len(), old.len());
    drop(db);
    assert_whole(&storage);
    assert_eq!(answers(&open(storage, 2048).snapshot()), before);
}

#[test]
fn a_copy_is_made_where_that_is_better() {
    let small = DatabaseOptions {
        in_place: InPlace::default(),
        ..options(4096)
    };
    let db = Database::create(Arc::new(MemoryStorage::default()), Path::new(PATH), &small);
    let db = db.unwrap();
    cold(&db, 40);
    hot(&db, "hot", 40);
    assert!(run(&db).is_none(), "soon copied");
    let db = open(MemoryStorage::default(), 4096);
    hot(&db, "hot", 100);
    assert!(run(&db).is_none(), "nothing to speak of stays");
    cold(&db, COLD);
    db.set_compression(Some(EngineSetting::NONE)).unwrap();
    assert!(run(&db).is_none(), "to be compressed otherwise");
    // This storage has no holes; that is found out once, and nothing is lost by it.
    let scratch = MemoryStorage::default();
    let scratch = scratch.open(Path::new("scratch"), OpenMode::CreateNew);
    let base = Arc::new(MemoryStorage::default());
    let flat = varve_base::storage::OverlayStorage::new(base, scratch.unwrap());
    let db = open(flat, 4096);
    cold(&db, COLD);
    hot(&db, "hot", 100);
    let before = answers(&db.snapshot());
    assert!(run(&db).is_none());
    let len = db.sizes().unwrap().file;
    assert!(run(&db).is_none());
    assert_eq!(db.sizes().unwrap().file, len, "not tried again");
    assert!(compact(&db).after < len / 2);
    assert_eq!(answers(&db.snapshot()), before);
}

#[test]
fn what_cannot_be_read_stays_and_all_else_is_compacted() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone(), 4096);
    cold(&db, COLD);
    hot(&db, "hot", 30);
    put(&db, r#"{"_id":"victim","text":"here it stands"}"#).unwrap();
    hot(&db, "hot", 30);
    let place = places(&db)["victim"];
    drop(db);
    let file = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
    let mut bytes = file.read_all().unwrap();
    bytes[place as usize + 15] ^= 1;
    let storage = MemoryStorage::with_files([(PATH.into(), bytes)]);
    let db = open(storage.clone(), 4096);
    let done = run(&db).unwrap();
    assert!(done.before - done.after > 40_000, "{done:?}");
    assert_eq!(places(&db)["victim"], place);
    drop(db);
    let (_, found) = findings(&storage, PATH).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains("victim"), "{found:?}");
}

#[test]
fn what_is_salvaged_has_no_holes_and_says_so() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone(), 4096);
    cold(&db, COLD);
    hot(&db, "hot", 60);
    run(&db).unwrap();
    let len = storage.file_len(Path::new(PATH)).unwrap().unwrap();
    assert!(db.sizes().unwrap().file < len);
    drop(db);
    sample::salvaged(&storage, "new.varve").unwrap();
    let (storage, path) = (Arc::new(storage), Path::new("new.varve"));
    let new = Database::open(storage.clone(), path, &options(4096)).unwrap();
    let len = storage.file_len(path).unwrap().unwrap();
    assert_eq!(new.sizes().unwrap().file, len);
}
