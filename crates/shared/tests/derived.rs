//! Derived files: what one process has stored, others fetch whole or not at all.

use crate::common::{Setup, contents, write};
use parking_lot::Mutex;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use varve_base::{Interrupt, MemoryStorage, OpenMode, Silent, Storage};
use varve_shared::{
    DerivedFile, DerivedVersion, LogId, LogOptions, SharedError, StoredVersion, SystemClock,
    list_derived, list_logs,
};

const PART: usize = 4 << 20;

fn setup() -> Setup {
    Setup::new(LogOptions::default())
}

fn derived(setup: &Setup, name: &str) -> DerivedFile {
    let (id, clock) = (LogId::new("db").unwrap(), SystemClock::default());
    DerivedFile::new(Arc::clone(&setup.store), Arc::new(clock), &id, name).unwrap()
}

fn store(file: &DerivedFile, bytes: &[u8], rank: u64, label: &[u8]) -> StoredVersion {
    let local = MemoryStorage::default();
    write(&local, "f", bytes).unwrap();
    let source = local.open(Path::new("f"), OpenMode::Read).unwrap();
    let len = bytes.len() as u64;
    let quietly = (&Silent as _, &Interrupt::default());
    file.store((source.as_ref(), len), (rank, label), quietly)
        .unwrap()
}

fn fetch(file: &DerivedFile, version: &DerivedVersion) -> Result<Vec<u8>, SharedError> {
    let local = MemoryStorage::default();
    let target = local.open(Path::new("f"), OpenMode::CreateNew).unwrap();
    file.fetch(version, target.as_ref(), (&Silent, &Interrupt::default()))?;
    Ok(contents(&local, "f"))
}

/// Bytes of which no two parts are equal.
fn bytes(len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at / 1000) as u8 ^ (at >> 20) as u8)
        .collect()
}

/// Makes the objects of the store old enough that no process can be about to name them.
fn age(setup: &Setup, prefix: &str) {
    let before = SystemTime::now() - Duration::from_hours(2);
    for object in setup.objects(prefix) {
        let file = File::options()
            .append(true)
            .open(setup.path(&object.key))
            .unwrap();
        file.set_modified(before).unwrap();
    }
}

#[test]
fn a_file_that_has_grown_costs_its_new_parts() {
    let (setup, all) = (setup(), bytes(2 * PART + 100));
    let file = derived(&setup, "i");
    assert_eq!(file.versions().unwrap(), []);
    let short = &all[..PART + 50];
    let done = store(&file, short, 7, b"one");
    assert_eq!((done.stored, done.kept), (short.len() as u64, 0));
    let [version] = &file.versions().unwrap()[..] else {
        panic!("one version");
    };
    assert_eq!((version.rank(), version.label()), (7, &b"one"[..]));
    assert_eq!(fetch(&file, version).unwrap(), short);
    let done = store(&file, &all, 8, b"two");
    assert_eq!((done.stored, done.kept), (PART as u64 + 100, PART as u64));
    let [version] = &file.versions().unwrap()[..] else {
        panic!("the version before is gone");
    };
    assert_eq!((version.rank(), version.label()), (8, &b"two"[..]));
    assert_eq!(version.bytes(), all.len() as u64);
    assert_eq!(fetch(&file, version).unwrap(), all);
}

#[test]
fn a_version_of_which_something_is_missing_or_changed_is_not_fetched() {
    let (setup, all) = (setup(), bytes(2 * PART));
    let file = derived(&setup, "i");
    store(&file, &all, 1, b"");
    let version = file.versions().unwrap().remove(0);
    let parts = setup.objects("derived/db/i/part/");
    let path = setup.path(&parts[1].key);
    let mut part = fs::read(&path).unwrap();
    part[5] ^= 1;
    fs::write(&path, &part).unwrap();
    let error = fetch(&file, &version).unwrap_err();
    assert!(matches!(error, SharedError::Damaged { .. }), "{error}");
    fs::remove_file(&path).unwrap();
    let error = fetch(&file, &version).unwrap_err();
    assert!(matches!(error, SharedError::Missing { .. }), "{error}");
    assert_eq!(file.versions().unwrap(), []);
    // The next version brings what is missing.
    let done = store(&file, &all, 1, b"");
    assert_eq!((done.stored, done.kept), (PART as u64, PART as u64));
    let version = file.versions().unwrap().remove(0);
    assert_eq!(fetch(&file, &version).unwrap(), all);
    let [key] = &setup.objects("derived/db/i/version/")[..] else {
        panic!("one version");
    };
    fs::write(setup.path(&key.key), b"no version").unwrap();
    let error = file.versions().unwrap_err();
    assert!(matches!(error, SharedError::Damaged { .. }), "{error}");
}

