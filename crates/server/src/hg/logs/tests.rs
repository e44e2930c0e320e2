//! The repositories of one server, without HTTP.

use super::*;
use crate::runtime::counting_store::CountingStore;
use crate::runtime::log::Log;
use crate::runtime::{Executor, Limits, LogOutput};
use std::fs;
use tempfile::TempDir;
use varve_base::{MemoryStorage, OpenMode};
use varve_shared::{
    Catalog, DirectoryStore, LogId, LogOptions, Member, Node, ObjectStore, SystemClock,
};

const NAME: &str = "hg/team/r";

/// A server, which is the only one alive, and its store with one repository.
struct TestServer {
    directory: TempDir,
    store: Arc<CountingStore>,
    logs: Arc<RepositoryLogs>,
}

impl TestServer {
    fn new() -> TestServer {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(CountingStore::in_directory(&directory.path().join("store")));
        let served = directory.path().join("served");
        fs::create_dir(&served).unwrap();
        let settings = "[admins]\na = b\n[chttpd_auth]\niterations = 2\n";
        fs::write(served.join("varve.ini"), settings).unwrap();
        let served = ServedDirectory::open_shared(&served, Arc::clone(&store) as _).unwrap();
        let view = Arc::clone(&served.shared.as_ref().unwrap().view);
        let (id, address) = (view.own().to_owned(), "a:1".to_owned());
        let node = Node {
            id: id.clone(),
            address,
        };
        let has_joined = true;
        view.update(&id, vec![Member { node, has_joined }]);
        let log = Log::open(
            &varve_config::Log::default(),
            Path::new(""),
            LogOutput::Stderr,
        );
        let limits = Limits::new(varve_config::Limits::default(), 1);
        let context = ServerContext::new(Executor::new().unwrap(), log.unwrap(), limits);
        let logs = RepositoryLogs::of_directory(&served, Arc::new(context), "title").unwrap();
        let server = TestServer {
            directory,
            store,
            logs: Arc::new(logs.unwrap()),
        };
        server.make_repository();
        server
    }

    /// Takes the log over, as another process does.
    fn other(&self) -> SharedStorage {
        let store = DirectoryStore::new(self.directory.path().join("store")).unwrap();
        let other = SharedStorage::open(
            Arc::new(store),
            Arc::new(SystemClock::default()),
            log_of_repository(NAME).unwrap(),
            LogOptions::default(),
            Arc::new(MemoryStorage::default()),
        );
        let other = other.unwrap();
        other.take_over().unwrap();
        other
    }

    fn make_repository(&self) {
        let other = self.other();
        other.create_directory(Path::new(".hg")).unwrap();
        write(&other, MARK);
        let store = DirectoryStore::new(self.directory.path().join("store")).unwrap();
        let store: Arc<dyn ObjectStore> = Arc::new(store);
        let catalog = Catalog::new(store, Arc::new(SystemClock::default()));
        catalog.add(&log_of_repository(NAME).unwrap()).unwrap();
        // Of another kind.
        catalog.add(&LogId::new("databases/db-x").unwrap()).unwrap();
    }
}

fn write(storage: &SharedStorage, path: &str) {
    let file = storage.open(Path::new(path), OpenMode::CreateNew).unwrap();
    file.append(b"new").unwrap();
    file.sync().unwrap();
}

#[test]
fn the_longest_prefix_comes_first() {
    let all: Vec<&str> = prefixes("hg/team/r/log").collect();
    assert_eq!(all, ["hg/team/r/log", "hg/team/r", "hg/team", "hg"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_listed_once_for_all_that_wait() {
    let server = TestServer::new();
    let before = server.store.requests();
    let since = Instant::now();
    let waiting = (0..20).map(|_| {
        let logs = Arc::clone(&server.logs);
        tokio::spawn(async move { logs.list_names(since).await })
    });
    for listed in waiting.collect::<Vec<_>>() {
        let names = listed.await.unwrap().unwrap();
        assert_eq!(names.iter().collect::<Vec<_>>(), [NAME]);
    }
    assert_eq!(server.store.requests(), before + 1);
    let found = server.logs.find("hg/team/r/log").await.unwrap();
    assert_eq!(found.unwrap().name, NAME);
    let missing = server.logs.find("hg/team").await.unwrap();
    assert!(missing.is_none());
}

/// A repository may be closed while its log stays open, and another process may take that over meanwhile.
#[test]
fn a_repository_that_is_opened_again_is_as_new_as_its_log() {
    let server = TestServer::new();
    let open = server.logs.current(NAME).unwrap().unwrap();
    assert!(open.log.is_owner());
    drop(open);
    server.logs.open.close_idle(NAME);
    write(&server.other(), ".hg/bookmarks");
    let refused = server.logs.current(NAME).unwrap_err();
    assert!(matches!(refused, SharedError::Fenced { .. }), "{refused}");
    assert!(server.logs.open.peek(NAME).is_none());
}
