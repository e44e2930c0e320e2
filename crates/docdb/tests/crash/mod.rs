//! Every state a power cut could have left.

mod unwritten;

use crate::{PATH, create, edit, options};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex};
use varve_base::MemoryStorage;
use varve_docdb::{Database, Mode, NewDatabase};
use varve_testkit::watched::{Call, Watched, Watcher};
use varve_testkit::{CrashImage, Recorder};

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
        let db = match opened {
            Ok(db) => db,
            Err(error) => {
                assert!(error.is_not_found(), "{error}: {}", image.cut);
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

#[test]
fn a_name_is_durable_once_it_is_acknowledged_and_so_is_its_end() {
    let disk = Recorder::default();
    let create = |name: &str| Database::create(Arc::new(disk.clone()), Path::new(name), &options());
    let open = |image: &CrashImage, name| {
        Database::open(Arc::new(image.storage.clone()), Path::new(name), &options())
    };
    let (other, name) = ("other", "database");
    create(other).unwrap();
    disk.acknowledge();
    let db = create(name).unwrap();
    disk.acknowledge();
    let outcome = db.update_one(edit(r#"{"_id":"a"}"#), Mode::Interactive);
    outcome.unwrap().unwrap();
    disk.acknowledge();
    db.delete().unwrap();
    disk.acknowledge();
    let (mut unmade, mut removed) = (0, 0);
    let images = disk.for_each_image_of_names(|image| {
        let cut = &image.cut;
        if image.acknowledged >= 1 {
            open(&image, other).unwrap_or_else(|error| panic!("{error}: {cut}"));
        }
        match open(&image, name) {
            Ok(db) => {
                assert!(image.acknowledged < 4, "it came back: {cut}");
                let seq = db.snapshot().update_seq();
                assert!(image.acknowledged < 3 || seq == 1, "{seq}: {cut}");
            }
            // Never a file without its first commit.
            Err(error) => {
                assert!(error.is_not_found(), "{error}: {cut}");
                match image.acknowledged {
                    0 | 1 => unmade += 1,
                    // The removal was under way.
                    3 | 4 => removed += 1,
                    _ => panic!("{error}: {cut}"),
                }
                let storage = Arc::new(image.storage);
                let made = Database::create(storage, Path::new(name), &options());
                made.expect("what was left of a creation is no hindrance");
            }
        }
    });
    assert!(images > 30, "only {images} images");
    assert!(unmade > 2 && removed > 2, "{unmade}, {removed}");
}

#[test]
fn a_creation_waits_for_one_sync_and_so_does_a_removal() {
    let disk = Watched::new(MemoryStorage::default(), SyncCounts::default());
    let counts = || disk.watcher().take();
    let db = create(disk.clone());
    assert_eq!(counts(), (0, 1));
    db.delete().unwrap();
    assert_eq!(counts(), (0, 1));
    // The first commit and all before it, then the second one.
    let db = create(disk.clone());
    counts();
    for expected in [(2, 0), (1, 0)] {
        let outcome = db.update_one(edit("{}"), Mode::Interactive);
        outcome.unwrap().unwrap();
        assert_eq!(counts(), expected);
    }
}

/// Syncs of files and of directories.
#[derive(Debug, Default)]
struct SyncCounts(Mutex<(usize, usize)>);

impl SyncCounts {
    fn take(&self) -> (usize, usize) {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Watcher for SyncCounts {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        let mut counts = self.0.lock().unwrap();
        counts.0 += usize::from(call == Call::Sync);
        counts.1 += usize::from(call == Call::SyncDirectory);
        Ok(())
    }
}
