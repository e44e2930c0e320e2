//! Import, restores, verification and garbage.

use crate::common::{Setup, contents, write};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_shared::{
    Catalog, Collected, CreateOutcome, LogId, LogOptions, ObjectInfo, ObjectStore, Peeked,
    RestorePoint, SharedError, StoreError, SystemClock, collect_garbage, import, list_logs, peek,
    probe, read_or_create, restore,
};

fn options() -> LogOptions {
    LogOptions {
        retention: Duration::from_hours(1),
        checkpoint_slots: 4,
        inline_bytes: 50,
        segment_bytes: 100,
        ..LogOptions::default()
    }
}

fn restored(setup: &Setup, point: RestorePoint) -> Result<(u64, MemoryStorage), SharedError> {
    let local = MemoryStorage::default();
    let id = LogId::new("db").unwrap();
    let to = (point, Arc::new(local.clone()) as Arc<dyn Storage>);
    restore(&setup.store, &id, &setup.options, to).map(|it| (it.slot, local))
}

fn collect(setup: &Setup) -> Collected {
    collect_garbage(
        &setup.store,
        None,
        &LogId::new("db").unwrap(),
        &setup.options,
    )
    .unwrap()
}

/// Makes all objects older than the retention time.
fn age(setup: &Setup) {
    for object in setup.objects("") {
        let file = std::fs::File::open(setup.path(&object.key)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_hours(2))
            .unwrap();
    }
}

/// Appends to a file, and notes its length after each record of the log.
fn grow(setup: &Setup, rounds: usize) -> Vec<(u64, u64)> {
    let owner = setup.open("db");
    owner.take_over().unwrap();
    let path = Path::new("x");
    let file = match owner.kind(path).unwrap() {
        Some(_) => owner.open(path, OpenMode::Append).unwrap(),
        None => owner.open(path, OpenMode::CreateNew).unwrap(),
    };
    let mut lengths = Vec::new();
    for round in 0..rounds {
        file.append(&vec![round as u8; 10 + round * 9]).unwrap();
        let before = owner.slot();
        file.sync().unwrap();
        lengths.push((before + 1, file.len().unwrap()));
    }
    lengths
}

#[test]
fn every_slot_can_be_restored() {
    let setup = Setup::new(options());
    let lengths = grow(&setup, 14);
    for (slot, len) in &lengths {
        let (at, local) = restored(&setup, RestorePoint::Slot(*slot)).unwrap();
        assert_eq!((at, contents(&local, "x").len() as u64), (*slot, *len));
    }
    let (last, local) = restored(&setup, RestorePoint::End).unwrap();
    assert_eq!(contents(&local, "x"), contents(&setup.open("db"), "x"));
    assert_eq!(last, setup.open("db").slot());
    let id = LogId::new("other").unwrap();
    let to = (
        RestorePoint::End,
        Arc::new(MemoryStorage::default()) as Arc<dyn Storage>,
    );
    let error = restore(&setup.store, &id, &setup.options, to).unwrap_err();
    assert!(error.is_not_found());
}

#[test]
fn a_time_can_be_restored() {
    let setup = Setup::new(options());
    let first = grow(&setup, 6).pop().unwrap();
    thread::sleep(Duration::from_millis(20));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    thread::sleep(Duration::from_millis(20));
    grow(&setup, 6);
    let (_, local) = restored(&setup, RestorePoint::Time(now)).unwrap();
    assert_eq!(contents(&local, "x").len() as u64, first.1);
}

#[test]
fn garbage_goes_and_the_retention_time_stays() {
    let setup = Setup::new(options());
    grow(&setup, 12);
    assert_eq!(collect(&setup), Collected::default(), "all is young");
    age(&setup);
    let second = grow(&setup, 12);
    let collected = collect(&setup);
    assert!(
        collected.records > 0 && collected.checkpoints > 0,
        "{collected:?}"
    );
    for (slot, len) in &second {
        let (_, local) = restored(&setup, RestorePoint::Slot(*slot)).unwrap();
        assert_eq!(contents(&local, "x").len() as u64, *len);
    }
    let too_old = restored(&setup, RestorePoint::Slot(1)).unwrap_err();
    assert!(matches!(too_old, SharedError::TooOld { .. }), "{too_old}");
    assert_eq!(setup.verify("db").findings, [] as [String; 0]);
    // What a process left that lost the log in the middle of a checkpoint.
    age(&setup);
    let owner = setup.open("db");
    owner.take_over().unwrap();
    owner.checkpoint().unwrap();
    let slot = owner.slot();
    let nonce = "00".repeat(16);
    let remains = [
        format!("db/checkpoint/{slot:020}-{nonce}"),
        format!("db/segment/{slot:020}-{nonce}-{nonce}"),
    ];
    for key in &remains {
        setup.store.create(key, b"remains").unwrap();
    }
    assert_eq!(contents(&setup.open("db"), "x"), contents(&owner, "x"));
    age(&setup);
    collect(&setup);
    for key in &remains {
        assert_eq!(setup.store.read(key).unwrap(), None, "{key}");
    }
    let checkpoints = setup.objects("db/checkpoint/");
    assert_eq!(checkpoints.len(), 1, "the newest is old enough");
    assert_eq!(setup.verify("db").findings, [] as [String; 0]);
    assert_eq!(contents(&setup.open("db"), "x"), contents(&owner, "x"));
}

