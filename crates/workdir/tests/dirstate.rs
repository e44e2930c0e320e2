//! The dirstate against a naive map, in both formats, and beside the real program.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_repo::{Node, Repository};
use varve_workdir::{Dirstate, EntryState, Stat, Timestamp, Tracking, WorkdirError};

/// A repository in memory, in one of the formats of the dirstate.
fn repository(requirement: &str) -> (Arc<MemoryStorage>, Repository) {
    let storage = Arc::new(MemoryStorage::default());
    Repository::create(storage.clone(), Path::new("")).unwrap();
    if !requirement.is_empty() {
        let path = Path::new(".hg/requires");
        storage.remove(path).unwrap();
        let file = storage.open(path, OpenMode::CreateNew).unwrap();
        file.append(format!("share-safe\n{requirement}\n").as_bytes())
            .unwrap();
    }
    let repository = Repository::open(storage.clone(), Path::new("")).unwrap();
    (storage, repository)
}

const FORMATS: [&str; 2] = ["", "dirstate-v2"];

/// A change through the public functions.
#[derive(Clone, Debug)]
enum Change {
    Add,
    Remove,
    Forget,
    Clean(u32),
    Dirty,
    Track(bool, bool, bool),
    Copy(Option<&'static str>),
}

fn changes() -> impl Strategy<Value = Vec<(&'static str, Change)>> {
    let path = prop::sample::select(&["a", "b", "d", "d/a", "d/e/f", "d.x", "z"][..]);
    let change = prop_oneof![
        Just(Change::Add),
        Just(Change::Remove),
        Just(Change::Forget),
        any::<u32>().prop_map(Change::Clean),
        Just(Change::Dirty),
        any::<(bool, bool, bool)>().prop_map(|(w, p1, p2)| Change::Track(w, p1, p2)),
        prop::sample::select(&[None, Some("a"), Some("other")][..]).prop_map(Change::Copy),
    ];
    proptest::collection::vec((path, change), 0..30)
}

/// The model of a file: where it is tracked, and the size of a clean file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    tracking: (bool, bool, bool),
    size: Option<u64>,
}

impl Entry {
    fn of(tracking: (bool, bool, bool)) -> Entry {
        let size = None;
        Entry { tracking, size }
    }
}

type Model = (
    BTreeMap<&'static str, Entry>,
    BTreeMap<&'static str, &'static str>,
);

fn stat(size: u32) -> Stat {
    Stat {
        mode: 0o100_644,
        size: u64::from(size >> 1),
        mtime: Timestamp {
            seconds: 1_000,
            nanos: 5,
        },
    }
}

const LATER: Timestamp = Timestamp {
    seconds: 2_000,
    nanos: 0,
};

fn apply(
    dirstate: &mut Dirstate,
    (entries, copies): &mut Model,
    path: &'static str,
    change: &Change,
) {
    let name = path.as_bytes();
    let before = entries.get(path).cloned();
    match change {
        Change::Add => {
            dirstate.add(name);
            let (_, p1, p2) = before.clone().unwrap_or_default().tracking;
            if !before.is_some_and(|entry| entry.tracking.0) {
                entries.insert(path, Entry::of((true, p1, p2)));
            }
        }
        Change::Remove => {
            dirstate.remove(name);
            if let Some(Entry {
                tracking: (_, p1, p2),
                ..
            }) = before
            {
                copies.remove(path);
                entries.insert(path, Entry::of((false, p1, p2)));
            }
        }
        Change::Forget => {
            dirstate.forget(name);
            copies.remove(path);
            entries.remove(path);
        }
        Change::Clean(size) => {
            let stat = stat(*size);
            dirstate.set_clean(name, &stat, LATER);
            copies.remove(path);
            let (tracking, size) = ((true, true, false), Some(stat.size));
            entries.insert(path, Entry { tracking, size });
        }
        Change::Dirty => dirstate.set_possibly_dirty(name),
        Change::Track(working, p1, p2_info) => {
            let (working, p1, p2_info) = (*working, *p1, *p2_info);
            if (working, p1, p2_info) == (false, false, false) {
                copies.remove(path);
            }
            dirstate.set_tracking(
                name,
                Tracking {
                    working,
                    p1,
                    p2_info,
                },
            );
            entries.insert(path, Entry::of((working, p1, p2_info)));
        }
        Change::Copy(source) => {
            // A copy is recorded of tracked files only.
            if before.is_some_and(|entry| entry.tracking.0) {
                apply_copy(dirstate, copies, path, *source);
            }
        }
    }
    entries.retain(|_, entry| entry.tracking != (false, false, false));
}

fn apply_copy(
    dirstate: &mut Dirstate,
    copies: &mut BTreeMap<&'static str, &'static str>,
    path: &'static str,
    source: Option<&'static str>,
) {
    dirstate.copy(path.as_bytes(), source.map(str::as_bytes));
    match source {
        Some(source) => drop(copies.insert(path, source)),
        None => drop(copies.remove(path)),
    }
}

fn check(dirstate: &Dirstate, (entries, copies): &Model) {
    let found: Vec<_> = dirstate.iter().collect();
    assert_eq!(found.len(), entries.len());
    for ((path, entry), (name, model)) in found.into_iter().zip(entries) {
        assert_eq!(path, name.as_bytes());
        let Tracking {
            working,
            p1,
            p2_info,
        } = entry.tracking();
        assert_eq!((working, p1, p2_info), model.tracking, "{name}");
        assert_eq!(dirstate.is_tracked(path), working);
        let state = match (working, p1, p2_info) {
            (false, ..) => EntryState::Removed,
            (true, true, true) => EntryState::Merged,
            (true, false, false) => EntryState::Added,
            _ => EntryState::Normal,
        };
        assert_eq!(entry.state(), state, "{name}");
        if let Some(size) = model.size {
            let other = Stat {
                size: size + 1,
                ..stat(0)
            };
            assert_eq!(
                entry.compare(&other),
                varve_workdir::StatMatch::Different,
                "{name}"
            );
        }
    }
    let copied = copies
        .iter()
        .map(|(path, source)| (path.as_bytes(), source.as_bytes()));
    let tracked = copied.filter(|(path, _)| dirstate.get(path).is_some());
    assert!(
        dirstate
            .copies()
            .filter(|(path, _)| dirstate.get(path).is_some())
            .eq(tracked)
    );
}

