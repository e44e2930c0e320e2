//! Every state a power cut could have left.

use crate::{PATH, create, edit, options};
use std::path::Path;
use std::sync::Arc;
use varve_docdb::{Database, Mode, NewDatabase};
use varve_testkit::Recorder;

const COMMITS: usize = 6;
const PER_COMMIT: usize = 3;

#[test]
fn no_cut_loses_what_was_acknowledged() {
    let disk = Recorder::default();
    let db = create(disk.clone());
    disk.acknowledge();
    for commit in 0..COMMITS {
        let edits =
            (0..PER_COMMIT).map(|number| edit(&format!(r#"{{"_id":"{commit}-{number}"}}"#)));
        for outcome in db.update(edits.collect(), Mode::Interactive).unwrap() {
            outcome.unwrap();
        }
        disk.acknowledge();
    }
    let images = disk.for_each_image(400, |image| {
        let storage = Arc::new(image.storage);
        let opened = Database::open(storage.clone(), Path::new(PATH), &options());
        if opened.is_err() {
            let made = Database::create(storage, Path::new(PATH), &options());
            made.expect("what was left of a creation is no hindrance");
        }
        let db = match opened {
            Ok(db) => db,
            Err(error) => {
                assert_eq!(image.acknowledged, 0, "{error}: {}", image.cut);
                return;
            }
        };
        let info = db.snapshot().info().unwrap();
        let found = usize::try_from(info.doc_count).unwrap();
        let commits = image.acknowledged.saturating_sub(1);
        assert_eq!(found % PER_COMMIT, 0, "half a commit: {}", image.cut);
        assert!(
            found >= commits * PER_COMMIT,
            "found {found} documents: {}",
            image.cut
        );
        assert!(
            found <= (commits + 1) * PER_COMMIT,
            "found {found} documents: {}",
            image.cut
        );
        // It goes on from there.
        let outcome = db
            .update_one(edit(r#"{"_id":"after"}"#), Mode::Interactive)
            .unwrap();
        outcome.unwrap();
        assert_eq!(db.snapshot().update_seq(), found as u64 + 1);
    });
    assert!(images > 1000, "only {images} images");
}

#[test]
fn a_partitioned_database_is_never_there_without_its_partitions() {
    let disk = Recorder::default();
    let storage = Arc::new(disk.clone());
    let new = NewDatabase {
        is_partitioned: true,
        ..NewDatabase::default()
    };
    let db = Database::create_with(storage, Path::new(PATH), &options(), new).unwrap();
    disk.acknowledge();
    let outcome = db.update_one(edit(r#"{"_id":"a:1"}"#), Mode::Interactive);
    outcome.unwrap().unwrap();
    disk.acknowledge();
    let images = disk.for_each_image(400, |image| {
        match Database::open(Arc::new(image.storage), Path::new(PATH), &options()) {
            Ok(db) => assert!(db.snapshot().is_partitioned(), "{}", image.cut),
            Err(error) => assert_eq!(image.acknowledged, 0, "{error}: {}", image.cut),
        }
    });
    assert!(images > 100, "only {images} images");
}
