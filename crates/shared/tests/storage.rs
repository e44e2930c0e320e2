//! One storage: the seam, roles, segments and checkpoints.

use crate::common::{self, Setup, contents, write};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use varve_base::{DiskStorage, MemoryStorage, OpenMode, Storage, StorageFile};
use varve_shared::{LogOptions, SharedError};

fn small() -> LogOptions {
    LogOptions {
        checkpoint_slots: 5,
        inline_bytes: 100,
        segment_bytes: 64,
        ..LogOptions::default()
    }
}

#[test]
fn followers_see_what_owners_sync_and_nothing_else() {
    let setup = Setup::new(LogOptions::default());
    let owner = setup.open("db");
    assert!(write(&owner, "x", b"refused").is_err(), "no owner yet");
    owner.take_over().unwrap();
    let follower = setup.open("db");
    let file = owner.open(Path::new("x"), OpenMode::CreateNew).unwrap();
    file.append(b"one ").unwrap();
    follower.ensure_current().unwrap();
    assert_eq!(follower.kind(Path::new("x")).unwrap(), None);
    file.append(b"two").unwrap();
    file.sync().unwrap();
    let slot = owner.slot();
    file.sync().unwrap();
    assert_eq!(owner.slot(), slot, "an empty sync is no record");
    follower.ensure_current().unwrap();
    assert_eq!(contents(&follower, "x"), b"one two");
    assert_eq!(follower.slot(), slot);
}

#[test]
fn a_transaction_is_in_one_record_however_often_it_is_synced() {
    let setup = Setup::new(LogOptions::default());
    let owner = setup.open("db");
    owner.take_over().unwrap();
    write(&owner, "x", b"before ").unwrap();
    let follower = setup.open("db");
    let before = owner.slot();
    owner.begin_transaction();
    let file = owner.open(Path::new("x"), OpenMode::Append).unwrap();
    // More than waits in memory, so that some of it is stored before the end.
    let long = vec![b'l'; 40 << 20];
    for part in long.chunks(10 << 20) {
        file.append(part).unwrap();
        file.sync().unwrap();
    }
    write(&owner, "y", b"new").unwrap();
    owner.rename(Path::new("y"), Path::new("z")).unwrap();
    owner.sync_directory(Path::new("")).unwrap();
    follower.ensure_current().unwrap();
    assert_eq!(owner.slot(), before, "nothing is in the log before the end");
    assert_eq!(contents(&follower, "x"), b"before ");
    owner.end_transaction();
    file.sync().unwrap();
    assert_eq!(owner.slot(), before + 1);
    follower.ensure_current().unwrap();
    assert_eq!(contents(&follower, "x"), [b"before ", &long[..]].concat());
    assert_eq!(contents(&follower, "z"), b"new");
}

#[test]
fn a_log_is_given_up_between_transactions() {
    let setup = Setup::new(small());
    let owner = setup.open("db");
    owner.take_over().unwrap();
    owner.begin_transaction();
    write(&owner, "x", b"1").unwrap();
    let (sender, receiver) = mpsc::channel();
    let releasing = std::thread::spawn({
        let owner = owner.clone();
        move || sender.send(owner.release()).unwrap()
    });
    // One that does not wait is done by then.
    let released = receiver.recv_timeout(Duration::from_millis(200));
    assert!(released.is_err(), "it did not wait");
    write(&owner, "y", b"2").unwrap();
    assert!(owner.is_owner());
    owner.end_transaction();
    releasing.join().unwrap();
    receiver.recv().unwrap().unwrap();
    assert!(!owner.is_owner() && owner.is_usable());
    let next = setup.open("db");
    assert_eq!(
        (contents(&next, "x"), contents(&next, "y")),
        (b"1".to_vec(), b"2".to_vec())
    );
}