proptest! {
    #[test]
    fn a_dirstate_is_the_map_that_was_written(
        changes in changes(), more in changes(), parents in any::<[[u8; 20]; 2]>(),
    ) {
        for format in FORMATS {
            let (_, repository) = repository(format);
            let mut model = Model::default();
            let mut dirstate = Dirstate::read(&repository).unwrap();
            dirstate.set_parents(parents.map(Node));
            for part in [&changes, &more] {
                for (path, change) in part {
                    apply(&mut dirstate, &mut model, path, change);
                }
                check(&dirstate, &model);
                dirstate.write(&repository).unwrap();
                prop_assert!(!dirstate.is_changed());
                dirstate = Dirstate::read(&repository).unwrap();
                check(&dirstate, &model);
                prop_assert_eq!(dirstate.parents(), parents.map(Node));
            }
        }
    }

    #[test]
    fn the_entries_below_a_directory_are_those_with_its_prefix(changes in changes()) {
        let (_, repository) = repository("");
        let mut dirstate = Dirstate::read(&repository).unwrap();
        let mut model = Model::default();
        for (path, change) in &changes {
            apply(&mut dirstate, &mut model, path, change);
        }
        for directory in ["", "d", "d/e", "a", "nosuch"] {
            let below = dirstate.below(directory.as_bytes()).map(|(path, _)| path.to_vec());
            let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let expected = model.0.keys().filter(|path| path.starts_with(&prefix));
            prop_assert!(below.eq(expected.map(|path| path.as_bytes().to_vec())), "{}", directory);
        }
    }

    #[test]
    fn damaged_files_are_refused_or_read(
        changes in changes(), at in any::<prop::sample::Index>(), byte: u8, cut: bool,
    ) {
        for format in FORMATS {
            let (storage, repository) = repository(format);
            let mut dirstate = Dirstate::read(&repository).unwrap();
            dirstate.set_parents([Node([7; 20]), Node::NULL]);
            dirstate.add(b"first");
            let mut model = Model::default();
            for (path, change) in &changes {
                apply(&mut dirstate, &mut model, path, change);
            }
            dirstate.write(&repository).unwrap();
            let path = Path::new(".hg/dirstate");
            let mut bytes = varve_base::storage::read_if_there(storage.as_ref(), path).unwrap().unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            storage.remove(path).unwrap();
            storage.open(path, OpenMode::CreateNew).unwrap().append(&bytes).unwrap();
            match Dirstate::read(&repository) {
                Ok(read) => prop_assert!(read.iter().count() <= model.0.len() + 1),
                Err(error) => {
                    let expected = matches!(error, WorkdirError::DamagedDirstate { .. });
                    prop_assert!(expected, "{}", error);
                }
            }
        }
    }
}

#[test]
fn a_write_without_changes_leaves_the_file() {
    let (storage, repository) = repository("");
    let mut dirstate = Dirstate::read(&repository).unwrap();
    assert!(!dirstate.is_changed());
    dirstate.write(&repository).unwrap();
    let there =
        varve_base::storage::read_if_there(storage.as_ref(), Path::new(".hg/dirstate")).unwrap();
    assert_eq!(there, None);
    dirstate.add(b"a");
    assert!(dirstate.is_changed());
    dirstate.write(&repository).unwrap();
    dirstate.add(b"a");
    assert!(!dirstate.is_changed(), "the file is tracked already");
}

#[test]
fn a_dirstate_that_another_process_wrote_is_not_current() {
    for format in FORMATS {
        let (_, repository) = repository(format);
        let ours = Dirstate::read(&repository).unwrap();
        assert!(ours.is_current(&repository).unwrap());
        let mut theirs = ours.clone();
        theirs.add(b"a");
        theirs.write(&repository).unwrap();
        assert!(!ours.is_current(&repository).unwrap(), "{format}");
    }
}

#[test]
fn only_the_newest_data_file_is_left() {
    let (storage, repository) = repository("dirstate-v2");
    let mut dirstate = Dirstate::read(&repository).unwrap();
    for path in ["a", "b", "c"] {
        dirstate.add(path.as_bytes());
        dirstate.write(&repository).unwrap();
    }
    let names = storage.list(Path::new(".hg")).unwrap();
    let data = names
        .iter()
        .filter(|name| format!("{name:?}").contains("dirstate."));
    assert_eq!(data.count(), 1, "{names:?}");
}

#[test]
fn clearing_leaves_the_parents() {
    let (_, repository) = repository("");
    let mut dirstate = Dirstate::read(&repository).unwrap();
    dirstate.set_parents([Node([1; 20]), Node([2; 20])]);
    dirstate.add(b"a");
    dirstate.copy(b"a", Some(b"b"));
    dirstate.clear();
    dirstate.write(&repository).unwrap();
    let read = Dirstate::read(&repository).unwrap();
    assert_eq!(read.parents(), [Node([1; 20]), Node([2; 20])]);
    assert_eq!((read.iter().count(), read.copies().count()), (0, 0));
}
