//! Compactions that cannot come to their end leave the database as it was.

use super::*;
use std::io::ErrorKind;
use std::sync::Mutex;
use std::time::SystemTime;
use varve_base::storage::{Entry, EntryKind};
use varve_base::{OpenMode, StorageError, StorageFile};
use varve_docdb::DocdbError;

/// What the disk refuses at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refuses {
    Nothing,
    Renames,
    FolderSyncs,
    /// Opening the file under its new name.
    Openings,
    /// Long files.
    Appends,
    Syncs,
    /// Nothing, but renames take long, and [`Refuses::Writing`] says that one is under way.
    Haste,
    Writing,
}

/// Memory that refuses, and says how much room it has.
#[derive(Clone, Debug)]
struct Disk {
    memory: MemoryStorage,
    refuses: Arc<Mutex<Refuses>>,
    free: Option<u64>,
}

impl Disk {
    fn new(free: Option<u64>) -> Disk {
        Disk {
            memory: MemoryStorage::default(),
            refuses: Arc::new(Mutex::new(Refuses::Nothing)),
            free,
        }
    }

    fn refuse(&self, what: Refuses) {
        *self.refuses.lock().unwrap() = what;
    }

    fn check(&self, what: Refuses, op: &'static str, path: &Path) -> Result<(), StorageError> {
        if *self.refuses.lock().unwrap() != what {
            return Ok(());
        }
        Err(StorageError::Io {
            op,
            path: path.to_owned(),
            source: ErrorKind::StorageFull.into(),
        })
    }
}

#[derive(Debug)]
struct OnDisk {
    inner: Arc<dyn StorageFile>,
    disk: Disk,
}

impl StorageFile for OnDisk {
    fn path(&self) -> &Path {
        self.inner.path()
    }
    fn len(&self) -> Result<u64, StorageError> {
        self.inner.len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.inner.read_at(offset, buf)
    }
    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        if bytes.len() > 10_000 {
            self.disk
                .check(Refuses::Appends, "append to", self.path())?;
        }
        self.inner.append(bytes)
    }
    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.inner.truncate(len)
    }
    fn sync(&self) -> Result<(), StorageError> {
        self.disk.check(Refuses::Syncs, "sync", self.path())?;
        self.inner.sync()
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        if mode == OpenMode::Append {
            self.check(Refuses::Openings, "open", path)?;
        }
        let inner = self.memory.open(path, mode)?;
        let disk = self.clone();
        Ok(Arc::new(OnDisk { inner, disk }))
    }
    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.memory.kind(path)
    }
    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        self.memory.file_len(path)
    }
    fn modified(&self, folder: &Path) -> Result<Option<SystemTime>, StorageError> {
        self.memory.modified(folder)
    }
    fn list(&self, folder: &Path) -> Result<Vec<Entry>, StorageError> {
        self.memory.list(folder)
    }
    fn create_folder(&self, folder: &Path) -> Result<(), StorageError> {
        self.memory.create_folder(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.check(Refuses::Renames, "rename", from)?;
        if *self.refuses.lock().unwrap() == Refuses::Haste {
            self.refuse(Refuses::Writing);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        self.memory.rename(from, to)
    }
    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        self.memory.exchange(one, other)
    }
    fn remove_tree(&self, folder: &Path) -> Result<(), StorageError> {
        self.memory.remove_tree(folder)
    }
    fn sync_tree(&self, folder: &Path) -> Result<(), StorageError> {
        self.memory.sync_tree(folder)
    }
    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        self.memory.remove(path)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.memory.link(from, to)
    }
    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        self.memory.create_symlink(target, path)
    }
    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        self.memory.read_symlink(path)
    }
    fn sync_folder(&self, folder: &Path) -> Result<(), StorageError> {
        self.check(Refuses::FolderSyncs, "sync", folder)?;
        self.memory.sync_folder(folder)
    }
    fn free_bytes(&self, _folder: &Path) -> Result<Option<u64>, StorageError> {
        Ok(self.free)
    }
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
    let disk = Disk::new(Some(5000));
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
        let disk = Disk::new(Some(1 << 40));
        let db = filled(disk.clone());
        let before = answers(&db.snapshot());
        disk.refuse(what);
        assert!(matches!(
            refused(&db),
            DocdbError::Storage(_) | DocdbError::Tree(_)
        ));
        assert_eq!(answers(&db.snapshot()), before, "{what:?}");
        assert_eq!(names(&disk), [PATH], "{what:?}");
        disk.refuse(Refuses::Nothing);
        put_rev(&db, r#"{"_id":"more"}"#);
        compact(&db);
        assert_eq!(db.snapshot().update_seq(), 201, "{what:?}");
    }
}

