//! Compactions that cannot come to their end leave the database as it was.

use super::*;
use std::io::ErrorKind;
use std::sync::Mutex;
use varve_base::OpenMode;
use varve_docdb::DocdbError;
use varve_testkit::watched::{Call, Watched, Watcher};

/// Calls that the disk refuses at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refuses {
    Nothing,
    Renames,
    DirectorySyncs,
    /// Opening the file under its new name.
    Openings,
    /// Long files.
    Appends,
    Syncs,
    /// Nothing, but renames take long, and [`Refuses::Writing`] says that one is under way.
    Haste,
    Writing,
}

/// A disk that refuses, and says how much room it has.
#[derive(Debug)]
struct Moods {
    refuses: Mutex<Refuses>,
    free: Option<u64>,
}

impl Moods {
    fn refuse(&self, what: Refuses) {
        *self.refuses.lock().unwrap() = what;
    }

    fn now(&self) -> Refuses {
        *self.refuses.lock().unwrap()
    }
}

impl Watcher for Moods {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        let what = match call {
            Call::Open(OpenMode::Append) => Refuses::Openings,
            Call::Append(len) if len > 10_000 => Refuses::Appends,
            Call::Sync => Refuses::Syncs,
            Call::SyncDirectory => Refuses::DirectorySyncs,
            Call::Rename => Refuses::Renames,
            _ => return Ok(()),
        };
        if what == Refuses::Renames && self.now() == Refuses::Haste {
            self.refuse(Refuses::Writing);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        match self.now() == what {
            true => Err(ErrorKind::StorageFull),
            false => Ok(()),
        }
    }

    fn free_bytes(&self) -> Option<u64> {
        self.free
    }
}

/// A compaction in place works on a full disk.
#[test]
fn a_large_database_needs_no_room_for_a_copy() {
    let full = disk(Some(0));
    let options = varve_docdb::DatabaseOptions {
        in_place: varve_docdb::InPlace {
            from: 1,
            region: 4096,
        },
        ..options()
    };
    let db = Database::create(Arc::new(full), Path::new(PATH), &options).unwrap();
    let text = |number: u32| in_place::document("cold", number);
    let edits = (0..300).map(|number| edit(&text(number))).collect();
    db.update(edits, Mode::Interactive).unwrap();
    in_place::hot(&db, "hot", 60);
    let before = answers(&db.snapshot());
    db.check_room().unwrap();
    let done = compact(&db);
    assert!(done.after < done.before, "{done:?}");
    assert_eq!(answers(&db.snapshot()), before);
    db.set_compression(Some(EngineSetting::NONE)).unwrap();
    let error = db.check_room().unwrap_err();
    assert!(
        matches!(error, DocdbError::NoRoom { free: 0, .. }),
        "a copy"
    );
}

type Disk = Watched<MemoryStorage, Moods>;

fn disk(free: Option<u64>) -> Disk {
    let moods = Moods {
        refuses: Mutex::new(Refuses::Nothing),
        free,
    };
    Watched::new(MemoryStorage::default(), moods)
}

