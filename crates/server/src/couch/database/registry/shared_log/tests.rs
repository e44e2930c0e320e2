//! Two servers of one store, without HTTP.

use super::*;
use crate::couch::database::logs;
use crate::couch::database::logs::{FILE, log_of};
use crate::couch::database::store::DatabaseStore;
use crate::http::FailureKind;
use crate::runtime::LogOutput;
use crate::runtime::SharedLogs;
use crate::runtime::counting_store::CountingStore;
use crate::runtime::log::Log;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use varve_base::{DiskStorage, MemoryStorage, OpenMode, ReadMode, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{DatabaseOptions, Edit, Mode, NewDatabase, NodeCache};
use varve_shared::{
    Catalog, Collected, DirectoryStore, LogOptions, Member, Node, ObjectStore, RestorePoint,
    SharedStorage, SystemClock, import, restore,
};

/// The databases of one server, whose id is its name.
struct TestServer {
    databases: Databases,
    store: Arc<CountingStore>,
    view: Arc<ClusterView>,
}

impl TestServer {
    fn new(directory: &Path, name: &str) -> TestServer {
        TestServer::with_room_for(directory, name, 100)
    }

    /// One that keeps so many databases open.
    fn with_room_for(directory: &Path, name: &str, most_open: usize) -> TestServer {
        let store = Arc::new(CountingStore::in_directory(&directory.join("store")));
        let copies = directory.join(name).join("shared");
        let view = Arc::new(ClusterView::new(name.to_owned()));
        let shared = SharedLogs::new(
            logs::KIND,
            Arc::clone(&store) as _,
            Arc::clone(&view),
            copies,
        );
        let shared = shared.unwrap();
        let log = varve_config::Log::default();
        let databases = Databases::new(
            (
                Arc::new(DiskStorage::new(directory.join(name))),
                DatabaseStore::Shared(Arc::new(shared)),
            ),
            DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(1 << 20)),
            most_open,
            (
                Log::open(&log, Path::new(""), LogOutput::Stderr).unwrap(),
                Arc::default(),
            ),
        );
        TestServer {
            databases: databases.unwrap(),
            store,
            view,
        }
    }

    /// Shows it a store where only this server is alive, which writes all databases then.
    fn sees_alive(&self, name: &str) {
        let node = Node {
            id: name.to_owned(),
            address: format!("{name}:1"),
        };
        let has_joined = true;
        self.view.update(name, vec![Member { node, has_joined }]);
    }

    fn put(&self, id: &str) {
        let edit = Edit::parse(Some(id), b"{}").unwrap();
        let documents = &self.databases.get("d").unwrap().documents;
        documents
            .update_one(edit, Mode::Interactive)
            .unwrap()
            .unwrap();
    }

    /// True if a read of this freshness sees the document; and the number of requests to the store that it made.
    fn sees(&self, id: &str, freshness: Freshness) -> (bool, u64) {
        let before = self.store.requests();
        let database = self.databases.get_as("d", ReadMode::Blocking, freshness);
        let document = database.unwrap().documents.snapshot().document(id).unwrap();
        let after = self.store.requests();
        (document.is_some(), after - before)
    }
}

fn leader_and_standby(directory: &Path) -> (TestServer, TestServer) {
    let servers = ["leader", "standby"].map(|name| TestServer::new(directory, name));
    for server in &servers {
        server.sees_alive("leader");
    }
    let [leader, standby] = servers;
    leader
        .databases
        .create("d", NewDatabase::default())
        .unwrap();
    (leader, standby)
}

#[test]
fn only_current_reads_ask_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let (leader, standby) = leader_and_standby(directory.path());
    leader.put("a");
    assert!(standby.sees("a", Freshness::Current).0);
    leader.put("b");
    // One request for the new record, one for the end behind it.
    assert_eq!(standby.sees("b", Freshness::Current), (true, 2));
    assert_eq!(standby.sees("b", Freshness::Current), (true, 1));
    assert!(
        standby.databases.followed().is_empty(),
        "nothing reads old states"
    );
    // The first one has the log followed from then on.
    assert_eq!(standby.sees("b", Freshness::Stale), (true, 1));
    leader.put("c");
    for _ in 0..10 {
        assert_eq!(standby.sees("c", Freshness::Stale), (false, 0));
    }
    let fast = standby
        .databases
        .get_as("d", ReadMode::CachedOnly, Freshness::Stale);
    assert!(fast.is_ok());
    let slow = standby
        .databases
        .get_as("d", ReadMode::CachedOnly, Freshness::Current);
    assert!(slow.unwrap_err().is_would_block());
    let followed = standby.databases.followed();
    assert_eq!(followed.len(), 1);
    standby.databases.follow(&followed[0]);
    assert_eq!(standby.sees("c", Freshness::Stale), (true, 0));
    assert_eq!(leader.sees("c", Freshness::Stale), (true, 0));
    assert_eq!(leader.sees("c", Freshness::Current), (true, 1));
}

