//! Unreadable parts are in the copy as they were: still unreadable, and named; all else is compacted.

use super::{compact, names};
use crate::verify::sample::{self, Documents, bytes, document, findings, ids, noise, storage_of};
use crate::{PATH, attaching, edit, put_rev};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, OpenMode, Silent, Storage};
use varve_docdb::verify::{Finding, Hit, Part};
use varve_docdb::{Database, DocdbError, Finished, Mode, Rev, Snapshot};

fn open(storage: &MemoryStorage) -> Database {
    let storage = Arc::new(storage.clone());
    Database::open(storage, Path::new(PATH), &sample::options()).unwrap()
}

fn copied(db: &Database) -> Result<Finished, DocdbError> {
    let mut compaction = db.begin_compaction()?;
    compaction.copy(&Silent, &Interrupt::default())?;
    compaction.finish(&Interrupt::default())
}

fn unreadable(done: &Finished) -> Vec<&str> {
    done.unreadable.ids().collect()
}

/// Flips a bit of the file while it is open.
fn flip(storage: &MemoryStorage, at: usize) {
    let mut bytes = bytes(storage, PATH);
    bytes[at] ^= 1 << (at % 8);
    let file = storage.open(Path::new(PATH), OpenMode::Append).unwrap();
    file.truncate(0).unwrap();
    file.append(&bytes).unwrap();
}

/// Where some bytes stand, which are there once.
fn find(storage: &MemoryStorage, part: &[u8]) -> usize {
    let bytes = bytes(storage, PATH);
    let places = bytes.windows(part.len()).enumerate();
    let mut places = places.filter(|(_, bytes)| *bytes == part);
    let found = places.next().expect("it is there").0;
    assert!(places.next().is_none(), "it is there more than once");
    found
}

/// Every document, and its error if it cannot be read.
fn answers(snapshot: &Snapshot) -> Documents {
    answers_of(snapshot, ids(snapshot))
}

/// The same of some documents. Errors are without the place, which is another one in another file.
fn answers_of(snapshot: &Snapshot, ids: Vec<String>) -> Documents {
    let place = |error: DocdbError| {
        let words = error.to_string();
        let words = words.split(|letter: char| letter.is_ascii_digit());
        words.collect::<Vec<_>>().concat()
    };
    let answer = |id: String| {
        let text = document(snapshot, &id).map(Option::unwrap_or_default);
        (id, text.unwrap_or_else(place))
    };
    ids.into_iter().map(answer).collect()
}

/// The findings, without places.
fn hits(storage: &MemoryStorage) -> Vec<(Part, Hit)> {
    let found = findings(storage, PATH).unwrap().1;
    let of = |finding: Finding| (finding.part, finding.hit);
    found.into_iter().map(of).collect()
}

/// Whether it is something that a compaction cannot do without.
fn is_needed(snapshot: &Snapshot, (part, hit): &(Part, Hit)) -> bool {
    match part {
        Part::NodeById | Part::NodeBySeq | Part::NodeOfLocal | Part::NodeOfPurges => true,
        Part::History | Part::Document => true,
        // Where the data stands is said nowhere else.
        Part::AttachmentList => is_leaf(snapshot, hit),
        _ => false,
    }
}

/// The documents that are hit, as compactions name them.
fn named(hits: &[(Part, Hit)]) -> BTreeSet<String> {
    let name = |(part, hit): &(Part, Hit)| match hit {
        Hit::Document { id, .. } => id.clone(),
        _ if *part == Part::Security => "_security".to_owned(),
        _ => panic!("{part} of {hit:?}"),
    };
    hits.iter().map(name).collect()
}

fn is_leaf(snapshot: &Snapshot, hit: &Hit) -> bool {
    let Hit::Document {
        id, rev: Some(rev), ..
    } = hit
    else {
        return true;
    };
    let document = snapshot.document(id).unwrap().unwrap();
    let mut leaves = document.tree().ranked_leaves().into_iter();
    leaves.any(|leaf| leaf.rev == *rev)
}

/// The error of a compaction says what to do, and the file stays as it is.
fn assert_refused(storage: &MemoryStorage, db: &Database, at: usize) {
    let kept = bytes(storage, PATH);
    let error = copied(db).expect_err("something is damaged");
    assert!(matches!(error, DocdbError::Uncompacted { .. }), "{error}");
    let words = error.to_string();
    for part in [
        "not compacted: ",
        "db.varve",
        "; `varve verify FILE` says what is hit, and `varve verify --salvage NEW FILE` makes",
    ] {
        assert!(words.contains(part), "{at}: {words}");
    }
    assert_eq!(names(storage), [PATH], "{at}");
    assert!(bytes(storage, PATH) == kept, "{at}");
}

