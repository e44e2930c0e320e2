//! The tree of access in the file: compactions, checks, salvage, and what a viewer's reads cost.

use super::{WITH_ACCESS, changed, create, listed, member, put_rev, replicate, seen_by, user};
use crate::compaction::{answers, compact, in_place};
use crate::verify::sample::{PATH, findings, noise, salvaged, storage_of};
use crate::{edit, options};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use varve_base::{MemoryStorage, Storage};
use varve_docdb::verify::Part;
use varve_docdb::{Database, Direction, Edit, Mode, Viewer};
use varve_testkit::watched::{Call, Watched, Watcher};

/// Conflicts, a tombstone, a local document and a design document, of three users.
fn fill(db: &Database) {
    let (ann, bob) = (user("ann"), user("bob"));
    let rev = put_rev(db, &ann, r#"{"_id":"a","_access":["ann"],"v":1}"#);
    put_rev(
        db,
        &ann,
        &format!(r#"{{"_id":"a","_rev":"{rev}","_access":["ann","bob"]}}"#),
    );
    replicate(
        db,
        &Viewer::ALL,
        r#"{"_id":"a","_rev":"7-ff","_access":["team"]}"#,
    )
    .unwrap();
    let rev = put_rev(db, &bob, r#"{"_id":"b","_access":["bob"]}"#);
    let deletion = Edit::deletion("b", &rev).unwrap().written_by(&bob);
    db.update_one(deletion, Mode::Interactive).unwrap().unwrap();
    put_rev(db, &bob, r#"{"_id":"_local/c","since":3}"#);
    put_rev(
        db,
        &bob,
        r#"{"_id":"_design/d","_access":["bob","_users"]}"#,
    );
    put_rev(db, &Viewer::ALL, r#"{"_id":"e"}"#);
}

fn viewers() -> Vec<Viewer> {
    vec![
        user("ann"),
        user("bob"),
        member("eve", &["team"]),
        Viewer::none(),
        Viewer::ALL,
    ]
}

fn all_answers(db: &Database) -> Vec<Vec<String>> {
    let of = |viewer| answers(&seen_by(db, viewer));
    viewers().iter().map(of).collect()
}

fn bytes(storage: &MemoryStorage) -> Vec<u8> {
    let file = storage
        .open(Path::new(PATH), varve_base::OpenMode::Read)
        .unwrap();
    file.read_vec(0, file.len().unwrap() as usize).unwrap()
}

#[test]
fn a_compaction_changes_nothing_for_any_viewer() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    fill(&db);
    let before = all_answers(&db);
    assert!(before.iter().all(|answers| !answers.is_empty()));
    compact(&db);
    assert_eq!(all_answers(&db), before);
    assert_eq!(findings(&storage, PATH).unwrap().1, []);
    // While a compaction runs, documents change.
    let mut compaction = db.begin_compaction().unwrap();
    let stop = varve_base::Interrupt::default();
    compaction.copy(&varve_base::Silent, &stop).unwrap();
    put_rev(&db, &user("ann"), r#"{"_id":"late","_access":["ann"]}"#);
    let purge = BTreeMap::from([("a".to_owned(), vec!["7-ff".parse().unwrap()])]);
    db.purge(purge).unwrap();
    let before = all_answers(&db);
    compaction.finish(&stop).unwrap();
    assert_eq!(all_answers(&db), before);
    drop(db);
    let db = Database::open(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap();
    assert_eq!(all_answers(&db), before);
    assert_eq!(findings(&storage, PATH).unwrap().1, []);
}

#[test]
fn a_compaction_in_place_moves_the_tree_of_access() {
    let storage = MemoryStorage::default();
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let in_place = in_place::options(4096);
    let db = Database::create_with(shared, Path::new(PATH), &in_place, WITH_ACCESS).unwrap();
    fill(&db);
    let cold = (0..300).map(|number| {
        let text = in_place::document("cold", number).replacen('{', r#"{"_access":["ann"],"#, 1);
        edit(&text).written_by(&Viewer::ALL)
    });
    db.update(cold.collect(), Mode::Interactive).unwrap();
    let mut rev = put_rev(&db, &user("ann"), r#"{"_id":"hot","_access":["ann"]}"#);
    for number in 0..120 {
        let text = noise(1500, 7000 + number);
        let text = format!(r#"{{"_id":"hot","_rev":"{rev}","_access":["ann"],"text":"{text}"}}"#);
        rev = put_rev(&db, &user("ann"), &text);
    }
    let before = all_answers(&db);
    let done = db.compact_in_place(&varve_base::Silent, &varve_base::Interrupt::default());
    let done = done.unwrap().expect("most of it is cold");
    assert!(done.before > done.after + 100_000, "{done:?}");
    assert_eq!(all_answers(&db), before);
    assert_eq!(findings(&storage, PATH).unwrap().1, []);
}

#[test]
fn purged_leaves_are_seen_no_more() {
    let db = super::memory();
    fill(&db);
    let eve = member("eve", &["team"]);
    assert_eq!(listed(&seen_by(&db, &eve)).len(), 2);
    let purge = BTreeMap::from([("a".to_owned(), vec!["7-ff".parse().unwrap()])]);
    db.purge(purge).unwrap();
    let left = listed(&seen_by(&db, &eve));
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(seen_by(&db, &eve).info().unwrap().purge_seq, 0);
    assert_eq!(listed(&seen_by(&db, &user("bob"))).len(), 2);
}

#[test]
fn a_salvaged_database_shows_each_viewer_the_same() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    fill(&db);
    let lines = |db: &Database| {
        let mut all = all_answers(db);
        // The first line has the uuid.
        all.iter_mut().for_each(|answers| drop(answers.remove(0)));
        all
    };
    let before = lines(&db);
    drop(db);
    let (done, told) = salvaged(&storage, "new.varve").unwrap();
    assert_eq!((done.documents, told.len()), (4, 0));
    let path = Path::new("new.varve");
    let db = Database::open(Arc::new(storage.clone()), path, &options()).unwrap();
    assert_eq!(lines(&db), before);
    drop(db);
    assert_eq!(findings(&storage, "new.varve").unwrap().1, []);
}

#[test]
fn a_check_finds_rows_that_say_something_else_than_the_texts() {
    let storage = MemoryStorage::default();
    let uncompressed = varve_docdb::DatabaseOptions {
        setting: varve_codec::EngineSetting::NONE,
        ..options()
    };
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let db = Database::create_with(shared, Path::new(PATH), &uncompressed, WITH_ACCESS).unwrap();
    fill(&db);
    drop(db);
    let whole = bytes(&storage);
    let (report, found) = findings(&storage_of(&whole), PATH).unwrap();
    assert_eq!((report.documents, found), (4, vec![]));
    // A bit in each byte of the last tree's node: the name of a key, mostly.
    let mut hits = 0;
    for at in 0..whole.len() {
        if whole[at..].starts_with(b"\x03bob") {
            let mut bytes = whole.clone();
            bytes[at + 1] ^= 1;
            let Ok((_, found)) = findings(&storage_of(&bytes), PATH) else {
                continue;
            };
            let of_access = |part| matches!(part, Part::Access | Part::NodeOfAccess);
            hits += usize::from(found.iter().any(|finding| of_access(finding.part)));
        }
    }
    assert!(hits > 0, "no damage to the tree of access was found");
}

#[test]
fn other_databases_have_no_tree_for_it() {
    let storage = MemoryStorage::default();
    let db = Database::create(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap();
    db.update_one(edit(r#"{"_id":"x"}"#), Mode::Interactive)
        .unwrap()
        .unwrap();
    drop(db);
    let trees = |storage: &MemoryStorage| {
        let kind = varve_btree::TreeFile::kind_of(storage, Path::new(PATH));
        kind.unwrap().unwrap().1
    };
    assert_eq!(trees(&storage), 4, "earlier releases read it");
    let storage = MemoryStorage::default();
    create(storage.clone());
    assert_eq!(trees(&storage), 5, "earlier releases refuse it");
}

#[derive(Clone, Default)]
struct Reads(Arc<AtomicUsize>);

impl std::fmt::Debug for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reads")
    }
}

impl Watcher for Reads {
    fn before(&self, call: Call, _: &Path) -> Result<(), std::io::ErrorKind> {
        if let Call::Read(..) | Call::CachedRead(..) = call {
            self.0.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

#[test]
fn a_hundred_documents_among_many_cost_the_time_of_a_hundred() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    for batch in 0..20 {
        let edits = (0..1000).map(|number| {
            let owner = if number % 200 == 7 { "ann" } else { "bob" };
            let text = format!(r#"{{"_id":"{number:03}-{batch}","_access":["{owner}"]}}"#);
            edit(&text).written_by(&Viewer::ALL)
        });
        db.update(edits.collect(), Mode::Interactive).unwrap();
    }
    drop(db);
    let reads = Reads::default();
    let watched = Watched::new(storage, reads.clone());
    let cold = varve_docdb::DatabaseOptions {
        cache: varve_docdb::NodeCache::new(0),
        ..options()
    };
    let db = Database::open(Arc::new(watched), Path::new(PATH), &cold).unwrap();
    let cost = |viewer: &Viewer, count: usize| {
        let before = reads.0.load(Relaxed);
        let snapshot = seen_by(&db, viewer);
        assert_eq!(listed(&snapshot).len(), count);
        assert_eq!(changed(&snapshot, 0).len(), count);
        let last = snapshot.changes(0, Direction::Backward).unwrap().next();
        assert_eq!(last.unwrap().unwrap().seq, snapshot.last_seq().unwrap());
        reads.0.load(Relaxed) - before
    };
    // A few nodes for each of 100 documents, in either order; without the tree, each of 20,000 would be looked at.
    let (few, many) = (cost(&user("ann"), 100), cost(&user("bob"), 19_900));
    assert!(few < 2_500, "{few} reads");
    assert!(
        many > 50 * few,
        "{many} reads for all others, {few} for a hundred"
    );
}
