//! `varve shared`, and databases over shared storage.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use varve_base::{DiskStorage, MemoryStorage, Storage};
use varve_btree::NodeCache;
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Edit, Mode};
use varve_shared::{DirectoryStore, LogId, LogOptions, SharedStorage, SystemClock};

pub(crate) fn options() -> DatabaseOptions {
    DatabaseOptions::new(EngineSetting::NONE, NodeCache::new(1 << 20))
}

pub(crate) fn write(
    db: &Database,
    numbers: std::ops::Range<u32>,
) -> Result<(), varve_docdb::DocdbError> {
    for number in numbers {
        let text = format!(r#"{{"_id":"doc-{number}","text":"needle {number}"}}"#);
        let edit = Edit::parse(None, text.as_bytes()).unwrap();
        db.update_one(edit, Mode::Interactive)?.unwrap();
    }
    Ok(())
}

pub(crate) fn count(db: &Database) -> u64 {
    db.snapshot().info().unwrap().doc_count
}

fn varve(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_varve");
    Command::new(program).args(arguments).output().unwrap()
}

/// Runs `varve shared` and returns what it said, and its exit code.
fn shared(arguments: &[&str]) -> (String, Option<i32>) {
    let output = varve(&[&["shared"], arguments].concat());
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).unwrap(), output.status.code())
}

#[test]
fn copies_grow_and_every_state_comes_back() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (source, store) = (at("source"), format!("file://{}", at("store")));
    std::fs::create_dir_all(scratch.path().join("source/databases")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(&source));
    let path = Path::new("databases/a%2Fb.varve");
    let db = Database::create(storage, path, &options()).unwrap();
    write(&db, 0..5).unwrap();
    // The database stays open, as that of a server does.
    let (said, code) = shared(&["put", &store, &source, "a/b"]);
    assert!(
        said.ends_with("bytes stored, 0 were there, record 2\n"),
        "{said}"
    );
    assert_eq!(code, Some(0));
    write(&db, 5..12).unwrap();
    let (said, _) = shared(&["put", &store, &source, "a/b"]);
    assert!(
        said.ends_with("record 4\n") && !said.contains(" 0 were there"),
        "{said}"
    );
    let (said, code) = shared(&["list", &store]);
    assert!(
        said.starts_with("a/b: 4 records, ") && code == Some(0),
        "{said}"
    );
    write_hostile_logs(&scratch.path().join("store/databases"));
    let (listed, code) = shared(&["list", &store]);
    assert_eq!((listed, code), (said, Some(0)));
    let (said, code) = shared(&["verify", &store]);
    assert!(
        said.starts_with("a/b: checked 4 records, ") && code == Some(0),
        "{said}"
    );
    for (chosen, documents, record) in [(&[][..], 12, 4), (&["--at-slot", "2"], 5, 2)] {
        let target = at(&format!("target{record}"));
        let arguments = [chosen, &["restore", &store, "a/b", &target]].concat();
        assert_restored(&arguments, &target, documents, record);
    }
    let (said, _) = shared(&["gc", &store, "a/b", "--retention", "1"]);
    assert!(said.contains("removed 0 records"), "{said}");
    damage(Path::new(&at("store")));
    let (said, code) = shared(&["verify", &store, "a/b"]);
    assert!(said.contains("is damaged") && code == Some(1), "{said}");
}

/// Makes logs in directories that spell no name of a database, such as `..` and one that a terminal would obey.
fn write_hostile_logs(databases: &Path) {
    for name in [
        "db-.2e.2e",
        "db-.1b.5b31m",
        "db-.zz",
        "db-.",
        "other",
        "db-\u{e9}.\u{e9}",
    ] {
        let log = databases.join(name).join("log");
        std::fs::create_dir_all(&log).unwrap();
        std::fs::write(log.join(format!("{:020}", 1)), b"no record").unwrap();
    }
}