fn filled(storage: impl Storage + 'static) -> Database {
    let db = create(storage);
    let text = varve_testkit::repos::noise(300, 9);
    let text = text
        .escape_ascii()
        .to_string()
        .replace('\\', "/")
        .replace('"', "'");
    for number in 0..200 {
        put(&db, &format!(r#"{{"_id":"{number:03}","text":"{text}"}}"#)).unwrap();
    }
    db
}

fn refused(db: &Database) -> DocdbError {
    db.compact(&Silent, &Interrupt::default()).unwrap_err()
}

#[test]
fn a_disk_without_room_is_told_of_before_anything_is_done() {
    let disk = disk(Some(5000));
    let db = filled(disk.clone());
    let before = answers(&db.snapshot());
    let error = refused(&db);
    assert!(matches!(error, DocdbError::NoRoom { free: 5000, .. }));
    let words = error.to_string();
    assert!(
        words.starts_with("compacting db.varve needs about "),
        "{words}"
    );
    assert!(
        words.ends_with(" bytes, but its disk has only 5000 free"),
        "{words}"
    );
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(names(&disk), [PATH]);
}

#[test]
fn what_the_disk_refuses_leaves_the_old_file() {
    for what in [Refuses::Renames, Refuses::Appends, Refuses::Syncs] {
        let disk = disk(Some(1 << 40));
        let db = filled(disk.clone());
        let before = answers(&db.snapshot());
        disk.watcher().refuse(what);
        assert!(matches!(
            refused(&db),
            DocdbError::Storage(_) | DocdbError::Tree(_)
        ));
        assert_eq!(answers(&db.snapshot()), before, "{what:?}");
        assert_eq!(names(&disk), [PATH], "{what:?}");
        disk.watcher().refuse(Refuses::Nothing);
        put_rev(&db, r#"{"_id":"more"}"#);
        compact(&db);
        assert_eq!(db.snapshot().update_seq(), 201, "{what:?}");
    }
}

#[test]
fn a_file_that_cannot_be_opened_again_is_used_as_it_is() {
    let disk = disk(None);
    let db = filled(disk.clone());
    let before = answers(&db.snapshot());
    disk.watcher().refuse(Refuses::Openings);
    compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
    put_rev(&db, r#"{"_id":"more"}"#);
    let now = answers(&db.snapshot());
    disk.watcher().refuse(Refuses::Nothing);
    let again = Database::open(Arc::new(disk), Path::new(PATH), &options()).unwrap();
    assert_eq!(answers(&again.snapshot()), now);
}

#[test]
fn nothing_is_acknowledged_while_the_new_name_is_in_doubt() {
    let disk = disk(None);
    let db = filled(disk.clone());
    let before = answers(&db.snapshot());
    let mut begun = db.begin_compaction().unwrap();
    begun.copy(&Silent, &Interrupt::default()).unwrap();
    disk.watcher().refuse(Refuses::DirectorySyncs);
    begun.finish(&Interrupt::default()).unwrap_err();
    assert_eq!(answers(&db.snapshot()), before);
    let more = edit(r#"{"_id":"more"}"#);
    db.update_one(more.clone(), Mode::Interactive).unwrap_err();
    disk.watcher().refuse(Refuses::Nothing);
    db.update_one(more, Mode::Interactive).unwrap().unwrap();
    compact(&db);
    assert_eq!(db.snapshot().update_seq(), 201);
    assert_eq!(names(&disk), [PATH]);
}

#[test]
fn a_writer_that_waits_for_the_swap_writes_to_the_new_file() {
    let disk = disk(None);
    let db = filled(disk.clone());
    disk.watcher().refuse(Refuses::Haste);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while disk.watcher().now() != Refuses::Writing {
                std::thread::yield_now();
            }
            put_rev(&db, r#"{"_id":"waited"}"#);
        });
        compact(&db);
    });
    assert_eq!(db.snapshot().update_seq(), 201);
    let now = answers(&db.snapshot());
    drop(db);
    let again = Database::open(Arc::new(disk), Path::new(PATH), &options()).unwrap();
    assert_eq!(answers(&again.snapshot()), now);
}

#[test]
fn an_interrupted_compaction_leaves_nothing() {
    let storage = MemoryStorage::default();
    let db = filled(storage.clone());
    let stop = Interrupt::default();
    stop.raise();
    let error = db.compact(&Silent, &stop).unwrap_err();
    assert!(matches!(error, DocdbError::Interrupted), "{error}");
    assert_eq!(names(&storage), [PATH]);
    let mut begun = db.begin_compaction().unwrap();
    begun.copy(&Silent, &Interrupt::default()).unwrap();
    assert_eq!(names(&storage), [PATH, "db.varve.compact"]);
    put_rev(&db, r#"{"_id":"more"}"#);
    begun.finish(&stop).unwrap_err();
    assert_eq!(names(&storage), [PATH]);
    compact(&db);
    assert_eq!(db.snapshot().update_seq(), 201);
}

#[test]
fn rests_of_a_compaction_go_at_the_next_opening() {
    let storage = MemoryStorage::default();
    drop(create(storage.clone()));
    for rest in ["db.varve.compact", "db.varve.sort"] {
        storage.open(Path::new(rest), OpenMode::CreateNew).unwrap();
    }
    Database::open(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap();
    assert_eq!(names(&storage), [PATH]);
}