#[test]
fn a_copy_finds_what_it_has_not_fetched_in_the_segments_of_newer_checkpoints() {
    let setup = Setup::new(LogOptions {
        segment_bytes: 10_000,
        ..options()
    });
    grow(&setup, 8);
    let copy = setup.open("db");
    let before = setup.objects("db/segment/");
    // Each checkpoint stores the file whole again, as it has become much longer.
    grow(&setup, 16);
    copy.ensure_current().unwrap();
    age(&setup);
    assert!(collect(&setup).segments > 0);
    let left = setup.objects("db/segment/");
    assert!(before.iter().any(|old| !left.contains(old)));
    assert_eq!(contents(&copy, "x"), contents(&setup.open("db"), "x"));
}

#[test]
fn imports_store_what_the_log_has_not() {
    let setup = Setup::new(options());
    let mut first: Vec<u8> = (0..1234_u32).map(|n| (n % 251) as u8).collect();
    let source = MemoryStorage::with_files([("a".into(), first.clone()), ("b".into(), Vec::new())]);
    let files: Vec<(PathBuf, PathBuf)> =
        vec![("a".into(), "d/one".into()), ("b".into(), "two".into())];
    let id = LogId::new("databases/x").unwrap();
    let bring = |source: &MemoryStorage| {
        let done = import(&setup.store, &id, &setup.options, (source, &files)).unwrap();
        (done.stored, done.kept, done.slot)
    };
    assert_eq!(bring(&source), (1234, 0, 2));
    let follower = setup.open("databases/x");
    assert_eq!(contents(&follower, "d/one"), first);
    assert_eq!(contents(&follower, "two"), b"");
    let file = source.open(Path::new("a"), OpenMode::Append).unwrap();
    file.append(&[9; 100]).unwrap();
    first.extend_from_slice(&[9; 100]);
    assert_eq!(bring(&source), (100, 1234, 5), "with a checkpoint");
    assert_eq!(bring(&source), (0, 1334, 5), "no records for nothing");
    // Another file of this name, as after a compaction, with the same beginning.
    first[1000] ^= 1;
    first.truncate(1100);
    let source =
        MemoryStorage::with_files([("a".into(), first.clone()), ("b".into(), b"b".to_vec())]);
    assert_eq!(bring(&source), (101, 1000, 7));
    follower.ensure_current().unwrap();
    assert_eq!(contents(&follower, "d/one"), first);
    assert_eq!(contents(&follower, "two"), b"b");
    follower.take_over().unwrap();
    write(&follower, "three", b"3").unwrap();
    let logs = list_logs(setup.store.as_ref()).unwrap();
    let names: Vec<_> = logs
        .iter()
        .map(|it| (it.log.as_str(), it.records))
        .collect();
    assert_eq!(
        names,
        [("databases/x", 10)],
        "the last commit made a checkpoint"
    );
    assert!(logs[0].bytes > 1234);
    assert_eq!(setup.verify("databases/x").findings, [] as [String; 0]);
}

