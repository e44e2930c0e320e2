//! Indexes that one process has built and another one uses.

use crate::common::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_docdb::Database;
use varve_views::{IndexExport, IndexKind, ViewError, ViewIndex, remove_stale};

const DESIGN: &str = r#"{"views":{"v":{"map":"function(d){emit(d.n % 7, d.n)}","reduce":"_sum"}}}"#;

fn documents(numbers: std::ops::Range<u32>) -> Vec<String> {
    let document = |number| format!(r#"{{"_id":"d{number:04}","n":{number}}}"#);
    numbers.map(document).collect()
}

/// A database with documents.
fn filled(storage: &Arc<dyn Storage>, numbers: std::ops::Range<u32>) -> Database {
    let db = database(Arc::clone(storage));
    put(&db, &documents(numbers));
    db
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

fn bytes(export: &IndexExport) -> Vec<u8> {
    let len = usize::try_from(export.len).unwrap();
    export.file.read_vec(0, len).unwrap()
}

/// Brings these bytes in the place of the index; returns whether they were used.
fn replace(index: &ViewIndex, bytes: &[u8], db: &Database) -> Result<bool, ViewError> {
    let replacement = index.begin_replacement().unwrap();
    replacement.file().append(bytes).unwrap();
    replacement.finish(&db.snapshot())
}

fn names(storage: &dyn Storage) -> Vec<String> {
    let entries = storage.list(Path::new(DIRECTORY)).unwrap();
    let names = entries.iter().map(|entry| entry.name.to_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn an_exported_index_is_used_as_if_it_were_built_here() {
    let (storage, elsewhere) = (memory(), memory());
    let db = filled(&storage, 0..40);
    let index = open(Arc::clone(&storage), DESIGN);
    assert!(index.export().unwrap().is_none(), "nothing is built");
    refresh(&index, &db);
    put(&db, &documents(40..50));
    assert!(refresh(&index, &db).has_memtable());
    let export = index.export().unwrap().unwrap();
    assert_eq!(export.seq, 50);
    let exported = bytes(&export);
    assert_eq!(bytes(&index.export().unwrap().unwrap()), exported);
    put(&db, &documents(50..60));
    let expected = short(&refresh(&index, &db), "v?group=true");
    assert_eq!(bytes(&export), exported, "it stays while the index goes on");

    let other = open(Arc::clone(&elsewhere), DESIGN);
    assert!(replace(&other, &exported, &db).unwrap());
    let fetched = other.current(&db.snapshot()).unwrap();
    assert_eq!(fetched.update_seq(), 50);
    assert_eq!(short(&refresh(&other, &db), "v?group=true"), expected);
    assert_eq!(names(elsewhere.as_ref()).len(), 1);
    drop((other, fetched));
    let again = open(elsewhere, DESIGN);
    assert_eq!(again.current(&db.snapshot()).unwrap().update_seq(), 50);
}

#[test]
fn what_is_no_better_index_of_the_database_is_not_used() {
    let storage = memory();
    let db = filled(&storage, 0..20);
    let index = open_writing(Arc::clone(&storage), DESIGN);
    refresh(&index, &db);
    let exported = bytes(&index.export().unwrap().unwrap());
    put(&db, &documents(20..40));
    refresh(&index, &db);
    let newer = bytes(&index.export().unwrap().unwrap());

    let fresh = || open(memory(), DESIGN);
    let anew = filled(&memory(), 0..40);
    assert!(!replace(&fresh(), &exported, &anew).unwrap(), "made anew");
    let design =
        r#"{"views":{"v":{"map":"function(d){emit(1)}"},"w":{"map":"function(d){emit(2)}"}}}"#;
    let of_other = open(memory(), design);
    assert!(
        !replace(&of_other, &exported, &db).unwrap(),
        "another group"
    );
    for cut in [0, 100, newer.len() - 1] {
        assert!(!replace(&fresh(), &newer[..cut], &db).unwrap(), "{cut}");
    }
    assert!(!replace(&index, &exported, &db).unwrap(), "it has more");
    let replacement = index.begin_replacement().unwrap();
    replacement.file().append(&newer).unwrap();
    drop(replacement);
    assert_eq!(names(storage.as_ref()).len(), 1);

    let ended = fresh();
    ended.end();
    let refused = replace(&ended, &newer, &db);
    assert!(matches!(refused, Err(ViewError::Interrupted(_))));
    let ahead = fresh();
    let old = db.snapshot();
    put(&db, &documents(40..41));
    refresh(&index, &db);
    let replacement = ahead.begin_replacement().unwrap();
    let newest = bytes(&index.export().unwrap().unwrap());
    replacement.file().append(&newest).unwrap();
    assert!(!replacement.finish(&old).unwrap(), "ahead of the documents");
}

#[test]
fn what_a_crash_has_left_of_a_fetch_goes() {
    let storage = memory();
    let index = open(Arc::clone(&storage), DESIGN);
    let mut path = Path::new(DIRECTORY).join(index.group().signature().to_string());
    path.set_extension("view.fetched");
    let leave = || drop(storage.open(&path, OpenMode::CreateNew).unwrap());
    leave();
    drop(index);
    let index = open(Arc::clone(&storage), DESIGN);
    assert_eq!(names(storage.as_ref()).len(), 1);
    leave();
    let kept = [index.group().signature()];
    let views = IndexKind::Views;
    let remove = |kept: &[_]| remove_stale(&*storage, Path::new(DIRECTORY), views, kept).unwrap();
    assert_eq!(remove(&kept), 0);
    assert_eq!(remove(&[]), 2);
}

#[test]
fn an_index_is_not_exported_after_its_file_was_removed() {
    let storage = memory();
    let db = filled(&storage, 0..3);
    let index = open_writing(Arc::clone(&storage), DESIGN);
    refresh(&index, &db);
    remove_stale(&*storage, Path::new(DIRECTORY), IndexKind::Views, &[]).unwrap();
    assert!(index.export().unwrap().is_none());
    let next = open_writing(Arc::clone(&storage), DESIGN);
    refresh(&next, &db);
    assert!(
        index.export().unwrap().is_none(),
        "another file stands there"
    );
    assert!(next.export().unwrap().is_some());
}