#[test]
fn a_file_that_cannot_be_opened_again_is_used_as_it_is() {
    let disk = Disk::new(None);
    let db = filled(disk.clone());
    let before = answers(&db.snapshot());
    disk.refuse(Refuses::Openings);
    compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
    put_rev(&db, r#"{"_id":"more"}"#);
    let now = answers(&db.snapshot());
    disk.refuse(Refuses::Nothing);
    let again = Database::open(Arc::new(disk), Path::new(PATH), &options()).unwrap();
    assert_eq!(answers(&again.snapshot()), now);
}

#[test]
fn nothing_is_acknowledged_while_the_new_name_is_in_doubt() {
    let disk = Disk::new(None);
    let db = filled(disk.clone());
    let before = answers(&db.snapshot());
    let mut begun = db.begin_compaction().unwrap();
    begun.copy(&Silent, &Interrupt::default()).unwrap();
    disk.refuse(Refuses::FolderSyncs);
    begun.finish(&Interrupt::default()).unwrap_err();
    assert_eq!(answers(&db.snapshot()), before);
    let more = edit(r#"{"_id":"more"}"#);
    db.update_one(more.clone(), Mode::Interactive).unwrap_err();
    disk.refuse(Refuses::Nothing);
    db.update_one(more, Mode::Interactive).unwrap().unwrap();
    compact(&db);
    assert_eq!(db.snapshot().update_seq(), 201);
    assert_eq!(names(&disk), [PATH]);
}

#[test]
fn a_writer_that_waits_for_the_swap_writes_to_the_new_file() {
    let disk = Disk::new(None);
    let db = filled(disk.clone());
    disk.refuse(Refuses::Haste);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while *disk.refuses.lock().unwrap() != Refuses::Writing {
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
    for rest in ["db.varve.compact", "db.varve.compact.sort"] {
        storage.open(Path::new(rest), OpenMode::CreateNew).unwrap();
    }
    Database::open(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap();
    assert_eq!(names(&storage), [PATH]);
}

#[test]
fn a_damaged_body_is_named_and_ends_the_compaction() {
    let storage = MemoryStorage::default();
    let db = filled(storage.clone());
    let before = answers(&db.snapshot());
    let document = db.snapshot().document("123").unwrap().unwrap();
    let place = document.winner().unwrap().1.body;
    let file = storage.open(Path::new(PATH), OpenMode::Append).unwrap();
    let mut bytes = file.read_all().unwrap();
    bytes[place.offset as usize + 40] ^= 4;
    file.truncate(0).unwrap();
    file.append(&bytes).unwrap();
    let error = refused(&db).to_string();
    assert!(
        error.starts_with("cannot copy document \"123\": db.varve is damaged at byte"),
        "{error}"
    );
    assert_eq!(names(&storage), [PATH]);
    let readable = db.snapshot().document("122").unwrap().unwrap();
    let mut body = Vec::new();
    db.snapshot()
        .body(readable.winner().unwrap().1, &mut body)
        .unwrap();
    assert!(
        before
            .iter()
            .any(|line| line.contains(std::str::from_utf8(&body).unwrap()))
    );
}