#[test]
fn imports_pack_short_files_and_remove_those_that_are_gone() {
    let setup = Setup::new(LogOptions::default());
    let id = LogId::new("hg/x").unwrap();
    let files = |count: u32| {
        let named = |n: u32| {
            (
                PathBuf::from(n.to_string()),
                PathBuf::from(format!("d/{n}")),
            )
        };
        (0..count).map(named).collect::<Vec<_>>()
    };
    let bytes = |n: u32| vec![n as u8; if n.is_multiple_of(7) { 0 } else { n as usize }];
    let source = MemoryStorage::with_files((0..100).map(|n| (n.to_string().into(), bytes(n))));
    let bring = |count| {
        let files = files(count);
        let done = import(&setup.store, &id, &setup.options, (&source, &files)).unwrap();
        (done.stored, done.kept)
    };
    let total: u64 = (0..100_u64).filter(|n| !n.is_multiple_of(7)).sum();
    assert_eq!(bring(100), (total, 0));
    assert_eq!(setup.objects("hg/x/segment/").len(), 1);
    let follower = setup.open("hg/x");
    for n in 0..100 {
        assert_eq!(contents(&follower, &format!("d/{n}")), bytes(n));
    }
    let file = source.open(Path::new("50"), OpenMode::Append).unwrap();
    file.append(b"more").unwrap();
    assert_eq!(bring(99), (4, total - 99));
    follower.ensure_current().unwrap();
    assert_eq!(follower.kind(Path::new("d/99")).unwrap(), None);
    assert_eq!(
        contents(&follower, "d/50"),
        [&bytes(50)[..], b"more"].concat()
    );
    let peek = |path: &str, limit| {
        peek(&setup.store, &id, &setup.options, (Path::new(path), limit)).unwrap()
    };
    assert_eq!(peek("d/50", 54), Peeked::File(contents(&follower, "d/50")));
    let others = (peek("d/50", 53), peek("d/99", 99));
    assert_eq!(others, (Peeked::InRecords, Peeked::Absent));
    follower.take_over().unwrap();
    write(&follower, "d/new", b"short").unwrap();
    assert_eq!(peek("d/new", 99), Peeked::InRecords);
    assert_eq!(setup.verify("hg/x").findings, [] as [String; 0]);
}

#[test]
fn a_store_that_creates_twice_is_refused() {
    #[derive(Debug, Default)]
    struct Overwriting(Mutex<BTreeMap<String, Vec<u8>>>);
    impl ObjectStore for Overwriting {
        fn address(&self) -> String {
            "memory".to_owned()
        }
        fn create(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError> {
            self.0.lock().insert(key.to_owned(), bytes.to_vec());
            Ok(CreateOutcome::Created)
        }
        fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
            Ok(self.0.lock().get(key).cloned())
        }
        fn object_len(&self, _: &str) -> Result<Option<u64>, StoreError> {
            Ok(None)
        }
        fn list(&self, _: &str) -> Result<Vec<ObjectInfo>, StoreError> {
            Ok(Vec::new())
        }
        fn remove(&self, key: &str) -> Result<(), StoreError> {
            self.0.lock().remove(key);
            Ok(())
        }
    }
    let refused = probe(&Overwriting::default()).unwrap_err();
    assert!(
        matches!(refused, SharedError::NoExclusiveCreate { .. }),
        "{refused}"
    );
    let setup = Setup::new(options());
    probe(setup.store.as_ref()).unwrap();
    assert_eq!(setup.objects(""), []);
}

#[test]
fn the_catalog_lists_logs_and_a_late_removal_concerns_no_later_entry() {
    let setup = Setup::new(options());
    let clock = Arc::new(SystemClock::default());
    let catalog = Catalog::new(Arc::clone(&setup.store), Arc::clone(&clock) as _);
    let (one, other) = (LogId::new("a/b").unwrap(), LogId::new("a").unwrap());
    assert!(catalog.logs("").unwrap().is_empty());
    let first = catalog.add(&one).unwrap();
    let above = catalog.add(&other).unwrap();
    assert_eq!(catalog.entries(&one).unwrap(), std::slice::from_ref(&first));
    assert_eq!(catalog.entries(&other).unwrap(), [above]);
    let listed = |directory: &str| {
        let logs = catalog.logs(directory).unwrap().into_iter();
        logs.collect::<Vec<_>>()
    };
    assert_eq!(listed(""), ["a", "a/b"]);
    assert_eq!(
        (listed("a/"), listed("b/").len()),
        (vec!["a".to_owned(), "a/b".to_owned()], 0)
    );
    catalog.remove(std::slice::from_ref(&first)).unwrap();
    let second = catalog.add(&one).unwrap();
    catalog.remove(&[first]).unwrap();
    assert_eq!(catalog.entries(&one).unwrap(), [second]);
    assert_eq!(
        list_logs(setup.store.as_ref()).unwrap(),
        [],
        "entries are no logs"
    );
    for bytes in [b"first", b"other"] {
        let read = read_or_create(setup.store.as_ref(), clock.as_ref(), "k", bytes);
        assert_eq!(read.unwrap(), b"first");
    }
}
