//! The calls of a store that the protocol needs: the same tests for directories, for S3 in memory and, if `VARVE_TEST_STORE` names
//! one, for a real server.

use crate::open;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use varve_base::{MemoryStorage, OpenMode, Storage, StorageError};
use varve_s3::{S3Address, S3Settings, S3Store};
use varve_shared::{
    CreateOutcome, DirectoryStore, LogId, LogOptions, ObjectStore, SharedStorage, SystemClock,
    probe,
};
use varve_testkit::s3::S3Server;

/// Runs a check with an empty store of each kind.
fn with_each_store(check: impl Fn(Arc<dyn ObjectStore>)) {
    let scratch = tempfile::tempdir().unwrap();
    check(Arc::new(DirectoryStore::new(scratch.path()).unwrap()));
    let server = S3Server::start();
    server.set_page_length(7);
    server.insert("a/storeroom/x", b"another store of the bucket");
    check(Arc::new(open(&server)));
    if let Ok(bucket) = std::env::var("VARVE_TEST_STORE") {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let address = format!("{bucket}/contract-{}", now.as_nanos());
        let address = S3Address::parse(&address).unwrap();
        let settings = S3Settings::from_environment().unwrap();
        check(Arc::new(S3Store::connect(address, &settings).unwrap()));
    }
}

#[test]
fn one_of_many_creators_wins_and_all_see_its_bytes() {
    with_each_store(|store| {
        probe(store.as_ref()).unwrap();
        for round in 0..20 {
            let key = format!("a/b+c_d.e/{round:02}");
            let won: Vec<u8> = thread::scope(|scope| {
                let (store, key) = (&store, &key);
                let create = |n: u8| scope.spawn(move || (n, store.create(key, &[n]).unwrap()));
                let all: Vec<_> = (0..4).map(create).collect();
                let all = all.into_iter().map(|one| one.join().unwrap());
                let won = all.filter(|(_, it)| *it == CreateOutcome::Created);
                won.map(|(n, _)| n).collect()
            });
            assert_eq!(won.len(), 1);
            assert_eq!(store.read(&key).unwrap(), Some(won));
        }
        let listed = store.list("a/b+c_d.e/").unwrap();
        let keys: Vec<_> = listed.iter().map(|it| it.key.clone()).collect();
        let expected: Vec<_> = (0..20)
            .map(|round| format!("a/b+c_d.e/{round:02}"))
            .collect();
        assert_eq!(keys, expected);
        assert!(
            listed
                .iter()
                .all(|it| it.len == 1 && it.modified > Duration::from_secs(1_700_000_000))
        );
        assert_eq!(
            store.list("").unwrap().len(),
            20,
            "no uploads, no probe, no other store"
        );
    });
}

#[test]
fn objects_that_are_absent_empty_and_long() {
    with_each_store(|store| {
        assert_eq!(store.read("y").unwrap(), None);
        assert_eq!(store.object_len("y").unwrap(), None);
        assert_eq!(store.list("nothing/").unwrap(), []);
        let long: Vec<u8> = (0..3_000_000_u32).map(|n| (n >> 3) as u8).collect();
        for (key, bytes) in [("x", &b""[..]), ("z", &long)] {
            assert_eq!(store.create(key, bytes).unwrap(), CreateOutcome::Created);
            assert_eq!(
                store.create(key, b"?").unwrap(),
                CreateOutcome::AlreadyThere
            );
            assert_eq!(store.object_len(key).unwrap(), Some(bytes.len() as u64));
            assert_eq!(store.read(key).unwrap().as_deref(), Some(bytes));
            store.remove(key).unwrap();
            store.remove(key).unwrap();
            assert_eq!(store.read(key).unwrap(), None);
        }
        assert_eq!(store.list("").unwrap(), []);
    });
}

fn append(storage: &dyn Storage, mode: OpenMode, bytes: &[u8]) -> Result<(), StorageError> {
    let file = storage.open("f".as_ref(), mode)?;
    file.append(bytes)?;
    file.sync()
}

/// The protocol itself: an owner writes, another takes over, and the first one is fenced.
#[test]
fn a_log_is_taken_over() {
    with_each_store(|store| {
        let open = || {
            let (id, local) = (LogId::new("l").unwrap(), Arc::new(MemoryStorage::default()));
            let clock = Arc::new(SystemClock::default());
            SharedStorage::open(Arc::clone(&store), clock, id, LogOptions::default(), local)
                .unwrap()
        };
        let own = || {
            let storage = open();
            storage.take_over().unwrap();
            storage
        };
        let first = own();
        append(&first, OpenMode::CreateNew, b"one").unwrap();
        let second = own();
        append(&first, OpenMode::Append, b"lost").unwrap_err();
        append(&second, OpenMode::Append, &[b'2'; 2_000_000]).unwrap();
        let file = open().open("f".as_ref(), OpenMode::Read).unwrap();
        let bytes = file.read_all().unwrap();
        assert!(bytes.starts_with(b"one22") && bytes.len() == 2_000_003);
    });
}