type Hits = Vec<(Part, Hit)>;

/// Compacts a file with these documents, after flipping a bit of it; returns the damaged parts, as an error if the
/// compaction failed.
fn compact_flipped(whole: &[u8], at: usize, ids: &[String]) -> Result<Hits, Hits> {
    let mut flipped = whole.to_vec();
    flipped[at] ^= 1 << (at / 7 % 8);
    let storage = storage_of(&flipped);
    let db = open(&storage);
    let mut before = hits(&storage);
    // Of the old file only; it is read as it was.
    before.retain(|(part, _)| *part != Part::FileHeader);
    let snapshot = db.snapshot();
    if before.iter().any(|found| is_needed(&snapshot, found)) {
        assert_refused(&storage, &db, at);
        return Err(before);
    }
    // Bodies of revisions that are no leaves go, whatever they are.
    before.retain(|(_, hit)| is_leaf(&snapshot, hit));
    drop(snapshot);
    let all = || answers_of(&db.snapshot(), ids.to_vec());
    let (old, security) = (all(), db.snapshot().security());
    let done = copied(&db).unwrap_or_else(|error| panic!("{error} after a flip at {at}"));
    let named = named(&before);
    assert_eq!(unreadable(&done), Vec::from_iter(&named), "{at}");
    assert_eq!(all(), old, "{at}");
    assert_eq!(
        db.snapshot().security().ok(),
        security.ok(),
        "after a flip at {at}"
    );
    assert_eq!(hits(&storage), before, "{at}");
    let sizes = db.sizes().unwrap();
    assert!(sizes.active <= sizes.file, "{at}: {sizes:?}");
    // Nothing of it is worse when it is copied once more.
    let again = copied(&db).unwrap();
    assert_eq!(again.unreadable, done.unreadable);
    assert_eq!(again.sizes.after, done.sizes.after);
    assert_eq!(hits(&storage), before, "{at}");
    Ok(before)
}

#[test]
fn a_flipped_bit_is_as_harmful_after_a_compaction_as_before() {
    let whole = sample::small();
    let known = ids(&sample::snapshot_of(&storage_of(&whole)).unwrap());
    let (mut parts, mut ended) = (HashSet::new(), Vec::new());
    for at in (0..whole.len()).step_by(7) {
        match compact_flipped(&whole, at, &known) {
            Ok(found) => parts.extend(found.iter().map(|(part, _)| *part)),
            Err(found) => ended.extend(found.iter().map(|(part, _)| *part)),
        }
    }
    for part in [
        Part::Security,
        Part::Body,
        Part::Attachment,
        Part::LocalDocument,
    ] {
        assert!(parts.contains(&part), "{part}");
    }
    assert!(ended.len() > 20, "only {ended:?} hit a node");
    assert!(ended.contains(&Part::AttachmentList), "{ended:?}");
}

