//! Databases of which a power cut takes the bytes before anything is written to them.

use crate::{PATH, edit, options};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, OpenMode, Silent, Storage};
use varve_docdb::verify::{Finding, Verified, Watch, verify};
use varve_docdb::{Database, Mode, NewDatabase, cut_off_tail, is_cut_short, salvage};
use varve_testkit::watched::{Call, Watched, Watcher};
use varve_testkit::{CrashImage, Recorder};

fn create(disk: &Recorder) -> Database {
    Database::create(Arc::new(disk.clone()), Path::new(PATH), &options()).unwrap()
}

fn open(storage: &MemoryStorage) -> Result<Database, varve_docdb::DocdbError> {
    Database::open(Arc::new(storage.clone()), Path::new(PATH), &options())
}

fn write(db: &Database, id: &str) {
    let outcome = db.update_one(edit(&format!(r#"{{"_id":"{id}"}}"#)), Mode::Interactive);
    outcome.unwrap().unwrap();
}

fn watched<T>(work: impl FnOnce(&mut Watch<'_>) -> T) -> T {
    work(&mut Watch {
        // A commit that was cut short looks like a damaged one.
        report: &mut |_: &Finding| (),
        progress: &Silent,
        stop: &Interrupt::default(),
    })
}

/// Checks that offline commands see the database that opening will find, and change nothing.
fn check_offline(image: &CrashImage, db_is_empty: bool) -> Verified {
    let (storage, path) = (&image.storage, Path::new(PATH));
    let bytes = |path: &Path| storage.open(path, OpenMode::Read).unwrap().read_all();
    let before = bytes(path).unwrap();
    let report = watched(|watch| verify(storage, path, &options(), watch)).unwrap();
    assert_eq!(report.documents == 0, db_is_empty, "{}", image.cut);
    let snapshot = Database::read_only(storage, path, &options()).unwrap();
    assert_eq!(snapshot.info().unwrap().doc_count == 0, db_is_empty);
    let copied = watched(|watch| {
        let paths = (path, Path::new("salvaged"));
        salvage(storage, paths, &options(), watch)
    });
    assert_eq!(copied.unwrap().documents == 0, db_is_empty);
    if report.is_unwritten {
        assert_eq!(report.findings, 0, "{}", image.cut);
        assert_eq!(cut_off_tail(storage, path, &options()).unwrap(), 0);
    }
    assert_eq!(bytes(path).unwrap(), before, "{}", image.cut);
    report
}

#[test]
fn every_cut_after_a_creation_leaves_the_database_and_no_cut_brings_one_back() {
    let disk = Recorder::default();
    let mut uuids = BTreeSet::new();
    // Acknowledged: 1 made, 2 removed, 3 made again, 4 written, 5 removed.
    let db = create(&disk);
    uuids.insert(db.snapshot().info().unwrap().uuid);
    disk.acknowledge();
    db.delete().unwrap();
    disk.acknowledge();
    let db = create(&disk);
    uuids.insert(db.snapshot().info().unwrap().uuid);
    disk.acknowledge();
    write(&db, "a");
    disk.acknowledge();
    db.delete().unwrap();
    disk.acknowledge();
    let (mut made_again, mut as_made) = (0, 0);
    let mut check = |image: CrashImage| {
        let is_there = image.storage.kind(Path::new(PATH)).unwrap().is_some();
        match (is_there, image.acknowledged) {
            (false, _) => return is_there,
            (true, 5) => panic!("it came back: {}", image.cut),
            (true, _) => {}
        }
        let offline = check_offline(&image, image.acknowledged < 4 && !has_document(&image));
        let db = open(&image.storage).unwrap_or_else(|error| panic!("{error}: {}", image.cut));
        assert_eq!(db.is_made_again(), offline.is_unwritten, "{}", image.cut);
        let info = db.snapshot().info().unwrap();
        assert!(
            image.acknowledged < 4 || info.doc_count == 1,
            "{}",
            image.cut
        );
        match db.is_made_again() {
            true => made_again += 1,
            false => {
                assert!(uuids.contains(&info.uuid), "{}", image.cut);
                as_made += 1;
            }
        }
        write(&db, "b");
        drop(db);
        let db = open(&image.storage).unwrap();
        assert_eq!(db.snapshot().info().unwrap().doc_count, info.doc_count + 1);
        is_there
    };
    let images = disk.for_each_image(400, |image| {
        let (acknowledged, cut) = (image.acknowledged, image.cut.clone());
        // The next call may be the removal itself.
        let is_there = check(image);
        assert!(is_there || acknowledged != 3, "it is gone: {cut}");
    });
    assert!(images > 500, "only {images} images");
    let of_names = disk.for_each_image_of_names(|image| {
        let (acknowledged, cut) = (image.acknowledged, image.cut.clone());
        let is_there = check(image);
        assert!(is_there || acknowledged != 3, "it is gone: {cut}");
    });
    assert!(of_names > 40, "only {of_names} images of names");
    assert!(made_again > 200 && as_made > 200, "{made_again}, {as_made}");
}

fn has_document(image: &CrashImage) -> bool {
    let snapshot = Database::read_only(&image.storage, Path::new(PATH), &options()).unwrap();
    snapshot.info().unwrap().doc_count > 0
}

#[test]
fn a_second_power_cut_takes_nothing_from_a_database_that_was_made_again() {
    for bytes in [&b""[..], b"var", &[0; 40], &[0; 200]] {
        let disk = Recorder::default();
        let file = disk.open(Path::new(PATH), OpenMode::CreateNew).unwrap();
        file.append(bytes).unwrap();
        file.sync().unwrap();
        disk.sync_directory(Path::new("")).unwrap();
        disk.acknowledge();
        let db = Database::open(Arc::new(disk.clone()), Path::new(PATH), &options()).unwrap();
        assert!(db.is_made_again());
        disk.acknowledge();
        write(&db, "a");
        disk.acknowledge();
        let images = disk.for_each_image(400, |image| {
            if image.acknowledged == 0 {
                return;
            }
            let db = open(&image.storage).unwrap_or_else(|error| panic!("{error}: {}", image.cut));
            let found = db.snapshot().info().unwrap().doc_count;
            assert!(image.acknowledged < 3 || found == 1, "{}", image.cut);
        });
        assert!(images > 300, "only {images} images");
    }
}

/// Fails to sync the directory and to remove the file, as if the process were killed before both.
#[derive(Debug)]
struct KilledBeforeTheSync;

impl Watcher for KilledBeforeTheSync {
    fn before(&self, call: Call, path: &Path) -> Result<(), ErrorKind> {
        match call {
            Call::SyncDirectory => Err(ErrorKind::Interrupted),
            Call::Remove if path == Path::new(PATH) => Err(ErrorKind::Interrupted),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_name_that_a_killed_process_left_unsynced_is_durable_before_a_document_is() {
    let disk = Recorder::default();
    let killed = Watched::new(disk.clone(), KilledBeforeTheSync);
    Database::create(Arc::new(killed), Path::new(PATH), &options()).unwrap_err();
    let db = Database::open(Arc::new(disk.clone()), Path::new(PATH), &options()).unwrap();
    assert!(!db.is_made_again(), "the system still had the bytes");
    write(&db, "a");
    disk.acknowledge();
    let images = disk.for_each_image_of_names(|image| {
        if image.acknowledged > 0 {
            let db = open(&image.storage).unwrap_or_else(|error| panic!("{error}: {}", image.cut));
            assert_eq!(db.snapshot().info().unwrap().doc_count, 1, "{}", image.cut);
        }
    });
    assert!(images > 5, "only {images} images");
}

#[test]
fn a_file_that_no_creation_leaves_is_damaged_and_stays_as_it_is() {
    let sample = |new: NewDatabase, documents: usize| {
        let disk = MemoryStorage::default();
        let storage = Arc::new(disk.clone());
        let db = Database::create_with(storage, Path::new(PATH), &options(), new).unwrap();
        (0..documents).for_each(|number| write(&db, &format!("p:{number}")));
        drop(db);
        let file = disk.open(Path::new(PATH), OpenMode::Read).unwrap();
        file.read_all().unwrap()
    };
    let partitioned = NewDatabase {
        is_partitioned: true,
        ..NewDatabase::default()
    };
    let zeros_behind = |mut bytes: Vec<u8>, from: usize| {
        bytes[from..].fill(0);
        bytes
    };
    let plain = NewDatabase::default();
    let cases = [
        (
            "all of a partitioned database",
            zeros_behind(sample(partitioned, 0), 0),
        ),
        (
            "the commit of a partitioned database",
            zeros_behind(sample(partitioned, 0), 40),
        ),
        (
            "all of a written database",
            zeros_behind(sample(plain, 1), 0),
        ),
        (
            "the commits of a written database",
            zeros_behind(sample(plain, 1), 40),
        ),
        ("a text", b"Dear reader".to_vec()),
    ];
    for (name, bytes) in cases {
        let storage = MemoryStorage::with_files([(PATH.into(), bytes.clone())]);
        assert!(
            !is_cut_short(&storage, Path::new(PATH), &options()).unwrap(),
            "{name}"
        );
        open(&storage).expect_err(name);
        Database::read_only(&storage, Path::new(PATH), &options()).expect_err(name);
        let file = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
        assert_eq!(file.read_all().unwrap(), bytes, "{name}");
    }
}
