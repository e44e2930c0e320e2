//! Databases whose file another process writes.

use crate::compaction::compact;
use crate::{PATH, create, edit, get, options, put_rev};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_docdb::{Database, DocdbError, Mode};

/// A database, and a follower of its file.
fn followed() -> (MemoryStorage, Database, Database) {
    let storage = MemoryStorage::default();
    let writer = create(storage.clone());
    let follower = Arc::new(storage.clone());
    let follower = Database::open_following(follower, Path::new(PATH), &options()).unwrap();
    (storage, writer, follower)
}

#[test]
fn commits_and_compactions_of_the_writer_are_seen_and_no_edit_is_accepted() {
    let (_storage, writer, follower) = followed();
    let told = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&told);
    let _subscription = follower.on_commit(move |seq| heard.store(seq, Ordering::SeqCst));
    let before = follower.snapshot();
    put_rev(&writer, r#"{"_id":"a","n":1}"#);
    assert_eq!(
        get(&follower.snapshot(), "a"),
        None,
        "nothing is looked for"
    );
    follower.follow().unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert!(get(&follower.snapshot(), "a").is_some());
    assert_eq!(get(&before, "a"), None, "a snapshot stays as it is");
    compact(&writer);
    put_rev(&writer, r#"{"_id":"b"}"#);
    follower.follow().unwrap();
    assert!(get(&follower.snapshot(), "a").is_some() && get(&follower.snapshot(), "b").is_some());
    assert_eq!(told.load(Ordering::SeqCst), 2);
    let refused = follower.update_one(edit(r#"{"_id":"c"}"#), Mode::Interactive);
    assert!(
        matches!(refused, Err(DocdbError::Following { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_database_that_was_made_anew_is_another() {
    let (storage, writer, follower) = followed();
    writer.delete().unwrap();
    let again = create(storage);
    put_rev(&again, r#"{"_id":"a"}"#);
    follower.follow().unwrap();
    assert!(follower.is_deleted() && get(&follower.snapshot(), "a").is_none());
    let (_storage, writer, follower) = followed();
    writer.delete().unwrap();
    follower.follow().unwrap();
    assert!(follower.is_deleted());
}

#[test]
fn a_database_that_was_put_back_is_another() {
    let path = Path::new(PATH);
    for later in [0, 1, 9] {
        let (storage, writer, follower) = followed();
        put_rev(&writer, r#"{"_id":"a"}"#);
        let file = storage.open(path, OpenMode::Append).unwrap();
        let len = file.len().unwrap();
        put_rev(&writer, r#"{"_id":"b"}"#);
        follower.follow().unwrap();
        let before = follower.snapshot();
        file.truncate(len).unwrap();
        let again = Database::open(Arc::new(storage.clone()), path, &options()).unwrap();
        (0..later).for_each(|number| drop(put_rev(&again, &format!(r#"{{"_id":"c{number}"}}"#))));
        follower.follow().unwrap();
        assert!(follower.is_deleted(), "{later} later edits");
        assert_eq!(follower.snapshot().update_seq(), before.update_seq());
    }
}

#[test]
fn a_commit_is_found_in_its_file_only() {
    let (_storage, writer, follower) = followed();
    put_rev(&writer, r#"{"_id":"a"}"#);
    let first = writer.snapshot().commit_id().unwrap();
    assert!(!follower.contains_commit(&first).unwrap(), "not seen yet");
    put_rev(&writer, r#"{"_id":"b"}"#);
    follower.follow().unwrap();
    for database in [&writer, &follower] {
        assert!(database.contains_commit(&first).unwrap());
    }
    let other = create(MemoryStorage::default());
    put_rev(&other, r#"{"_id":"a"}"#);
    put_rev(&other, r#"{"_id":"b"}"#);
    assert!(!other.contains_commit(&first).unwrap());
    compact(&writer);
    assert!(!writer.contains_commit(&first).unwrap());
}

#[test]
fn a_follower_goes_on_as_the_writer() {
    let (storage, writer, follower) = followed();
    put_rev(&writer, r#"{"_id":"a"}"#);
    drop(writer);
    let snapshot = follower.snapshot();
    follower.begin_writing().unwrap();
    assert!(!follower.is_following() && follower.why_read_only().is_none());
    put_rev(&follower, r#"{"_id":"b"}"#);
    follower.follow().unwrap();
    assert!(get(&follower.snapshot(), "a").is_some() && get(&snapshot, "a").is_none());
    drop(follower);
    let opened = Database::open(Arc::new(storage), Path::new(PATH), &options()).unwrap();
    assert!(get(&opened.snapshot(), "b").is_some());
}

#[test]
fn a_writer_that_gives_its_file_up_follows_the_next_one() {
    let (_storage, writer, follower) = followed();
    put_rev(&writer, r#"{"_id":"a"}"#);
    let compaction = writer.begin_compaction().unwrap();
    let ended = writer.end_writing(|| -> Result<(), DocdbError> { panic!("a compaction writes") });
    assert!(!ended.unwrap());
    drop(compaction);
    let told = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&told);
    let _subscription = writer.on_commit(move |seq| heard.store(seq, Ordering::SeqCst));
    let ended = writer.end_writing(|| {
        follower.begin_writing()?;
        Ok::<(), DocdbError>(())
    });
    assert!(ended.unwrap() && writer.is_following());
    put_rev(&follower, r#"{"_id":"b"}"#);
    writer.follow().unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 2, "its subscriptions go on");
    assert!(get(&writer.snapshot(), "b").is_some());
    let refused = writer.update_one(edit(r#"{"_id":"c"}"#), Mode::Interactive);
    assert!(
        matches!(refused, Err(DocdbError::Following { .. })),
        "{refused:?}"
    );
    let refused = writer.delete();
    assert!(
        matches!(refused, Err(DocdbError::Following { .. })),
        "{refused:?}"
    );
}
