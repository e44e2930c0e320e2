//! Any changes, synced at any time: a fresh copy of the log is what a storage without a log would be.

use crate::common::Setup;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use varve_base::storage::EntryKind;
use varve_base::{MemoryStorage, OpenMode, Storage, StorageError};
use varve_shared::LogOptions;

#[derive(Clone, Debug)]
enum Step {
    Create(PathBuf),
    Append(PathBuf, u8),
    Truncate(PathBuf, u8),
    Rename(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
    Remove(PathBuf),
    RemoveTree,
    RenameTree(bool),
    CreateDirectory,
    Link(PathBuf, PathBuf),
    Symlink(PathBuf),
    Sync,
    Checkpoint,
    /// Another process takes over.
    TakeOver,
    /// All files are read, so that nothing of them is left in the store.
    Look,
}

fn file() -> impl Strategy<Value = PathBuf> {
    prop::sample::select(vec!["a", "b", "e/c", "e/d"]).prop_map(PathBuf::from)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => file().prop_map(Step::Create),
        6 => (file(), any::<u8>()).prop_map(|(path, len)| Step::Append(path, len)),
        2 => (file(), any::<u8>()).prop_map(|(path, len)| Step::Truncate(path, len)),
        2 => (file(), file()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (file(), file()).prop_map(|(one, other)| Step::Exchange(one, other)),
        1 => file().prop_map(Step::Remove),
        1 => Just(Step::RemoveTree),
        1 => any::<bool>().prop_map(Step::RenameTree),
        2 => Just(Step::CreateDirectory),
        1 => (file(), file()).prop_map(|(from, to)| Step::Link(from, to)),
        1 => file().prop_map(Step::Symlink),
        5 => Just(Step::Sync),
        1 => Just(Step::Checkpoint),
        2 => Just(Step::TakeOver),
        1 => Just(Step::Look),
    ]
}

/// Changes a storage; steps that no storage can take are left out.
fn apply(storage: &dyn Storage, step: &Step) -> Result<(), StorageError> {
    let kind = |path: &Path| storage.kind(path).unwrap();
    let is_file = |path: &Path| kind(path) == Some(EntryKind::File);
    let has_place = |path: &Path| {
        let above = path.parent().unwrap();
        above.as_os_str().is_empty() || kind(above) == Some(EntryKind::Directory)
    };
    match step {
        Step::Create(path) if has_place(path) && kind(path).is_none() => {
            storage.open(path, OpenMode::CreateNew).map(|_| ())
        }
        Step::Append(path, len) if is_file(path) => {
            let file = storage.open(path, OpenMode::Append)?;
            file.append(&vec![*len; usize::from(*len)]).map(|_| ())
        }
        Step::Truncate(path, len) if is_file(path) => {
            let file = storage.open(path, OpenMode::Append)?;
            file.truncate(u64::from(*len).min(file.len()?))
        }
        Step::Rename(from, to)
            if is_file(from) && has_place(to) && kind(to) != Some(EntryKind::Other) =>
        {
            storage.rename(from, to)
        }
        Step::Exchange(one, other) if is_file(one) && is_file(other) && one != other => {
            storage.exchange(one, other)
        }
        Step::Remove(path) if kind(path).is_some() => storage.remove(path),
        Step::RemoveTree => storage.remove_tree(Path::new("e")),
        Step::RenameTree(forth) => {
            let (from, to) = if *forth { ("e", "f") } else { ("f", "e") };
            let (from, to) = (Path::new(from), Path::new(to));
            match (kind(from), kind(to)) {
                (Some(_), None) => storage.rename(from, to),
                _ => Ok(()),
            }
        }
        Step::CreateDirectory => storage.create_directory(Path::new("e")),
        Step::Link(from, to) if is_file(from) && has_place(to) && kind(to).is_none() => {
            storage.link(from, to)
        }
        Step::Symlink(path) if has_place(path) && kind(path).is_none() => {
            storage.create_symlink("target", path)
        }
        _ => Ok(()),
    }
}

fn tree(storage: &dyn Storage) -> BTreeMap<PathBuf, (EntryKind, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for directory in ["", "e", "f"] {
        let directory = Path::new(directory);
        let entries = storage.list(directory).unwrap_or_default();
        for entry in entries {
            let path = directory.join(&entry.name);
            let bytes = match entry.kind {
                EntryKind::File => {
                    let file = storage.open(&path, OpenMode::Read).unwrap();
                    file.read_all().unwrap()
                }
                EntryKind::Directory => Vec::new(),
                EntryKind::Other => storage.read_symlink(&path).unwrap().unwrap().into_bytes(),
            };
            found.insert(path, (entry.kind, bytes));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn logs_equal_storages_without_one(steps in proptest::collection::vec(step(), 1..40)) {
        let options = LogOptions {
            checkpoint_slots: 6,
            inline_bytes: 150,
            segment_bytes: 100,
            ..LogOptions::default()
        };
        let setup = Setup::new(options);
        let (model, follower) = (MemoryStorage::default(), setup.open("db"));
        let mut owner = setup.open("db");
        owner.take_over().unwrap();
        for step in &steps {
            match step {
                Step::Sync => owner.sync_directory(Path::new("")).unwrap(),
                Step::Checkpoint => owner.checkpoint().unwrap(),
                Step::Look => prop_assert_eq!(tree(&owner), tree(&model)),
                Step::TakeOver => {
                    owner.sync_directory(Path::new("")).unwrap();
                    owner = setup.open("db");
                    owner.take_over().unwrap();
                }
                change => {
                    apply(&model, change).unwrap();
                    apply(&owner, change).unwrap();
                }
            }
        }
        prop_assert_eq!(tree(&owner), tree(&model));
        owner.sync_directory(Path::new("")).unwrap();
        follower.ensure_current().unwrap();
        prop_assert_eq!(tree(&follower), tree(&model));
        prop_assert_eq!(tree(&setup.open("db")), tree(&model));
        prop_assert_eq!(setup.verify("db").findings, Vec::<String>::new());
    }
}