#[test]
fn garbage_goes_once_it_is_old() {
    let (setup, all) = (setup(), bytes(3 * PART));
    let file = derived(&setup, "i");
    let parts = || setup.objects("derived/db/i/part/").len();
    store(&file, &all[..2 * PART], 1, b"");
    store(&file, &all[2 * PART..], 2, b"");
    file.collect_garbage().unwrap();
    assert_eq!(parts(), 3, "another process may be about to name them");
    age(&setup, "derived/db/i/part/");
    file.collect_garbage().unwrap();
    assert_eq!(parts(), 1);
    let version = file.versions().unwrap().remove(0);
    assert_eq!(fetch(&file, &version).unwrap(), &all[2 * PART..]);
    age(&setup, "derived/db/i/part/");
    store(&file, &all[..PART], 3, b"");
    assert_eq!(parts(), 1, "storing looks after what was there before");
    fs::remove_file(setup.path(&setup.objects("derived/db/i/part/")[0].key)).unwrap();
    file.collect_garbage().unwrap();
    assert_eq!(setup.objects("derived/"), []);
}

#[test]
fn files_are_listed_by_log_and_removed_alone() {
    let setup = setup();
    for name in ["i", "ii"] {
        store(&derived(&setup, name), b"bytes", 1, b"");
    }
    let id = LogId::new("db").unwrap();
    for of in [None, Some(&id)] {
        let found = list_derived(setup.store.as_ref(), of).unwrap();
        let names: Vec<&String> = found.keys().collect();
        assert_eq!(names, ["db/i", "db/ii"]);
        assert!(found.values().all(|bytes| *bytes > 5));
    }
    assert_eq!(list_logs(setup.store.as_ref()).unwrap(), []);
    derived(&setup, "i").remove().unwrap();
    let found = list_derived(setup.store.as_ref(), Some(&id)).unwrap();
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["db/ii"]);
    let other = LogId::new("d").unwrap();
    assert!(
        list_derived(setup.store.as_ref(), Some(&other))
            .unwrap()
            .is_empty()
    );
    let bad = DerivedFile::new(
        Arc::clone(&setup.store),
        Arc::new(SystemClock::default()),
        &id,
        "../x",
    );
    assert!(matches!(bad, Err(SharedError::BadName(_))));
}

/// Raises a flag when the first object was created.
#[derive(Debug, Default)]
struct StopAtOnce(Mutex<Interrupt>);

impl varve_base::Progress for StopAtOnce {
    fn begin(&self, _step: &str, _unit: varve_base::Unit, _total: Option<u64>) {}

    fn advance(&self, _amount: u64) {
        self.0.lock().raise();
    }
}

#[test]
fn an_interrupted_call_leaves_the_version_before() {
    let (setup, all) = (setup(), bytes(3 * PART));
    let file = derived(&setup, "i");
    store(&file, &all[..PART], 1, b"first");
    let local = MemoryStorage::default();
    write(&local, "f", &all).unwrap();
    let source = local.open(Path::new("f"), OpenMode::Read).unwrap();
    let stop = StopAtOnce::default();
    let raised = stop.0.lock().clone();
    let outcome = file.store(
        (source.as_ref(), 3 * PART as u64),
        (2, b""),
        (&stop, &raised),
    );
    assert!(matches!(outcome, Err(SharedError::Interrupted(_))));
    let version = file.versions().unwrap().remove(0);
    assert_eq!(version.label(), b"first");
    assert_eq!(fetch(&file, &version).unwrap(), &all[..PART]);
    let target = local.open(Path::new("g"), OpenMode::CreateNew).unwrap();
    let outcome = file.fetch(&version, target.as_ref(), (&Silent, &raised));
    assert!(matches!(outcome, Err(SharedError::Interrupted(_))));
}