/// A long document with two edits, stored as deltas; its first revision.
fn with_deltas() -> (MemoryStorage, Database, Rev) {
    let storage = MemoryStorage::default();
    let db = sample::create(&storage);
    let mut long = noise(6000, 3);
    let mut rev = put_rev(&db, &format!(r#"{{"_id":"long","text":"{long}"}}"#));
    let first = rev.parse().unwrap();
    for number in 1..3 {
        long.replace_range(100 * number..100 * number + 5, "-----");
        let text = format!(r#"{{"_id":"long","_rev":"{rev}","text":"{long}"}}"#);
        rev = put_rev(&db, &text);
    }
    put_rev(&db, r#"{"_id":"other","x":1}"#);
    (storage, db, first)
}

/// The bytes of a revision's body as they stand in the file.
fn base_of(db: &Database, storage: &MemoryStorage, rev: &Rev) -> Vec<u8> {
    let long = db.snapshot().document("long").unwrap().unwrap();
    let body = long.revision(rev).unwrap().1.body;
    let start = body.offset as usize;
    bytes(storage, PATH)[start..start + body.len as usize].to_vec()
}

#[test]
fn a_delta_comes_with_its_damaged_base_and_is_whole_once_that_is() {
    let (storage, db, first) = with_deltas();
    let base = base_of(&db, &storage, &first);
    let whole = answers(&db.snapshot());
    let middle = base.len() / 2;
    let at = find(&storage, &base) + middle;
    flip(&storage, at);
    let done = copied(&db).unwrap();
    assert_eq!(unreadable(&done), ["long"]);
    let hit = answers(&db.snapshot());
    assert!(hit["long"].contains("a chunk's checksum does not match"));
    assert_eq!(hit["other"], whole["other"]);
    let deltas = db.compression().unwrap().chunk_stats.unwrap();
    assert_eq!(deltas.of(varve_docdb::ChunkForm::Delta).chunks, 2);
    // Its bases are counted, as reading needs them.
    let snapshot = db.snapshot();
    let long = snapshot.document("long").unwrap().unwrap();
    let active = long.winner().unwrap().1.active;
    assert!(active > base.len() as u64 + 40, "{active}");
    drop((db, snapshot));
    // All bytes are there: the bit that was flipped, flipped back, makes it whole.
    let mut damaged = base;
    damaged[middle] ^= 1 << (at % 8);
    let mut mended = bytes(&storage, PATH);
    mended[find(&storage, &damaged) + middle] ^= 1 << (at % 8);
    let mended = storage_of(&mended);
    assert_eq!(answers(&open(&mended).snapshot()), whole);
    assert_eq!(hits(&mended), []);
}

#[test]
fn a_body_that_is_damaged_while_the_copy_is_made_is_caught_up_with() {
    let (storage, db, _) = with_deltas();
    let mut compaction = db.begin_compaction().unwrap();
    compaction.copy(&Silent, &Interrupt::default()).unwrap();
    put_rev(&db, r#"{"_id":"new","text":"a needle"}"#);
    put_rev(&db, r#"{"_id":"last","text":"whole"}"#);
    let at = find(&storage, b"a needle");
    flip(&storage, at);
    let done = compaction.finish(&Interrupt::default()).unwrap();
    assert_eq!(unreadable(&done), ["new"]);
    let left = hits(&storage);
    assert_eq!(named(&left), BTreeSet::from(["new".to_owned()]));
    assert!(answers(&db.snapshot())["last"].contains("whole"));
}

fn attach(db: &Database, id: &str, data: &[u8]) {
    let edit = attaching(db, id, None, "it", Some(("image/png", data)));
    db.update_one(edit, Mode::Interactive).unwrap().unwrap();
}

#[test]
fn all_documents_that_share_a_damaged_attachment_are_named_and_equal_ones_are_not() {
    let storage = MemoryStorage::default();
    let db = sample::create(&storage);
    let data = varve_testkit::repos::noise(250_000, 1);
    for id in ["b", "d", "f"] {
        attach(&db, id, &data);
    }
    compact(&db);
    let once = db.sizes().unwrap().file;
    // The first one, and all that have it, too, in the middle of three pieces.
    let at = find(&storage, &data[120_000..121_000]);
    flip(&storage, at);
    for id in ["a", "e"] {
        attach(&db, id, &data);
    }
    let before = answers(&db.snapshot());
    for _ in 0..2 {
        let done = copied(&db).unwrap();
        assert_eq!(unreadable(&done), ["b", "d", "f"]);
        assert_eq!(answers(&db.snapshot()), before);
        let sizes = db.sizes().unwrap();
        assert!(
            (once + 250_000..once + 251_500).contains(&sizes.file),
            "once as it was damaged, once as it was not: {sizes:?} after {once}"
        );
    }
    let hit = hits(&storage);
    assert!(hit.iter().all(|(part, _)| *part == Part::Attachment));
    assert_eq!(hit.len(), 3);
}

/// Where the list of a document's attachments stands.
fn list_of(db: &Database, id: &str) -> usize {
    let found = db.snapshot().document(id).unwrap().unwrap();
    let list = found.winner().unwrap().1.attachments.unwrap();
    list.offset as usize
}

#[test]
fn a_damaged_list_of_attachments_ends_the_compaction_and_its_data_stays() {
    let storage = MemoryStorage::default();
    let db = sample::create(&storage);
    let data = varve_testkit::repos::noise(3000, 1);
    for id in ["a", "b"] {
        attach(&db, id, &data);
        let text = r#"{"_id":"ID","_rev":"REV","n":1,"_attachments":{"it":{"stub":true}}}"#;
        let rev = db.snapshot().document(id).unwrap().unwrap();
        let rev = rev.winner().unwrap().0.to_string();
        put_rev(&db, &text.replace("ID", id).replace("REV", &rev));
    }
    let before = answers(&db.snapshot());
    let at = list_of(&db, "b") + 15;
    flip(&storage, at);
    assert_ne!(answers(&db.snapshot()), before);
    for _ in 0..2 {
        assert_refused(&storage, &db, at);
    }
    let error = copied(&db).unwrap_err().to_string();
    assert!(error.contains(r#"document "b""#), "{error}");
    // The bit flipped back, everything is there.
    flip(&storage, at);
    assert_eq!(answers(&db.snapshot()), before);
    // Nor does it keep one from being compacted whose document was replaced.
    flip(&storage, at);
    let rev = db.snapshot().document("b").unwrap().unwrap();
    let rev = rev.winner().unwrap().0.to_string();
    put_rev(&db, &format!(r#"{{"_id":"b","_rev":"{rev}","n":2}}"#));
    assert!(copied(&db).unwrap().unreadable.is_empty());
    let now = answers(&db.snapshot());
    assert_eq!(now["a"], before["a"]);
    assert_eq!(hits(&storage), []);
}

fn record(number: u32) -> String {
    format!(
        r#"{{"_id":"rec-{number:05}","maintainer":"Team <team@example.org>","section":"optional",
            "homepage":"https://example.org/projects/{number}","text":"{}"}}"#,
        noise(20, number + 1)
    )
}

fn fill(db: &Database, numbers: std::ops::Range<u32>) {
    let edits = numbers.map(|number| edit(&record(number))).collect();
    for outcome in db.update(edits, Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
}

/// 1300 documents, of which the last hundred need a dictionary; where that stands.
fn with_dictionary() -> (MemoryStorage, Database, usize) {
    let storage = MemoryStorage::default();
    let db = sample::create(&storage);
    fill(&db, 0..1200);
    // It is the first thing behind that commit.
    let end = db.sizes().unwrap().file as usize;
    assert!(db.train().unwrap());
    fill(&db, 1200..1300);
    (storage, db, end)
}

/// Flips a bit in both copies of a dictionary.
fn lose_dictionary(storage: &MemoryStorage, at: usize) {
    let len = bytes(storage, PATH)[at..at + 4].try_into().unwrap();
    // Behind a chunk's head and payload stands the copy.
    let copy = at + 13 + u32::from_le_bytes(len) as usize;
    flip(storage, at + 100);
    flip(storage, copy + 100);
}

#[test]
fn what_needs_a_lost_dictionary_is_copied_and_never_read_by_another_one() {
    let (storage, db, dictionary) = with_dictionary();
    lose_dictionary(&storage, dictionary);
    drop(db);
    let db = open(&storage);
    let before = answers(&db.snapshot());
    let is_lost = |words: &str| words.contains("a chunk needs a dictionary that is not there");
    assert_eq!(before.values().filter(|words| is_lost(words)).count(), 100);
    let first = copied(&db).unwrap();
    assert_eq!(first.unreadable.ids().count(), 100);
    assert!(first.unreadable.ids().all(|id| is_lost(&before[id])));
    assert_eq!(answers(&db.snapshot()), before);
    let numbers = |db: &Database| {
        let known = db.compression().unwrap().dictionaries;
        known.iter().map(|one| one.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&db), [2], "another one, made of what can be read");
    // Nor after one more, and a start.
    fill(&db, 1300..1400);
    drop(db);
    let db = open(&storage);
    let before = answers(&db.snapshot());
    assert_eq!(copied(&db).unwrap().unreadable, first.unreadable);
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(named(&hits(&storage)).len(), 100);
}

#[test]
fn a_dictionary_that_was_read_before_it_was_damaged_is_copied_as_it_was() {
    let (storage, db, dictionary) = with_dictionary();
    let before = answers(&db.snapshot());
    lose_dictionary(&storage, dictionary);
    let done = copied(&db).unwrap();
    assert!(done.unreadable.is_empty(), "{}", done.unreadable);
    drop(db);
    assert_eq!(answers(&open(&storage).snapshot()), before);
    assert_eq!(hits(&storage), []);
}

#[test]
fn a_dictionary_is_trained_on_what_can_be_read() {
    let storage = MemoryStorage::default();
    let db = sample::create(&storage);
    fill(&db, 0..1200);
    for number in (0..1200).step_by(7) {
        let id = format!("rec-{number:05}");
        let stored = db.snapshot().document(&id).unwrap().unwrap();
        let body = stored.winner().unwrap().1.body;
        flip(&storage, body.offset as usize + 20);
    }
    assert!(db.train().unwrap());
    let done = copied(&db).unwrap();
    assert_eq!(done.unreadable.ids().count(), 1200_usize.div_ceil(7));
    assert_eq!(named(&hits(&storage)).len(), 1200_usize.div_ceil(7));
}
