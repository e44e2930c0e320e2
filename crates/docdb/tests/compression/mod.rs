//! A database's own compression, and its numbers of chunks.

mod deltas;
mod dictionaries;
mod scan;

use crate::compaction::{answers, compact};
use crate::{PATH, edit, options, put, put_rev};
use scan::scan;
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_codec::EngineSetting;
use varve_docdb::{ChunkForm, Database, DatabaseOptions, Mode, NewDatabase};

/// Puts documents with text that any codec makes shorter.
fn fill(db: &Database, prefix: &str, count: usize) {
    let text = "words that come again and again, ".repeat(9);
    let edits = (0..count).map(|number| {
        edit(&format!(
            r#"{{"_id":"{prefix}{number:04}","text":"{text}"}}"#
        ))
    });
    for outcome in db.update(edits.collect(), Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
}

fn chunks(db: &Database, name: &str) -> u64 {
    let chunk_stats = db.compression().unwrap().chunk_stats.unwrap();
    let form = ChunkForm::ALL.into_iter().find(|form| form.name() == name);
    chunk_stats.of(form.unwrap()).chunks
}

/// Checks that the counts in the header are those of the chunks in the file.
fn check_counts(db: &Database, storage: &MemoryStorage) {
    let found = scan(storage, Path::new(PATH));
    assert_eq!(db.compression().unwrap().chunk_stats, Some(found));
}

#[test]
fn a_database_has_its_own_compression_at_once_and_whole_after_compaction() {
    let storage = MemoryStorage::default();
    let shared = Arc::new(storage.clone());
    let deflate = "deflate_9".parse().unwrap();
    let db = Database::create_with(
        shared,
        Path::new(PATH),
        &options(),
        NewDatabase {
            compression: Some(deflate),
            is_partitioned: false,
            has_access: false,
        },
    );
    let db = db.unwrap();
    fill(&db, "a", 300);
    let about = db.compression().unwrap();
    assert_eq!((about.setting, about.is_own), (deflate, true));
    assert_eq!(about.found, Some(deflate));
    assert!(about.ratio().unwrap() > 2.0, "{about:?}");
    assert_eq!(chunks(&db, "snappy"), 0, "the options do not count here");
    assert!(chunks(&db, "deflate") > 300);
    let before = answers(&db.snapshot());

    db.set_compression(Some(EngineSetting::ZSTD)).unwrap();
    assert_eq!(db.compression().unwrap().setting, EngineSetting::ZSTD);
    assert_eq!(db.compression().unwrap().found, Some(deflate));
    assert_eq!(answers(&db.snapshot()), before);
    fill(&db, "b", 10);
    assert!(chunks(&db, "zstd") > 10);
    assert_eq!(db.compression().unwrap().found, None, "they differ now");
    let before = answers(&db.snapshot());
    check_counts(&db, &storage);

    compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(chunks(&db, "deflate"), 0);
    assert!(chunks(&db, "zstd") > 310);
    assert_eq!(db.compression().unwrap().found, Some(EngineSetting::ZSTD));
    check_counts(&db, &storage);
    drop(db);

    let none = DatabaseOptions {
        setting: EngineSetting::NONE,
        ..options()
    };
    let db = Database::open(Arc::new(storage.clone()), Path::new(PATH), &none).unwrap();
    assert_eq!(db.setting(), EngineSetting::ZSTD, "it stays over a start");
    db.set_compression(None).unwrap();
    assert_eq!(db.setting(), EngineSetting::NONE);
    assert!(!db.compression().unwrap().is_own);
    compact(&db);
    assert_eq!(chunks(&db, "zstd"), 0);
    check_counts(&db, &storage);
}

#[test]
fn counts_follow_edits_failed_commits_and_compactions() {
    let storage = MemoryStorage::default();
    let shared = Arc::new(storage.clone());
    let db = Database::create(shared, Path::new(PATH), &options()).unwrap();
    check_counts(&db, &storage);
    for number in 0..20 {
        let rev = put_rev(&db, &format!(r#"{{"_id":"x{number}","n":{number}}}"#));
        let attached = format!(
            r#"{{"_id":"x{number}","_rev":"{rev}","_attachments":{{"a":{{"data":"AAAA"}}}}}}"#
        );
        put(&db, &attached).unwrap();
        put(&db, &format!(r#"{{"_id":"x{number}","late":true}}"#)).unwrap_err();
        if number % 7 == 3 {
            compact(&db);
        }
        check_counts(&db, &storage);
    }
    let text = "long ".repeat(1000);
    put(&db, &format!(r#"{{"_id":"_local/l","text":"{text}"}}"#)).unwrap();
    let security = varve_json::parse_object(br#"{"admins":{"names":["ann"]}}"#).unwrap();
    db.set_security(&security).unwrap();
    check_counts(&db, &storage);
    compact(&db);
    check_counts(&db, &storage);
}
