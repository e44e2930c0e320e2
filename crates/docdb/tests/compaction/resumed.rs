//! Copies that were interrupted, or that a crash has ended: the next compaction goes on with them.

use super::*;
use crate::verify::sample::{self, fill, findings, noise};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_base::{OpenMode, Progress, Unit};
use varve_btree::ChunkForm;
use varve_codec::CodecId;
use varve_docdb::DocdbError;
use varve_testkit::Recorder;
use varve_testkit::watched::{Call, Watched, Watcher};

pub const COPY: &str = "db.varve.compact";
/// Bytes of documents between commits of the copy.
pub const STEP: u64 = 2000;

/// Says stop once so many documents are copied.
struct StopAfter {
    left: AtomicU64,
    stop: Interrupt,
}

impl Progress for StopAfter {
    fn begin(&self, _: &str, _: Unit, _: Option<u64>) {}

    fn advance(&self, amount: u64) {
        let left = self.left.load(Ordering::Relaxed).saturating_sub(amount);
        self.left.store(left, Ordering::Relaxed);
        if left == 0 {
            self.stop.raise();
        }
    }
}

/// Compacts, but only until so many more documents are copied.
pub fn begin(db: &Database, documents: u64) {
    let stop = Interrupt::default();
    let progress = StopAfter {
        left: documents.into(),
        stop: stop.clone(),
    };
    let mut compaction = db.begin_compaction().unwrap().in_steps_of(STEP);
    let error = compaction.copy(&progress, &stop).unwrap_err();
    assert!(matches!(error, DocdbError::Interrupted), "{error}");
}

pub fn go_on(db: &Database) -> Compacted {
    let mut compaction = db.begin_compaction().unwrap().in_steps_of(STEP);
    compaction.copy(&Silent, &Interrupt::default()).unwrap();
    compaction.finish(&Interrupt::default()).unwrap().sizes
}

/// Counts bytes that are appended to the copy.
#[derive(Debug, Default)]
pub struct Copied(pub AtomicU64);