#[test]
fn feeds_are_woken_by_commits_of_the_leader_and_end_with_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let (leader, standby) = leader_and_standby(directory.path());
    let database = standby.databases.get("d").unwrap();
    let mut commits = database.commits();
    leader.put("a");
    let followed = standby.databases.followed();
    assert_eq!(followed.len(), 1, "a feed waits for it");
    standby.databases.follow(&followed[0]);
    assert!(commits.has_changed().unwrap());
    assert_eq!(*commits.borrow_and_update(), 1);
    leader.databases.delete("d").unwrap();
    leader
        .databases
        .create("d", NewDatabase::default())
        .unwrap();
    standby.databases.follow(&database);
    assert!(commits.has_changed().unwrap() && database.is_over());
    let anew = standby.databases.get("d").unwrap();
    assert_ne!(anew.incarnation, database.incarnation);
    leader.databases.delete("d").unwrap();
    let missing = standby.databases.get("d").unwrap_err();
    assert_eq!(missing.kind, FailureKind::NotFound);
}

#[test]
fn a_follower_that_is_to_write_writes_what_it_has_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (leader, standby) = leader_and_standby(directory.path());
    leader.put("a");
    let followed = standby.databases.get("d").unwrap();
    let refused = standby.databases.create("other", NewDatabase::default());
    assert_eq!(refused.unwrap_err().kind, FailureKind::NotOwner);
    standby.sees_alive("standby");
    standby.put("b");
    let database = standby.databases.get("d").unwrap();
    assert!(Arc::ptr_eq(&followed, &database), "its feeds go on");
    assert!(!database.documents.is_following() && standby.sees("a", Freshness::Current).0);
    let lost = leader.databases.get("d").unwrap_err();
    assert_eq!(lost.kind, FailureKind::NotOwner, "{lost}");
}

/// Both servers see which one is to write; no commit is refused, and feeds of both go on.
#[test]
fn a_database_that_is_handed_over_goes_on_at_both_servers() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = leader_and_standby(directory.path());
    let of = |server: &TestServer| server.databases.get("d").unwrap();
    one.put("a");
    let before = [of(&one), of(&other)];
    for server in [&one, &other] {
        server.sees_alive("standby");
    }
    assert_eq!(one.databases.misplaced().len(), 1);
    one.databases.hand_over(&before[0]);
    assert!(one.databases.misplaced().is_empty() && before[0].documents.is_following());
    assert_eq!(
        one.databases.cluster_figures().unwrap().written_databases,
        0
    );
    other.put("b");
    assert!(one.sees("b", Freshness::Current).0);
    let refused = one.databases.create("new", NewDatabase::default());
    assert_eq!(refused.unwrap_err().kind, FailureKind::NotOwner);
    let edit = Edit::parse(Some("c"), b"{}").unwrap();
    let refused = before[0].documents.update_one(edit, Mode::Interactive);
    let refused = Failure::from(refused.unwrap_err());
    assert_eq!(
        refused.kind,
        FailureKind::NotOwner,
        "it can be done elsewhere"
    );
    // And back, by what asks for it first.
    for server in [&one, &other] {
        server.sees_alive("leader");
    }
    assert!(other.sees("b", Freshness::Current).0);
    one.put("c");
    assert!(other.sees("c", Freshness::Current).0);
    for (server, before) in [&one, &other].into_iter().zip(&before) {
        assert!(Arc::ptr_eq(before, &of(server)) && !before.is_over());
    }
}

/// One server does not know yet that the other one is to write.
#[test]
fn a_server_that_is_overtaken_gives_up_one_database_and_follows_it() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = leader_and_standby(directory.path());
    one.databases
        .create("kept", NewDatabase::default())
        .unwrap();
    let before = one.databases.get("d").unwrap();
    other.sees_alive("standby");
    other.put("a");
    let edit = Edit::parse(Some("b"), b"{}").unwrap();
    let refused = before.documents.update_one(edit, Mode::Interactive);
    let refused = Failure::from(refused.unwrap_err());
    assert_eq!(
        refused.kind,
        FailureKind::NotOwner,
        "it is certainly not done"
    );
    one.sees_alive("standby");
    assert!(one.sees("a", Freshness::Current).0);
    assert!(!one.sees("b", Freshness::Current).0);
    assert!(!one.databases.get("d").unwrap().is_over());
    one.sees_alive("leader");
    let kept = &one.databases.get("kept").unwrap().documents;
    let edit = Edit::parse(Some("x"), b"{}").unwrap();
    kept.update_one(edit, Mode::Interactive).unwrap().unwrap();
}

