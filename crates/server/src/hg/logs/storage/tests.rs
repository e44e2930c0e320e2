//! Transactions of repositories as records, and what readers see of them.

use super::*;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use varve_base::MemoryStorage;
use varve_shared::{DirectoryStore, LogId, LogOptions, SystemClock};

const CHANGELOG: &str = ".hg/store/00changelog.i";
const UNDO: &str = ".hg/store/undo";

struct TestLog(TempDir);

impl TestLog {
    fn new() -> TestLog {
        TestLog(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> RepositoryStorage {
        let log = SharedStorage::open(
            Arc::new(DirectoryStore::new(self.0.path()).unwrap()),
            Arc::new(SystemClock::default()),
            LogId::new("repositories/hg-r").unwrap(),
            LogOptions::default(),
            Arc::new(MemoryStorage::default()),
        );
        RepositoryStorage::new(log.unwrap())
    }

    /// The owner of a repository with one file.
    fn owner(&self) -> RepositoryStorage {
        let owner = self.open();
        owner.log.take_over().unwrap();
        owner.create_directory(Path::new(".hg/store")).unwrap();
        create(&owner, CHANGELOG, b"1");
        owner
    }
}

fn create(storage: &dyn Storage, path: &str, bytes: &[u8]) {
    let file = storage.open(Path::new(path), OpenMode::CreateNew).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn contents(storage: &dyn Storage, path: &str) -> Vec<u8> {
    let file = storage.open(Path::new(path), OpenMode::Read).unwrap();
    file.read_all().unwrap()
}

/// Takes the lock and writes a changeset that readers of the copy see.
fn write_changeset(owner: &RepositoryStorage) {
    owner.create_symlink("host:1", Path::new(LOCK)).unwrap();
    create(owner, JOURNAL, b"");
    let changelog = owner.open(Path::new(CHANGELOG), OpenMode::Append).unwrap();
    changelog.append(b"2").unwrap();
    changelog.sync().unwrap();
}

/// Ends the transaction, and gives the lock back.
fn finish(owner: &RepositoryStorage) -> Result<(), StorageError> {
    owner.rename(Path::new(JOURNAL), Path::new(UNDO)).unwrap();
    let committed = owner.sync_directory(Path::new(".hg/store"));
    owner.remove(Path::new(LOCK)).unwrap();
    committed
}

/// Time in which work that does not wait as it should shows that.
const HASTE: Duration = Duration::from_millis(200);

/// Runs `waiting` on a thread and then `ending`, without which it must not end; returns the results of both.
fn in_order<W: Send, E>(waiting: impl FnOnce() -> W + Send, ending: impl FnOnce() -> E) -> (W, E) {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || sender.send(waiting()));
        assert!(receiver.recv_timeout(HASTE).is_err(), "it did not wait");
        let ended = ending();
        (receiver.recv().unwrap(), ended)
    })
}

#[test]
fn a_reader_waits_until_what_it_may_have_seen_is_in_the_log() {
    let test = TestLog::new();
    let (owner, follower) = (test.owner(), test.open());
    owner.settle().unwrap();
    write_changeset(&owner);
    follower.log.ensure_current().unwrap();
    assert_eq!(contents(&follower, CHANGELOG), b"1");
    let (seen, committed) = in_order(|| owner.settle(), || finish(&owner));
    assert!(seen.is_ok() && committed.is_ok());
    follower.log.ensure_current().unwrap();
    assert_eq!(contents(&follower, CHANGELOG), b"12");
}

#[test]
fn a_reader_of_what_the_log_refuses_gets_no_answer() {
    let test = TestLog::new();
    let owner = test.owner();
    let other = test.open();
    write_changeset(&owner);
    other.log.take_over().unwrap();
    let (seen, committed) = in_order(|| owner.settle(), || finish(&owner));
    assert!(committed.is_err() && seen.unwrap_err().must_reopen());
    assert!(owner.settle().unwrap_err().must_reopen());
    assert_eq!(contents(&other, CHANGELOG), b"1");
}

#[test]
fn locks_and_caches_are_in_the_copy_only() {
    let test = TestLog::new();
    let owner = test.owner();
    owner.create_directory(Path::new(".hg/cache")).unwrap();
    create(&owner, ".hg/cache/new", b"cached");
    let (new, cache) = (Path::new(".hg/cache/new"), Path::new(".hg/cache/tags"));
    owner.rename(new, cache).unwrap();
    write_changeset(&owner);
    finish(&owner).unwrap();
    owner
        .create_symlink("host:1", Path::new(".hg/wlock"))
        .unwrap();
    let follower = test.open();
    let entries = follower.list(Path::new(".hg")).unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry.name.clone()).collect();
    assert_eq!(names, ["store"]);
    assert_eq!(contents(&owner, ".hg/cache/tags"), b"cached");
    assert_eq!(contents(&follower, CHANGELOG), b"12");
    let out = Path::new(".hg/store/tags");
    assert!(
        owner.rename(cache, out).is_err(),
        "the log does not know it"
    );
}

#[test]
fn records_change_nothing_while_a_reader_holds_the_lock() {
    let test = TestLog::new();
    let (owner, follower) = (test.owner(), test.open());
    follower.create_symlink("host:2", Path::new(LOCK)).unwrap();
    write_changeset(&owner);
    finish(&owner).unwrap();
    let unlock = || {
        assert_eq!(contents(&follower, CHANGELOG), b"1");
        follower.remove(Path::new(LOCK)).unwrap();
    };
    let (followed, ()) = in_order(|| follower.log.ensure_current(), unlock);
    followed.unwrap();
    assert_eq!(contents(&follower, CHANGELOG), b"12");
}

#[test]
fn an_undone_transaction_leaves_the_next_one_whole() {
    let test = TestLog::new();
    let owner = test.owner();
    write_changeset(&owner);
    let changelog = owner.open(Path::new(CHANGELOG), OpenMode::Append).unwrap();
    changelog.truncate(1).unwrap();
    owner.remove(Path::new(JOURNAL)).unwrap();
    owner.remove(Path::new(LOCK)).unwrap();
    owner.settle().unwrap();
    let before = owner.log.slot();
    write_changeset(&owner);
    finish(&owner).unwrap();
    assert_eq!(owner.log.slot(), before + 1);
    assert_eq!(contents(&test.open(), CHANGELOG), b"12");
}
