//! Commits that are synced later: the commits that a power cut may undo, and the times of syncs.

use crate::{PATH, edit, options};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_docdb::{Database, DatabaseOptions, Durability, Mode};
use varve_testkit::Recorder;
use varve_testkit::watched::{Call, Watched, Watcher};

/// No test runs for so long: no sync comes by itself.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);
const SOON: Duration = Duration::from_millis(1);
const PER_COMMIT: usize = 3;

fn synced_within(interval: Duration) -> DatabaseOptions {
    DatabaseOptions {
        durability: Durability::Interval(interval),
        ..options()
    }
}

fn create(storage: impl Storage + 'static, interval: Duration) -> Database {
    let options = synced_within(interval);
    Database::create(Arc::new(storage), Path::new(PATH), &options).unwrap()
}

/// Commit number `commit`, of some documents.
fn commit(db: &Database, commit: usize) {
    let text = |number| {
        format!(
            r#"{{"_id":"{commit:03}-{number}","text":"{}"}}"#,
            "x".repeat(commit % 100)
        )
    };
    let edits = (0..PER_COMMIT).map(|number| edit(&text(number)));
    for outcome in db.update(edits.collect(), Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
}

/// How many commits a database holds, which must be the first ones, and whole.
fn commits_of(db: &Database, cut: &str) -> usize {
    let snapshot = db.snapshot();
    let found = usize::try_from(snapshot.info().unwrap().doc_count).unwrap();
    assert_eq!(found % PER_COMMIT, 0, "half a commit: {cut}");
    let commits = found / PER_COMMIT;
    for commit in 0..commits {
        for number in 0..PER_COMMIT {
            let found = crate::get(&snapshot, &format!("{commit:03}-{number}"));
            assert!(
                found.is_some(),
                "{commit:03}-{number} of {commits} is lost: {cut}"
            );
        }
    }
    commits
}

#[test]
fn a_power_cut_undoes_at_most_the_last_commits_since_a_sync() {
    const COMMITS: usize = 9;
    let disk = Recorder::default();
    let db = create(disk.clone(), NEVER);
    disk.acknowledge();
    // How many commits are durable when so many have been acknowledged.
    let mut durable = vec![0];
    for number in 0..COMMITS {
        commit(&db, number);
        if number % 4 == 3 {
            db.sync().unwrap();
            durable.push(number + 1);
        } else {
            durable.push(durable[number]);
        }
        disk.acknowledge();
    }
    assert_eq!(durable, [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]);
    let mut undone = 0;
    let images = disk.for_each_image(200, |image| {
        let Some(acknowledged) = image.acknowledged.checked_sub(1) else {
            return;
        };
        let opened = Database::open(
            Arc::new(image.storage),
            Path::new(PATH),
            &synced_within(NEVER),
        );
        let db = opened.unwrap_or_else(|error| panic!("{error}: {}", image.cut));
        let found = commits_of(&db, &image.cut);
        let (least, most) = (durable[acknowledged], acknowledged + 1);
        assert!(
            (least..=most).contains(&found),
            "{found}, not {least} to {most}: {}",
            image.cut
        );
        undone += usize::from(found < acknowledged);
        // It goes on from there.
        commit(&db, found);
        assert_eq!(commits_of(&db, &image.cut), found + 1);
    });
    assert!(images > 2000, "only {images} images");
    assert!(
        undone > 200,
        "only {undone} images without an acknowledged commit"
    );
}

#[test]
fn a_disk_that_writes_in_any_order_leaves_a_whole_commit() {
    const COMMITS: usize = 500;
    let storage = MemoryStorage::default();
    let db = create(storage.clone(), NEVER);
    commit(&db, 0);
    db.sync().unwrap();
    let durable = db.sizes().unwrap().file as usize;
    for number in 1..COMMITS {
        commit(&db, number);
    }
    let file = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
    let bytes = file.read_vec(0, db.sizes().unwrap().file as usize).unwrap();
    let mut found = Vec::new();
    // One page in so many did not arrive before the power was cut.
    for (lost, of) in [(0, 2), (1, 2), (1, 3), (2, 5), (7, 8), (40, 41), (90, 100)] {
        let mut image = bytes.clone();
        for page in image[durable..].chunks_mut(512).skip(lost).step_by(of) {
            page.fill(0);
        }
        let image = MemoryStorage::with_files([(PATH.into(), image)]);
        let cut = format!("page {lost} of {of}");
        let db = Database::open(Arc::new(image), Path::new(PATH), &synced_within(NEVER));
        let db = db.unwrap_or_else(|error| panic!("{error}: {cut}"));
        let commits = commits_of(&db, &cut);
        assert!(commits >= 1, "{cut}");
        commit(&db, commits);
        assert_eq!(commits_of(&db, &cut), commits + 1);
        found.push(commits);
    }
    // Commits before the first lost page are there.
    assert!(found[6] > 10 && found[6] < 100, "{found:?}");
}

/// Counts syncs; refuses some.
#[derive(Debug, Default)]
struct Syncs {
    done: AtomicUsize,
    refused: AtomicUsize,
    refuses: AtomicBool,
}

impl Watcher for Syncs {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        if call != Call::Sync {
            return Ok(());
        }
        if self.refuses.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(ErrorKind::Other);
        }
        self.done.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn watched() -> Watched<MemoryStorage, Syncs> {
    Watched::new(MemoryStorage::default(), Syncs::default())
}

/// Returns once `is_so`.
///
/// # Panics
/// If it is not so within a minute.
fn until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "not so within a minute");
        std::thread::sleep(SOON);
    }
}