/// A log of that name in the store, with more records than a checkpoint leaves needed, all older than restores reach back.
fn make_old_log(store: &Path, name: &str) {
    let objects: Arc<dyn ObjectStore> = Arc::new(DirectoryStore::new(store).unwrap());
    let clock: Arc<SystemClock> = Arc::default();
    let id = log_of(name).unwrap();
    let options = LogOptions {
        checkpoint_slots: 4,
        ..LogOptions::default()
    };
    let local = Arc::new(MemoryStorage::default());
    let catalog = Catalog::new(Arc::clone(&objects), Arc::clone(&clock) as _);
    catalog.add(&id).unwrap();
    let log = SharedStorage::open(objects, clock, id, options, local).unwrap();
    log.take_over().unwrap();
    let file = log.open(Path::new(FILE), OpenMode::CreateNew).unwrap();
    for _ in 0..10 {
        file.append(b"bytes").unwrap();
        file.sync().unwrap();
    }
    let keys = DirectoryStore::new(store).unwrap().list("").unwrap();
    for object in keys {
        let file = File::open(store.join(object.key)).unwrap();
        let old = SystemTime::now() - Duration::from_hours(8 * 24);
        file.set_modified(old).unwrap();
    }
}

#[test]
fn the_server_that_writes_a_database_removes_what_nothing_needs() {
    let directory = tempfile::tempdir().unwrap();
    let (leader, standby) = leader_and_standby(directory.path());
    make_old_log(&directory.path().join("store"), "old");
    assert_eq!(
        leader.databases.logs().unwrap().own_names().unwrap(),
        ["d", "old"]
    );
    assert_eq!(
        standby.databases.logs().unwrap().own_names().unwrap(),
        [""; 0]
    );
    let of_another = standby
        .databases
        .logs()
        .unwrap()
        .collect_garbage("old")
        .unwrap();
    assert_eq!(of_another, Collected::default());
    let collected = leader
        .databases
        .logs()
        .unwrap()
        .collect_garbage("old")
        .unwrap();
    assert!(
        collected.records > 4 && collected.bytes > 0,
        "{collected:?}"
    );
    let again = leader
        .databases
        .logs()
        .unwrap()
        .collect_garbage("old")
        .unwrap();
    assert_eq!(again, Collected::default());
    assert_eq!(
        leader
            .databases
            .logs()
            .unwrap()
            .collect_garbage("d")
            .unwrap(),
        again
    );
}

#[test]
fn index_files_of_a_closed_database_are_kept_for_what_has_come_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let (leader, _) = leader_and_standby(directory.path());
    let other = ("e", NewDatabase::default());
    leader.databases.create(other.0, other.1).unwrap();
    let follower = TestServer::with_room_for(directory.path(), "follower", 1);
    follower.sees_alive("leader");
    let indexes = directory.path().join("follower/indexes/d");
    let file = indexes.join(format!("{}.view", "0".repeat(32)));
    fs::create_dir_all(indexes).unwrap();
    // Opens it once more, as another one has taken its place.
    let reopen = || {
        follower.databases.get("e").unwrap();
        follower.databases.get("d").unwrap();
        assert!(follower.databases.if_open("e").is_none());
        file.exists()
    };
    File::create(&file).unwrap();
    assert!(!reopen(), "it is not known what was indexed");
    File::create(&file).unwrap();
    assert!(reopen());
    leader.put("a");
    let store: Arc<dyn ObjectStore> =
        Arc::new(DirectoryStore::new(directory.path().join("store")).unwrap());
    let (id, options) = (log_of("d").unwrap(), LogOptions::default());
    let earlier = Arc::new(MemoryStorage::default());
    let target = (RestorePoint::End, Arc::clone(&earlier) as _);
    restore(&store, &id, &options, target).unwrap();
    leader.put("b");
    assert!(reopen(), "it has gone on");
    let files = [(PathBuf::from(FILE), PathBuf::from(FILE))];
    import(&store, &id, &options, (earlier.as_ref(), &files)).unwrap();
    assert!(!reopen(), "an earlier state was put back");
    assert!(follower.sees("a", Freshness::Current).0 && !follower.sees("b", Freshness::Current).0);
}