impl Watcher for Copied {
    fn before(&self, call: Call, path: &Path) -> Result<(), ErrorKind> {
        if let (Call::Append(len), true) = (call, path == Path::new(COPY)) {
            self.0.fetch_add(len as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

pub type Disk = Watched<MemoryStorage, Copied>;

pub fn disk() -> Disk {
    Watched::new(MemoryStorage::default(), Copied::default())
}

pub fn open(storage: impl Storage + 'static) -> Database {
    let (storage, options) = (Arc::new(storage), sample::options());
    match storage.kind(Path::new(PATH)).unwrap() {
        None => Database::create(storage, Path::new(PATH), &options).unwrap(),
        Some(_) => Database::open(storage, Path::new(PATH), &options).unwrap(),
    }
}

fn text(kind: &str, number: u32) -> String {
    let text = noise(300, number + 1);
    format!(r#"{{"_id":"{kind}-{number:03}","text":"{text}"}}"#)
}

pub fn add(db: &Database, kind: &str, count: u32) {
    for number in 0..count {
        put(db, &text(kind, number)).unwrap();
    }
}

/// Edits, deletes, purges and makes documents, among them such as are copied already.
pub fn change(db: &Database, round: u32) {
    for number in (round..60).step_by(7) {
        let id = format!("doc-{number:03}");
        let found = db.snapshot().document(&id).unwrap();
        let Some(found) = found.filter(|found| !found.is_deleted()) else {
            continue;
        };
        let rev = found.winner().unwrap().0.clone();
        match number % 3 {
            0 => drop(db.purge([(id, vec![rev])].into()).unwrap()),
            is_edited => {
                let deleted = is_edited == 1;
                let text =
                    format!(r#"{{"_id":"{id}","_rev":"{rev}","_deleted":{deleted},"n":{round}}}"#);
                put(db, &text).unwrap();
            }
        }
    }
    let branch = format!(r#"{{"_id":"doc-002","_rev":"1-{round}c","branch":{round}}}"#);
    replicate(db, &[&branch]);
    add(db, &format!("new{round}"), 3);
    let local = format!(r#"{{"_id":"_local/n","text":"{}"}}"#, noise(900, round));
    put(db, &local).unwrap();
}

pub fn assert_whole(storage: &dyn Storage) {
    let (_, found) = findings(storage, PATH).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_was_copied_is_not_copied_again() {
    let disk = disk();
    let db = open(disk.clone());
    fill(&db);
    add(&db, "doc", 100);
    let before = answers(&db.snapshot());
    let len = |storage: &Disk| storage.file_len(Path::new(COPY)).unwrap();
    begin(&db, 80);
    assert!(len(&disk).unwrap() > 25_000);
    assert_eq!(answers(&db.snapshot()), before);
    drop(db);
    let db = open(disk.clone());
    let kept = len(&disk).expect("it was left");
    assert!(kept > 25_000, "{kept}");
    disk.watcher().0.store(0, Ordering::Relaxed);
    let done = go_on(&db);
    let appended = disk.watcher().0.load(Ordering::Relaxed);
    assert_eq!(appended + kept, done.after);
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(names(&disk), [PATH]);
    let counted = |db: &Database| {
        let chunk_stats = db.compression().unwrap().chunk_stats.unwrap();
        let counts = ChunkForm::ALL.map(|form| chunk_stats.of(form));
        (
            counts.map(|it| it.chunks).iter().sum::<u64>(),
            counts.map(|it| it.bytes).iter().sum::<u64>(),
        )
    };
    let (chunks, bytes) = counted(&db);
    assert!(
        chunks > 140 && bytes * 10 > done.after * 8,
        "{chunks}, {bytes}: {done:?}"
    );
    // A copy at one go is hardly shorter.
    let once = compact(&db);
    assert!(once.after + 40_000 > done.after, "{once:?} {done:?}");
    assert_whole(&disk);
}

#[test]
fn a_copy_that_is_interrupted_again_and_again_comes_to_its_end() {
    let disk = disk();
    let mut db = open(disk.clone());
    fill(&db);
    add(&db, "doc", 60);
    for round in 0..8 {
        begin(&db, 12 * u64::from(round + 1));
        change(&db, round);
        if round % 2 == 0 {
            drop(db);
            db = open(disk.clone());
        }
        let kept = disk.file_len(Path::new(COPY)).unwrap();
        assert!(
            kept.unwrap() > 1000 * u64::from(round + 1),
            "{round}: {kept:?}"
        );
    }
    let before = answers(&db.snapshot());
    go_on(&db);
    assert_eq!(answers(&db.snapshot()), before);
    drop(db);
    assert_whole(&disk);
    let db = open(disk.clone());
    assert_eq!(answers(&db.snapshot()), before);
    put_rev(&db, r#"{"_id":"after"}"#);
    compact(&db);
    assert_whole(&disk);
}

#[test]
fn no_cut_during_a_copy_that_goes_on_loses_or_adds_anything() {
    let disk = Recorder::default();
    let db = open(disk.clone());
    fill(&db);
    add(&db, "doc", 12);
    disk.acknowledge();
    let expected = answers(&db.snapshot());
    begin(&db, 18);
    change(&db, 1);
    let changed = answers(&db.snapshot());
    disk.acknowledge();
    go_on(&db);
    disk.acknowledge();
    let (mut opened, mut resumed) = (0, 0);
    let images = disk.for_each_image(40, |image| {
        if image.acknowledged == 0 {
            return;
        }
        opened += 1;
        let storage = image.storage;
        let db = open(storage.clone());
        let found = answers(&db.snapshot());
        match image.acknowledged {
            // Some of the changes may be there.
            1 => assert!(found.len() >= expected.len() - 20),
            _ => assert_eq!(found, changed, "{}", image.cut),
        }
        let kept = storage.file_len(Path::new(COPY)).unwrap();
        resumed += usize::from(kept.is_some());
        go_on(&db);
        assert_eq!(answers(&db.snapshot()), found, "{}", image.cut);
        assert_whole(&storage);
    });
    assert!(
        opened > 300 && resumed > 100,
        "{opened} of {images} images, {resumed}"
    );
}

#[test]
fn a_copy_of_what_a_power_cut_took_is_not_gone_on_with() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone());
    add(&db, "doc", 40);
    drop(db);
    let cut = storage.file_len(Path::new(PATH)).unwrap().unwrap();
    let db = open(storage.clone());
    add(&db, "lost", 20);
    begin(&db, 50);
    drop(db);
    let file = storage.open(Path::new(PATH), OpenMode::Append).unwrap();
    file.truncate(cut).unwrap();
    // Their sequences are those of others now.
    let db = open(storage.clone());
    assert_eq!(names(&storage), [PATH]);
    add(&db, "other", 20);
    let before = answers(&db.snapshot());
    begin(&db, 50);
    go_on(&db);
    assert_eq!(answers(&db.snapshot()), before);
    assert_whole(&storage);
    // The same while it is open: the copy of another file.
    begin(&db, 20);
    let copy = storage.open(Path::new(COPY), OpenMode::Read).unwrap();
    let copy = copy.read_all().unwrap();
    let others = MemoryStorage::with_files([(COPY.into(), copy)]);
    let other = open(others.clone());
    assert_eq!(names(&others), [PATH]);
    add(&other, "doc", 60);
    go_on(&other);
    assert_whole(&others);
}

#[test]
fn another_compression_begins_anew() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone());
    fill(&db);
    add(&db, "doc", 60);
    begin(&db, 40);
    db.set_compression(Some(EngineSetting::NONE)).unwrap();
    let before = answers(&db.snapshot());
    go_on(&db);
    assert_eq!(answers(&db.snapshot()), before);
    assert_plain(&db);
    assert_whole(&storage);
}

/// Nothing in the file is compressed.
fn assert_plain(db: &Database) {
    let chunk_stats = db.compression().unwrap().chunk_stats.unwrap();
    let plain = chunk_stats.of(ChunkForm::Plain(CodecId::None));
    let all = ChunkForm::ALL.map(|form| chunk_stats.of(form).chunks);
    assert_eq!(plain.chunks, all.iter().sum::<u64>(), "{chunk_stats:?}");
}

#[test]
fn a_dictionary_of_the_copy_is_not_taken_for_a_later_one() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone());
    let record = |kind: &str, number: u32| {
        let home = format!("https://example.org/{kind}/projects/{number}");
        let text = noise(20, number + 1);
        edit(&format!(
            r#"{{"_id":"{kind}-{number:05}","maintainer":"Team <team@example.org>","home":"{home}","text":"{text}"}}"#
        ))
    };
    let add = |db: &Database, kind: &str, count: u32| {
        let edits = (0..count).map(|number| record(kind, number)).collect();
        db.update(edits, Mode::Interactive).unwrap();
    };
    add(&db, "one", 3000);
    // The copy gets a dictionary that the database has not.
    begin(&db, 2000);
    assert!(db.compression().unwrap().dictionaries.is_empty());
    drop(db);
    let db = open(storage.clone());
    assert!(db.train().unwrap());
    add(&db, "two", 500);
    let number = db.compression().unwrap().dictionaries[0].number;
    let before = answers(&db.snapshot());
    go_on(&db);
    let numbers = db.compression().unwrap().dictionaries;
    let numbers: Vec<_> = numbers.iter().map(|known| known.number).collect();
    assert!(
        !numbers.is_empty() && !numbers.contains(&number),
        "{numbers:?}, {number}"
    );
    assert_eq!(answers(&db.snapshot()), before);
    drop(db);
    assert_whole(&storage);
    assert_eq!(answers(&open(storage).snapshot()), before);
}

#[test]
fn a_copy_under_way_is_no_database_and_goes_with_its_database() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone());
    add(&db, "doc", 60);
    begin(&db, 40);
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let error = Database::open(Arc::clone(&shared), Path::new(COPY), &sample::options());
    assert!(
        matches!(error, Err(DocdbError::Damaged { .. })),
        "{error:?}"
    );
    drop(db);
    let in_place = in_place::options(4096);
    let db = Database::open(shared, Path::new(PATH), &in_place).unwrap();
    let cold = (0..300).map(|number| edit(&in_place::document("cold", number)));
    db.update(cold.collect(), Mode::Interactive).unwrap();
    in_place::hot(&db, "hot", 60);
    let run = || db.compact_in_place(&Silent, &Interrupt::default()).unwrap();
    assert_eq!(run(), None, "a copy was begun");
    storage.remove(Path::new(COPY)).unwrap();
    assert!(run().is_some());
    begin(&db, 50);
    assert_eq!(names(&storage), [PATH, COPY]);
    db.delete().unwrap();
    assert!(names(&storage).is_empty(), "{:?}", names(&storage));
}

#[test]
fn a_copy_that_goes_on_stays_with_its_compression_when_another_is_chosen() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone());
    add(&db, "doc", 60);
    begin(&db, 40);
    let mut compaction = db.begin_compaction().unwrap().in_steps_of(STEP);
    db.set_compression(Some(EngineSetting::NONE)).unwrap();
    let before = answers(&db.snapshot());
    compaction.copy(&Silent, &Interrupt::default()).unwrap();
    compaction.finish(&Interrupt::default()).unwrap();
    assert_eq!(answers(&db.snapshot()), before);
    // The next one knows that there is something left to do.
    go_on(&db);
    assert_eq!(answers(&db.snapshot()), before);
    assert_plain(&db);
    assert_whole(&storage);
}