#[test]
fn the_owner_before_is_fenced_at_its_next_commit_or_check() {
    let setup = Setup::new(LogOptions::default());
    let (one, other) = (setup.open("db"), setup.open("db"));
    one.take_over().unwrap();
    write(&one, "x", b"1").unwrap();
    let raced = other.take_over().unwrap_err();
    assert!(
        matches!(raced, SharedError::Fenced { .. }),
        "the first has taken over since"
    );
    other.take_over().unwrap();
    assert_eq!(contents(&other, "x"), b"1");
    let error = one.ensure_current().unwrap_err();
    assert!(matches!(error, SharedError::Fenced { .. }), "{error}");
    assert!(!one.is_owner() && other.is_owner());
    let error = one.ensure_current().unwrap_err();
    assert!(
        matches!(error, SharedError::Fenced { .. }),
        "what is refused from now on is certainly not done: {error}"
    );
    assert!(error.must_reopen());
    let third = setup.open("db");
    third.take_over().unwrap();
    let error = write(&other, "y", b"lost").unwrap_err();
    assert!(
        common::shared_error(&error).is_some_and(|it| matches!(it, SharedError::Fenced { .. }))
    );
    assert_eq!(third.kind(Path::new("y")).unwrap(), None);
}

#[test]
fn an_owner_that_releases_its_log_follows_the_next_one() {
    let setup = Setup::new(small());
    let (one, other) = (setup.open("db"), setup.open("db"));
    one.release().unwrap();
    one.take_over().unwrap();
    write(&one, "x", b"1").unwrap();
    other.ensure_current().unwrap();
    let file = one.open(Path::new("x"), OpenMode::Append).unwrap();
    file.append(b"2").unwrap();
    one.release().unwrap();
    assert!(!one.is_owner() && one.is_usable());
    let refused = file.append(b"3").unwrap_err();
    assert!(
        common::shared_error(&refused).is_some_and(|it| matches!(it, SharedError::NotOwner { .. }))
    );
    other.ensure_current().unwrap();
    assert_eq!(contents(&other, "x"), b"12", "it was not synced before");
    other.take_over().unwrap();
    let file = other.open(Path::new("x"), OpenMode::Append).unwrap();
    file.append(b"4").unwrap();
    file.sync().unwrap();
    other.rename(Path::new("x"), Path::new("y")).unwrap();
    write(&other, "x", b"5").unwrap();
    other.release().unwrap();
    one.ensure_current().unwrap();
    assert_eq!(contents(&one, "y"), b"124");
    one.take_over().unwrap();
    write(&one, "z", b"6").unwrap();
    other.ensure_current().unwrap();
    assert_eq!(contents(&other, "z"), b"6");
    assert_eq!(contents(&other, "x"), b"5");
}

#[test]
fn names_change_under_open_files() {
    let setup = Setup::new(small());
    let owner = setup.open("db");
    owner.take_over().unwrap();
    let file = owner.open(Path::new("new"), OpenMode::CreateNew).unwrap();
    file.append(b"a").unwrap();
    owner.create_directory(Path::new("d/e")).unwrap();
    owner.rename(Path::new("new"), Path::new("d/e/x")).unwrap();
    file.append(b"b").unwrap();
    owner.rename(Path::new("d"), Path::new("f")).unwrap();
    file.append(b"c").unwrap();
    write(&owner, "other", b"o").unwrap();
    owner
        .exchange(Path::new("other"), Path::new("f/e/x"))
        .unwrap();
    file.append(b"d").unwrap();
    file.sync().unwrap();
    let follower = setup.open("db");
    assert_eq!(contents(&follower, "other"), b"abcd");
    assert_eq!(contents(&follower, "f/e/x"), b"o");
    owner.remove(Path::new("other")).unwrap();
    file.append(b"of no name").unwrap();
    file.sync().unwrap();
    assert!(file.is_removed());
    follower.ensure_current().unwrap();
    assert_eq!(follower.kind(Path::new("other")).unwrap(), None);
    let error = owner.rename(Path::new("f"), Path::new("../g")).unwrap_err();
    assert!(error.to_string().contains("rename"), "{error}");
    let links = [
        owner.link(Path::new("f/e/x"), Path::new("l")),
        owner.create_symlink("t", Path::new("s")),
    ];
    assert!(links.iter().all(Result::is_ok));
    owner.sync_directory(Path::new("")).unwrap();
    let again = setup.open("db");
    assert_eq!(contents(&again, "l"), b"o");
    assert_eq!(
        again.read_symlink(Path::new("s")).unwrap().as_deref(),
        Some("t")
    );
}