#[test]
fn commits_share_the_syncs_that_follow_on_request_and_at_the_end() {
    let disk = watched();
    let syncs = || disk.watcher().done.load(Ordering::SeqCst);
    let db = create(disk.clone(), NEVER);
    commit(&db, 20);
    assert_eq!(
        syncs(),
        1,
        "the first commit of a new file is durable before others follow"
    );
    let before = syncs();
    (0..20).for_each(|number| commit(&db, number));
    assert_eq!(syncs(), before, "no sync was asked for");
    db.sync().unwrap();
    db.sync().unwrap();
    assert_eq!(syncs(), before + 1, "the second has nothing to do");
    commit(&db, 21);
    db.seal().unwrap();
    assert_eq!(syncs(), before + 2);
    commit(&db, 22);
    drop(db);
    assert_eq!(syncs(), before + 3, "closing syncs");
}

#[test]
fn the_interval_ends_with_a_sync_again_and_again() {
    let disk = watched();
    let db = create(disk.clone(), SOON);
    for number in 0..5 {
        let before = disk.watcher().done.load(Ordering::SeqCst);
        commit(&db, number);
        until(|| disk.watcher().done.load(Ordering::SeqCst) > before);
    }
    assert_eq!(commits_of(&db, ""), 5);
}

#[test]
fn after_a_failed_sync_writers_are_told_until_one_succeeds() {
    let disk = watched();
    let db = create(disk.clone(), SOON);
    let syncs = disk.watcher();
    commit(&db, 1);
    db.sync().unwrap();
    syncs.refuses.store(true, Ordering::SeqCst);
    commit(&db, 0);
    until(|| syncs.refused.load(Ordering::SeqCst) > 0);
    let told = || db.update(vec![edit("{}")], Mode::Interactive);
    // The sync that failed has not been reported yet; from then on every commit reports it.
    until(|| told().is_err());
    assert!(told().unwrap_err().to_string().contains(PATH));
    assert!(db.sync().is_err());
    syncs.refuses.store(false, Ordering::SeqCst);
    db.sync().unwrap();
    let before = syncs.done.load(Ordering::SeqCst);
    db.update(vec![edit(r#"{"_id":"after"}"#)], Mode::Interactive)
        .unwrap();
    until(|| syncs.done.load(Ordering::SeqCst) > before);
    assert!(crate::get(&db.snapshot(), "000-2").is_some());
    assert!(crate::get(&db.snapshot(), "after").is_some());
}
