//! Answers that are lost, late, cut or wrong.

use crate::open;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_shared::{
    CreateOutcome, LogId, LogOptions, ObjectStore, SharedStorage, StoreError, SystemClock, verify,
};
use varve_testkit::s3::{Fault, S3Server};

const BUSY: Fault = Fault::Refuse(503, "SlowDown");

fn count(server: &S3Server, method: &str) -> usize {
    let requests = server.take_requests();
    requests.iter().filter(|it| it.starts_with(method)).count()
}

/// A creation that was repeated below the protocol would find itself, and be taken for that of another process.
#[test]
fn a_creation_is_sent_once() {
    for fault in [
        BUSY,
        Fault::Refuse(500, "InternalError"),
        Fault::Refuse(409, "ConditionalRequestConflict"),
        Fault::LoseRequest,
        Fault::LoseAnswer,
    ] {
        let server = S3Server::start();
        let store = open(&server);
        server.fail("PUT", [fault.clone()]);
        let failed = store.create("x", b"1").unwrap_err();
        assert_eq!(count(&server, "PUT"), 1, "{fault:?}: {failed}");
        let again = store.create("x", b"1").unwrap();
        assert_eq!(
            again == CreateOutcome::AlreadyThere,
            fault == Fault::LoseAnswer
        );
    }
}

#[test]
fn other_requests_are_repeated_but_not_for_ever() {
    let server = S3Server::start();
    let store = open(&server);
    store.create("x", b"1").unwrap();
    let passing = [BUSY, Fault::LoseRequest, Fault::LoseAnswer];
    for (method, request) in requests() {
        server.take_requests();
        server.fail(method, passing.clone());
        request(&store).unwrap();
        assert_eq!(count(&server, method), 4);
    }
    store.create("x", b"1").unwrap();
    for (method, request) in requests() {
        server.take_requests();
        server.fail(method, vec![BUSY; 4]);
        let failed = request(&store).unwrap_err().to_string();
        // The answer to HEAD has no body.
        assert!(failed.contains("the store answered 503"), "{failed}");
        assert_eq!(count(&server, method), 4);
        server.fail(method, [Fault::Refuse(403, "AccessDenied")]);
        let failed = request(&store).unwrap_err().to_string();
        assert!(failed.contains("403"), "{failed}");
        assert_eq!(count(&server, method), 1);
    }
}

type Call = fn(&dyn ObjectStore) -> Result<(), StoreError>;

/// Requests about the object `x`, each with its method.
fn requests() -> [(&'static str, Call); 4] {
    [
        ("GET", |store| {
            store.read("x").map(|it| assert_eq!(it.unwrap(), b"1"))
        }),
        ("HEAD", |store| {
            store.object_len("x").map(|it| assert_eq!(it, Some(1)))
        }),
        ("GET", |store| {
            store.list("").map(|it| assert_eq!(it.len(), 1))
        }),
        ("DELETE", |store| store.remove("x")),
    ]
}

/// An object is whole or an error, never its beginning.
#[test]
fn answers_that_are_cut_are_repeated() {
    let server = S3Server::start();
    let store = open(&server);
    store.create("x", b"0123456789").unwrap();
    server.fail("GET", [Fault::Cut(4), Fault::Cut(0)]);
    assert_eq!(store.read("x").unwrap().unwrap(), b"0123456789");
    server.fail("GET", [const { Fault::Cut(9) }; 4]);
    store.read("x").unwrap_err();
}

/// A bucket that was removed has no absent objects: the next slot of a log would look free.
#[test]
fn objects_of_a_bucket_that_is_gone_are_not_absent() {
    let server = S3Server::start();
    let store = open(&server);
    let gone = || Fault::Refuse(404, "NoSuchBucket");
    server.fail("GET", [gone(), gone()]);
    server.fail("PUT", [gone()]);
    store.read("x").unwrap_err();
    store.list("").unwrap_err();
    store.create("x", b"").unwrap_err();
    server.fail("GET", [Fault::Refuse(404, "NoSuchKey")]);
    assert_eq!(store.read("x").unwrap(), None);
}

#[test]
fn objects_longer_than_the_limit_are_neither_made_nor_read() {
    let server = S3Server::start();
    let store = open(&server);
    server.take_requests();
    store.create("x", &vec![0; (64 << 20) + 1]).unwrap_err();
    assert_eq!(server.take_requests(), [""; 0]);
    server.insert("a/store/x", &vec![0; 66 << 20]);
    let refused = store.read("x").unwrap_err().to_string();
    assert!(refused.contains("is longer than 67108864"), "{refused}");
    assert_eq!(count(&server, "GET"), 1, "a repetition would be as long");
}

/// Commits of which the store loses, refuses or does not acknowledge some are all there, once.
#[test]
fn a_log_has_each_commit_once_whatever_happens_to_its_answers() {
    let server = S3Server::start();
    let store: Arc<dyn ObjectStore> = Arc::new(open(&server));
    let id = LogId::new("l").unwrap();
    let open = || {
        let (clock, local) = (
            Arc::new(SystemClock::default()),
            Arc::new(MemoryStorage::default()),
        );
        SharedStorage::open(
            Arc::clone(&store),
            clock,
            id.clone(),
            LogOptions::default(),
            local,
        )
        .unwrap()
    };
    let owner = open();
    owner.take_over().unwrap();
    let file = owner.open("f".as_ref(), OpenMode::CreateNew).unwrap();
    let faults = [
        BUSY,
        Fault::LoseAnswer,
        Fault::LoseRequest,
        Fault::Refuse(409, "ConditionalRequestConflict"),
    ];
    let mut expected = Vec::new();
    for (at, fault) in faults.into_iter().enumerate() {
        let line = [b'0' + at as u8; 10];
        server.fail("PUT", [fault.clone(), fault]);
        file.append(&line).unwrap();
        file.sync().unwrap();
        expected.extend(line);
    }
    assert_eq!(
        open()
            .open("f".as_ref(), OpenMode::Read)
            .unwrap()
            .read_all()
            .unwrap(),
        expected
    );
    assert!(
        verify(&store, &id, &LogOptions::default())
            .unwrap()
            .findings
            .is_empty()
    );
}