/// Large commits go into segments, and checkpoints leave few runs: a fresh copy is the same every time.
#[test]
fn copies_made_of_segments_and_checkpoints_equal_the_original() {
    let setup = Setup::new(small());
    let owner = setup.open("db");
    owner.take_over().unwrap();
    let file = owner.open(Path::new("x"), OpenMode::CreateNew).unwrap();
    let mut expected = Vec::new();
    for round in 0..60_usize {
        let bytes: Vec<u8> = (0..round * 7 % 230).map(|n| (n * round) as u8).collect();
        file.append(&bytes).unwrap();
        expected.extend_from_slice(&bytes);
        if round % 13 == 12 {
            expected.truncate(expected.len() - 9);
            file.truncate(expected.len() as u64).unwrap();
        }
        file.sync().unwrap();
        if round % 6 == 0 {
            assert_eq!(contents(&setup.open("db"), "x"), expected, "round {round}");
        }
    }
    owner.checkpoint().unwrap();
    let report = setup.verify("db");
    assert_eq!(report.findings, [] as [String; 0]);
    assert!(report.checkpoints >= 12, "{report:?}");
    assert_eq!(report.last_slot, owner.slot());
    assert_eq!(contents(&setup.open("db"), "x"), expected);
}

/// Many small commits are copied by checkpoints as often as the logarithm of their number, and no more.
#[test]
fn sealing_many_small_commits_writes_little() {
    let options = LogOptions {
        checkpoint_slots: 1,
        ..LogOptions::default()
    };
    let setup = Setup::new(options);
    let owner = setup.open("db");
    owner.take_over().unwrap();
    let file = owner.open(Path::new("x"), OpenMode::CreateNew).unwrap();
    for _ in 0..128 {
        file.append(&[1; 100]).unwrap();
        file.sync().unwrap();
    }
    let written: u64 = setup.objects("db/segment/").iter().map(|it| it.len).sum();
    assert!(written <= 12_800 * 8, "{written} bytes for 12,800");
    let last = setup.objects("db/checkpoint/").pop().unwrap();
    assert!(
        last.len < 600,
        "a checkpoint of {} bytes: too many runs",
        last.len
    );
}

#[test]
fn callers_at_the_same_time_share_records_and_checks() {
    let setup = Setup::new(LogOptions::default());
    let owner = setup.open("db");
    owner.take_over().unwrap();
    let files: Vec<Arc<dyn StorageFile>> = (0..8)
        .map(|n| {
            owner
                .open(Path::new(&format!("f{n}")), OpenMode::CreateNew)
                .unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for file in &files {
            scope.spawn(|| {
                for _ in 0..25 {
                    file.append(b"x").unwrap();
                    file.sync().unwrap();
                    owner.ensure_current().unwrap();
                }
            });
        }
    });
    assert!(owner.slot() <= 201, "{} records", owner.slot());
    let follower = setup.open("db");
    for n in 0..8 {
        assert_eq!(contents(&follower, &format!("f{n}")), [b'x'; 25]);
    }
}

