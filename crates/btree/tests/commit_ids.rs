//! A commit is known again, and taken for no other.

use crate::common::{PATH, create, open};
use std::path::Path;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_btree::{CommitId, TreeFile};

fn put(file: &TreeFile, value: &str) {
    let mut txn = file.begin().unwrap();
    txn.update(0, &[("key", Some(value))]).unwrap();
    txn.commit().unwrap();
}

#[test]
fn a_file_follows_its_own_commits_and_no_others() {
    let storage = MemoryStorage::default();
    let file = create(&storage);
    put(&file, "one");
    let first = file.snapshot().commit_id().unwrap();
    put(&file, "two");
    let second = file.snapshot().commit_id().unwrap();
    assert_ne!(first, second);
    assert_eq!(CommitId::decode(&second.encode()), second);
    assert!(file.follows(&first).unwrap() && file.follows(&second).unwrap());
    let other = create(&MemoryStorage::default());
    put(&other, "one");
    put(&other, "two");
    assert!(!other.follows(&first).unwrap(), "the same in another file");
    let len = file.sizes().file;
    drop(file);
    // A power cut takes the second commit, and another one takes its place.
    let bytes = storage.open(Path::new(PATH), OpenMode::Append).unwrap();
    bytes.truncate(len - 1).unwrap();
    let file = open(&storage);
    assert!(file.follows(&first).unwrap() && !file.follows(&second).unwrap());
    put(&file, "six");
    assert_eq!(file.sizes().file, len);
    assert!(file.follows(&first).unwrap() && !file.follows(&second).unwrap());
}