/// Restores into the empty `target`, and sees that a second time is refused.
fn assert_restored(arguments: &[&str], target: &str, documents: u64, record: u64) {
    let (said, code) = shared(arguments);
    let end = format!("bytes, as of record {record}\n");
    assert!(
        said.starts_with(&format!("a/b: {documents} documents, ")),
        "{said}"
    );
    assert!(said.ends_with(&end) && code == Some(0), "{said}");
    let storage = Arc::new(DiskStorage::new(target));
    let path = Path::new("databases/a%2Fb.varve");
    assert_eq!(
        count(&Database::open(storage, path, &options()).unwrap()),
        documents
    );
    let databases = std::fs::read_dir(Path::new(target).join("databases"));
    assert_eq!(databases.unwrap().count(), 1);
    let (said, code) = shared(arguments);
    assert!(
        said.contains("has a database \"a/b\" already") && code == Some(255),
        "{said}"
    );
}

/// Changes a byte of a segment.
fn damage(store: &Path) {
    let segments = store.join("databases/db-a.2fb/segment");
    let segment = std::fs::read_dir(segments)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[100] ^= 1;
    std::fs::write(segment, bytes).unwrap();
}

#[test]
fn what_is_not_there_or_not_built_is_refused_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().to_str().unwrap();
    let store = format!("file://{directory}");
    let refused = [
        (
            vec!["list", "gs://bucket/x"],
            "gs://bucket/x is no store that this version knows",
        ),
        (
            vec!["list", "file:///nowhere/at/all"],
            "there is no directory /nowhere/at/all",
        ),
        (vec!["put", &store, directory, "x"], "has no database \"x\""),
        (
            vec!["put", &store, directory, "x", "--at-slot", "1"],
            "--at-slot is for 'restore'",
        ),
        (vec!["verify", &store, "x"], "has no database \"x\""),
        (
            vec!["restore", &store, "x", directory],
            "there is no databases/db-x in",
        ),
        (
            vec!["gc", &store, "--retention", "many"],
            "--retention needs a whole number",
        ),
        (vec!["copy", &store], "invalid arguments"),
    ];
    for (arguments, words) in refused {
        let (said, code) = shared(&arguments);
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!(code, Some(255), "{arguments:?}");
    }
}

/// A database does not know that its files are a log: it is written, compacted and taken over.
#[test]
fn databases_move_between_owners() {
    let scratch = tempfile::tempdir().unwrap();
    let open = || {
        let store = Arc::new(DirectoryStore::new(scratch.path()).unwrap());
        let (clock, id) = (Arc::new(SystemClock::default()), LogId::new("db").unwrap());
        let options = LogOptions {
            checkpoint_slots: 20,
            inline_bytes: 2000,
            ..LogOptions::default()
        };
        let local = Arc::new(MemoryStorage::default());
        SharedStorage::open(store, clock, id, options, local).unwrap()
    };
    let (path, first) = (Path::new("d.varve"), open());
    first.take_over().unwrap();
    let db = Database::create(Arc::new(first.clone()), path, &options()).unwrap();
    write(&db, 0..60).unwrap();
    let follower = open();
    let read = Database::read_only(&follower, path, &options()).unwrap();
    assert_eq!(read.info().unwrap().doc_count, 60);
    let second = open();
    second.take_over().unwrap();
    let taken = Database::open(Arc::new(second.clone()), path, &options()).unwrap();
    assert_eq!(count(&taken), 60);
    write(&taken, 60..70).unwrap();
    assert!(write(&db, 70..71).is_err(), "the owner before is fenced");
    taken
        .compact(&varve_base::Silent, &varve_base::Interrupt::default())
        .unwrap();
    write(&taken, 71..80).unwrap();
    let third = open();
    third.take_over().unwrap();
    let taken = Database::open(Arc::new(third), path, &options()).unwrap();
    assert_eq!(count(&taken), 79);
    follower.ensure_current().unwrap();
    let read = Database::read_only(&follower, path, &options()).unwrap();
    assert_eq!(read.info().unwrap().doc_count, 79);
}