#[test]
fn damaged_objects_are_named() {
    let setup = Setup::new(small());
    let owner = setup.open("db");
    owner.take_over().unwrap();
    write(&owner, "x", &[5; 300]).unwrap();
    let objects = setup.objects("db/");
    assert_eq!(objects.len(), 2 + 5, "a fence, a record, five segments");
    for object in objects {
        let path = setup.path(&object.key);
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[20] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        let opened = setup.try_open("db", Arc::new(MemoryStorage::default()));
        // Segments are read when their bytes are.
        let read = opened.and_then(|it| it.fetch_all());
        assert!(read.unwrap_err().to_string().contains(&object.key));
        let findings = setup.verify("db").findings;
        assert!(
            findings.iter().any(|it| it.contains(&object.key)),
            "{findings:?}"
        );
        std::fs::remove_file(&path).unwrap();
        // A log is not known to have had more records than are left.
        let is_last = object.key.ends_with("log/00000000000000000002");
        assert_eq!(
            setup.verify("db").findings.is_empty(),
            is_last,
            "{}",
            object.key
        );
        std::fs::write(&path, &good).unwrap();
    }
    assert_eq!(setup.verify("db").findings, [] as [String; 0]);
}

/// Which bytes a checkpoint stores again depends on those that it reads from the copy.
#[test]
fn owners_of_copies_with_gaps_store_what_is_behind_these() {
    let setup = Setup::new(LogOptions {
        checkpoint_slots: 7,
        inline_bytes: 200,
        ..LogOptions::default()
    });
    let (scratch, path) = (tempfile::tempdir().unwrap(), Path::new("lines"));
    let mut all = Vec::new();
    for round in 0..6 {
        let local = Arc::new(DiskStorage::new(scratch.path()));
        let owner = setup.try_open("db", local).unwrap();
        owner.take_over().unwrap();
        let mode = match owner.kind(path).unwrap() {
            Some(_) => OpenMode::Append,
            None => OpenMode::CreateNew,
        };
        let file = owner.open(path, mode).unwrap();
        for line in 0..20_u8 {
            let text = vec![b'a' + round; if line % 9 == 8 { 300 } else { 7 }];
            file.append(&text).unwrap();
            all.extend_from_slice(&text);
            file.sync().unwrap();
            let found = contents(&setup.open("db"), "lines");
            assert!(found == all, "round {round}, line {line}");
        }
    }
}

/// Readers keep what they have opened, whatever becomes of its name, and fetch no more than they read.
#[test]
fn ranges_are_fetched_when_they_are_read() {
    let setup = Setup::new(small());
    let owner = setup.open("db");
    owner.take_over().unwrap();
    let long: Vec<u8> = (0..640_u32).map(|at| (at / 64) as u8).collect();
    write(&owner, "long", &long).unwrap();
    for name in ["a", "b", "c"] {
        write(&owner, name, name.as_bytes()).unwrap();
    }
    owner.checkpoint().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let local = Arc::new(DiskStorage::new(scratch.path()));
    let copy = setup.try_open("db", local).unwrap();
    let of_disk = |name: &str| std::fs::read(scratch.path().join(name)).unwrap();
    assert_eq!(of_disk("long"), [0; 640]);
    let file = copy.open(Path::new("long"), OpenMode::Read).unwrap();
    assert!(
        file.read_cached_at(130, &mut [0; 4]).is_err(),
        "it has to wait"
    );
    assert_eq!(file.read_vec(126, 4).unwrap(), [1, 1, 2, 2]);
    let fetched = [vec![0; 64], long[64..192].to_vec(), vec![0; 448]].concat();
    assert_eq!(of_disk("long"), fetched);
    file.read_cached_at(130, &mut [0; 4]).unwrap();
    assert_eq!(contents(&copy, "a"), b"a");
    assert_eq!(of_disk("c"), b"c", "its segment is here");
    copy.take_over().unwrap();
    copy.remove(Path::new("long")).unwrap();
    write(&copy, "long", b"another").unwrap();
    assert_eq!(file.read_all().unwrap(), long);
    assert_eq!(contents(&copy, "long"), b"another");
}
