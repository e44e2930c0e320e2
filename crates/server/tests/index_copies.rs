//! Indexes that one server of a shared store has built and others fetch.

use crate::client::{ADMIN, Running};
use crate::hand_over::{ONE, TWO, candidates, create, databases_of, options, start};
use crate::replication::{ask, get, put_docs, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use varve_base::MemoryStorage;
use varve_server::couch::database::logs::{FILE, log_of};
use varve_shared::{DirectoryStore, LogOptions, ObjectStore, RestorePoint, import, restore};

/// Each document has one row, whose value tells by which build it was mapped.
const DESIGN: &str =
    r#"{"views":{"v":{"map":"function (doc) { emit(doc.n, Math.random().toString()); }"}}}"#;

/// So many that an index is copied.
const MANY: u32 = 1000;

/// Number and value of each row.
type MappedRows = BTreeMap<u64, String>;

fn put_numbers(server: &Running, database: &str, numbers: Range<u32>) {
    let document = |number| json!({"_id": format!("d{number:05}"), "n": number});
    put_docs(server, database, &numbers.map(document).collect());
}

fn put_design(server: &Running, database: &str) {
    let design: Value = serde_json::from_str(DESIGN).unwrap();
    let (status, answer) = ask(server, "PUT", &format!("/{database}/_design/d"), &design);
    assert_eq!(status, 201, "{answer}");
}

fn rows(server: &Running, database: &str) -> MappedRows {
    let answer = get(server, &format!("/{database}/_design/d/_view/v"));
    let rows = answer["rows"].as_array();
    let rows = rows.unwrap_or_else(|| panic!("{answer}")).iter();
    let of = |row: &Value| Some((row["key"].as_u64()?, row["value"].as_str()?.to_owned()));
    rows.map(|row| of(row).unwrap_or_else(|| panic!("{row}")))
        .collect()
}

fn metric(server: &Running, name: &str) -> u64 {
    let text = server.send("GET", "/_metrics", &[ADMIN], "").body;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix(&format!("varve_{name} ")));
    line.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

fn fetched(server: &Running) -> u64 {
    metric(server, "fetched_indexes_total")
}

/// Files of the store that are of copies of indexes.
fn objects(store: &TempDir) -> Vec<PathBuf> {
    let directory = DirectoryStore::new(store.path()).unwrap();
    let listed = directory.list("derived/").unwrap();
    let keys = listed
        .into_iter()
        .map(|object| store.path().join(object.key));
    keys.collect()
}

fn versions(store: &TempDir) -> Vec<PathBuf> {
    let is_version = |path: &PathBuf| path.parent().unwrap().ends_with("version");
    objects(store).into_iter().filter(is_version).collect()
}

/// The version that has taken the place of those.
fn wait_for_next(store: &TempDir, before: &[PathBuf]) -> Vec<PathBuf> {
    let mut next = Vec::new();
    wait_for("the next version takes the place of the one before", || {
        next = versions(store);
        next.len() == 1 && next != before
    });
    next
}

/// A server with a database that it owns among two servers, whose index is in the store; and the rows.
fn built(store: &TempDir, name: &str) -> (Running, MappedRows) {
    let one = start(store, ONE);
    create(&one, name);
    put_design(&one, name);
    put_numbers(&one, name, 0..MANY);
    let built = rows(&one, name);
    assert_eq!(built.len(), MANY as usize);
    wait_for("the index is stored", || {
        metric(&one, "stored_index_bytes_total") > 0
    });
    (one, built)
}

fn own(id: &str) -> String {
    databases_of(id).next().unwrap()
}

#[test]
fn a_follower_builds_only_what_the_owner_has_not_stored() {
    let (store, name) = (tempfile::tempdir().unwrap(), own(ONE));
    let (one, built) = built(&store, &name);
    put_numbers(&one, &name, MANY..MANY + 10);
    let two = start(&store, TWO);
    let shown = rows(&two, &name);
    assert_eq!((shown.len(), fetched(&two)), (MANY as usize + 10, 1));
    let is_equal = |(number, value): (&u64, &String)| shown[number] == *value;
    assert!(built.iter().all(is_equal), "nothing is mapped twice");
    let bytes = metric(&two, "fetched_index_bytes_total");
    assert!(bytes >= metric(&one, "stored_index_bytes_total") && bytes > 10_000);
    // Both go on by themselves, and the next changes are few.
    put_numbers(&one, &name, MANY + 10..MANY + 20);
    for server in [&one, &two] {
        assert_eq!(rows(server, &name).len(), MANY as usize + 20);
    }
    assert_eq!(
        (fetched(&one), fetched(&two), versions(&store).len()),
        (0, 1, 1)
    );
}

#[test]
fn a_database_of_the_same_name_gets_no_index_of_the_one_before() {
    let (store, name) = (tempfile::tempdir().unwrap(), own(ONE));
    let (one, _) = built(&store, &name);
    assert_eq!(
        ask(&one, "DELETE", &format!("/{name}"), &Value::Null).0,
        200
    );
    assert_eq!(versions(&store).len(), 1, "its copy goes later");
    create(&one, &name);
    put_design(&one, &name);
    put_numbers(&one, &name, MANY..2 * MANY + 10);
    let two = start(&store, TWO);
    let shown = rows(&two, &name);
    let (many, expected) = (u64::from(MANY), MANY as usize + 10);
    assert!(shown.len() == expected && shown.keys().all(|number| *number >= many));
    assert_eq!(fetched(&two), 0);
}

/// Brings a database back to the state of a slot of its log, as `varve shared restore` and `put` do.
fn put_back(store: &TempDir, name: &str, slot: u64) {
    let store: Arc<dyn ObjectStore> = Arc::new(DirectoryStore::new(store.path()).unwrap());
    let (id, options) = (log_of(name).unwrap(), LogOptions::default());
    let local = Arc::new(MemoryStorage::default());
    let target = (RestorePoint::Slot(slot), Arc::clone(&local) as _);
    restore(&store, &id, &options, target).unwrap();
    let files = [(PathBuf::from(FILE), PathBuf::from(FILE))];
    import(&store, &id, &options, (local.as_ref(), &files)).unwrap();
}

fn last_slot(store: &TempDir, name: &str) -> u64 {
    let directory = DirectoryStore::new(store.path()).unwrap();
    let log = format!("{}/log/", log_of(name).unwrap());
    let records = directory.list(&log).unwrap();
    let last = records.last().unwrap().key.strip_prefix(&log).unwrap();
    last.parse().unwrap()
}

#[test]
fn a_database_that_was_put_back_gets_no_index_of_what_was_after_that() {
    let (store, name) = (tempfile::tempdir().unwrap(), own(ONE));
    let mut one = start(&store, ONE);
    create(&one, &name);
    put_design(&one, &name);
    put_numbers(&one, &name, 0..100);
    let slot = last_slot(&store, &name);
    put_numbers(&one, &name, 100..MANY + 100);
    assert_eq!(rows(&one, &name).len(), MANY as usize + 100);
    one.stop();
    assert_eq!(versions(&store).len(), 1, "stored at the end of the server");
    put_back(&store, &name, slot);
    // The same server with all that it has kept, and one with nothing.
    let shared = options(&store);
    let one = one.restart_in_store(shared);
    put_numbers(&one, &name, 2 * MANY..3 * MANY + 200);
    let two = start(&store, TWO);
    for server in [&two, &one] {
        let mut expected: Vec<u64> = (0..100).collect();
        expected.extend(u64::from(2 * MANY)..u64::from(3 * MANY) + 200);
        let shown = rows(server, &name);
        assert_eq!(shown.into_keys().collect::<Vec<_>>(), expected);
        assert_eq!(fetched(server), 0);
    }
}

#[test]
fn a_copy_is_good_for_the_compacted_database_without_being_sent_again() {
    let (store, name) = (tempfile::tempdir().unwrap(), own(ONE));
    let (one, built) = built(&store, &name);
    let before = (versions(&store), metric(&one, "stored_index_bytes_total"));
    let compact = format!("/{name}/_compact");
    assert_eq!(ask(&one, "POST", &compact, &Value::Null).0, 202);
    wait_for_next(&store, &before.0);
    assert_eq!(metric(&one, "stored_index_bytes_total"), before.1);
    let two = start(&store, TWO);
    assert_eq!((rows(&two, &name), fetched(&two)), (built, 1));
}

#[test]
fn a_damaged_copy_costs_the_build_that_it_would_have_saved() {
    let (store, name) = (tempfile::tempdir().unwrap(), own(ONE));
    let (_one, built) = built(&store, &name);
    let is_part = |path: &&PathBuf| path.parent().unwrap().ends_with("part");
    let all = objects(&store);
    let part = all.iter().find(is_part).unwrap();
    let mut bytes = fs::read(part).unwrap();
    bytes[300] ^= 1;
    fs::write(part, bytes).unwrap();
    let two = start(&store, TWO);
    let shown = rows(&two, &name);
    assert!(shown.keys().eq(built.keys()) && shown.values().ne(built.values()));
    assert_eq!(fetched(&two), 0);
    let told = two.told();
    let is_about = |line: &&String| line.contains("its copy cannot be used");
    let about: Vec<_> = told.iter().filter(is_about).collect();
    assert!(
        about.len() == 1 && about[0].contains("is damaged"),
        "{told:?}"
    );
}

/// The first server has stored what a failing disk has left of its index.
#[test]
fn a_copy_of_a_damaged_file_is_not_used() {
    let (store, name) = (tempfile::tempdir().unwrap(), own(ONE));
    let (one, built) = built(&store, &name);
    let indexes = one.directory.path().join("indexes").join(&name);
    let mut files = fs::read_dir(indexes).unwrap();
    let file = files.next().unwrap().unwrap().path();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[100..middle].fill(0x55);
    // The file that is open, and no other one in its place.
    let mut file = File::options().write(true).open(&file).unwrap();
    file.write_all(&bytes).unwrap();
    let before = versions(&store);
    let compact = format!("/{name}/_compact");
    assert_eq!(ask(&one, "POST", &compact, &Value::Null).0, 202);
    wait_for_next(&store, &before);
    let two = start(&store, TWO);
    assert!(rows(&two, &name).keys().eq(built.keys()));
    assert_eq!(fetched(&two), 0);
    let told = two.told();
    let is_about = |line: &String| line.contains("its file is no whole index");
    assert!(told.iter().any(is_about), "{told:?}");
}

#[test]
fn the_next_owner_gets_what_the_one_before_has_built() {
    let (store, name) = (tempfile::tempdir().unwrap(), own(TWO));
    let (one, _) = built(&store, &name);
    let more = 4 * MANY;
    put_numbers(&one, &name, MANY..more);
    let first = versions(&store);
    assert_eq!(rows(&one, &name).len(), more as usize);
    let second = wait_for_next(&store, &first);
    put_numbers(&one, &name, more..more + MANY);
    let built = rows(&one, &name);
    let two = start(&store, TWO);
    wait_for("both may own databases", || candidates(&one) == 2);
    wait_for_next(&store, &second);
    assert_eq!((rows(&two, &name), fetched(&two)), (built, 1));
}

#[test]
fn copies_that_nothing_needs_are_removed() {
    let store = tempfile::tempdir().unwrap();
    let mut names = databases_of(ONE);
    let (kept, deleted) = (names.next().unwrap(), names.next().unwrap());
    let (one, _) = built(&store, &kept);
    create(&one, &deleted);
    put_design(&one, &deleted);
    put_numbers(&one, &deleted, 0..MANY);
    rows(&one, &deleted);
    wait_for("both are stored", || versions(&store).len() == 2);
    let cleanup = format!("/{kept}/_view_cleanup");
    assert_eq!(ask(&one, "POST", &cleanup, &Value::Null).0, 202);
    assert_eq!(versions(&store).len(), 2, "a design document needs it");
    let path = format!("/{kept}/_design/d");
    let rev = get(&one, &path)["_rev"].as_str().unwrap().to_owned();
    let removed = ask(&one, "DELETE", &format!("{path}?rev={rev}"), &Value::Null);
    assert_eq!(removed.0, 200);
    assert_eq!(ask(&one, "POST", &cleanup, &Value::Null).0, 202);
    assert_eq!(versions(&store).len(), 1);
    assert_eq!(
        ask(&one, "DELETE", &format!("/{deleted}"), &Value::Null).0,
        200
    );
    let every = "/_node/_local/_config/shared/collect_every";
    assert_eq!(ask(&one, "PUT", every, &json!("1")).0, 200);
    wait_for("those of a deleted database go", || {
        objects(&store).is_empty()
    });
}