#[test]
fn damage_to_a_copy_never_comes_into_the_database() {
    let storage = MemoryStorage::default();
    let db = open(storage.clone());
    let attached = r#"{"_id":"first","_attachments":{"a":{"data":"DATA"}}}"#;
    put_rev(&db, &attached.replace("DATA", &"QUJD".repeat(100)));
    fill(&db);
    add(&db, "doc", 12);
    let before = answers(&db.snapshot());
    begin(&db, 18);
    drop(db);
    let files = [PATH, COPY].map(|name| {
        let file = storage.open(Path::new(name), OpenMode::Read).unwrap();
        (name.into(), file.read_all().unwrap())
    });
    let (mut noticed, mut unused) = (0, 0);
    for at in (0..files[1].1.len()).step_by(9) {
        let mut files = files.clone();
        files[1].1[at] ^= 1 << (at % 8);
        let storage = MemoryStorage::with_files(files);
        let db = open(storage.clone());
        let mut compaction = db.begin_compaction().unwrap().in_steps_of(STEP);
        match compaction.copy(&Silent, &Interrupt::default()) {
            Err(error) => {
                assert!(error.is_damage(), "{at}: {error}");
                noticed += 1;
                drop(compaction);
                assert_eq!(names(&storage), [PATH]);
                go_on(&db);
            }
            Ok(()) => {
                unused += 1;
                drop(compaction.finish(&Interrupt::default()).unwrap());
            }
        }
        assert_eq!(answers(&db.snapshot()), before, "{at}");
        drop(db);
        assert_whole(&storage);
    }
    assert!(noticed > 200 && unused > 50, "{noticed}, {unused}");
}
