//! Every state that a power cut during a compaction could have left.

use super::*;
use std::collections::BTreeSet;
use varve_testkit::Recorder;

/// Documents before the compaction begins.
const BEFORE: usize = 12;
const COMMITS: usize = 6;

/// Opens the files after a cut; returns the documents that are there, after having gone on.
fn recover(storage: MemoryStorage, cut: &str) -> BTreeSet<String> {
    let names_before = names(&storage);
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let db = Database::open(shared, Path::new(PATH), &options());
    let db = db.unwrap_or_else(|error| panic!("{error}: {cut}: {names_before:?}"));
    // A commit that is not whole is kept beside the database.
    let mut rests = names(&storage);
    rests.retain(|name| !name.ends_with(".cut"));
    assert_eq!(rests, [PATH], "a rest stayed: {cut}");
    let snapshot = db.snapshot();
    let lines = answers(&snapshot);
    let rows = snapshot.all_docs(IdRange::ALL, Direction::Forward).unwrap();
    let found = rows.map(|row| row.unwrap().id().to_owned()).collect();
    put_rev(&db, r#"{"_id":"after"}"#);
    compact(&db);
    assert!(answers(&db.snapshot()).len() > lines.len(), "{cut}");
    found
}

#[test]
fn no_cut_during_a_compaction_loses_or_adds_anything() {
    let disk = Recorder::default();
    let db = create(disk.clone());
    for number in 0..BEFORE {
        put(&db, &format!(r#"{{"_id":"old{number:02}","n":{number}}}"#)).unwrap();
    }
    let mut begun = db.begin_compaction().unwrap();
    let commit = |number: usize| {
        put(&db, &format!(r#"{{"_id":"new{number}"}}"#)).unwrap();
        disk.acknowledge();
    };
    // Before, between and behind everything that a compaction does.
    commit(0);
    begun.copy(&Silent, &Interrupt::default()).unwrap();
    commit(1);
    commit(2);
    begun.finish(&Interrupt::default()).unwrap();
    for number in 3..COMMITS {
        commit(number);
    }
    let mut opened = 0;
    let images = disk.for_each_image(60, |image| {
        if image.acknowledged == 0 {
            return;
        }
        opened += 1;
        let mut found = recover(image.storage, &image.cut);
        for number in 0..BEFORE {
            assert!(found.remove(&format!("old{number:02}")), "{}", image.cut);
        }
        // The next commit may be there, whole, without having been acknowledged.
        let expected = |count: usize| (0..count).map(|number| format!("new{number}")).collect();
        let all: [BTreeSet<String>; 2] = [
            expected(image.acknowledged),
            expected(image.acknowledged + 1),
        ];
        assert!(all.contains(&found), "{found:?}: {}", image.cut);
    });
    assert!(opened > 500, "only {opened} of {images} images");
}

#[test]
fn no_cut_between_concurrent_commits_loses_any() {
    let disk = Recorder::default();
    let db = create(disk.clone());
    put_rev(&db, r#"{"_id":"first"}"#);
    disk.acknowledge();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 1..=30 {
                put(&db, &format!(r#"{{"_id":"{number:02}"}}"#)).unwrap();
                disk.acknowledge();
            }
        });
        while !writer.is_finished() {
            compact(&db);
        }
    });
    let mut opened = 0;
    let images = disk.for_each_image(12, |image| {
        if image.acknowledged == 0 {
            return;
        }
        opened += 1;
        let found = recover(image.storage, &image.cut).len();
        let all = image.acknowledged..=image.acknowledged + 1;
        assert!(all.contains(&found), "{found}: {}", image.cut);
    });
    assert!(opened > 1000, "only {opened} of {images} images");
}
