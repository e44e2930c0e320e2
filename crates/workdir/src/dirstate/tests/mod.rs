mod formats;

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_base::DiskStorage;

/// Written by `hg` after a commit of `a`, `d/b`, `d/e/x` (executable) and `l` (a link) and then
/// `add n`, `remove d/b`, `copy a c`, `rename d/e/x d/y`, in each of the formats.
const V1: &[u8] = include_bytes!("../../../tests/golden/dirstate-v1");
const V2_DOCKET: &[u8] = include_bytes!("../../../tests/golden/dirstate-v2-docket");
const V2_DATA: &[u8] = include_bytes!("../../../tests/golden/dirstate-v2-data");

fn golden_v2() -> (Parents, Table) {
    let docket = v2::Docket::parse(V2_DOCKET).unwrap();
    assert_eq!(docket.id, b"45b12bbf");
    (
        docket.parents,
        v2::parse(&docket, V2_DATA.to_vec()).unwrap(),
    )
}

/// One line per entry, as `hg debugstate` has them.
fn lines(table: &Table) -> Vec<String> {
    let entries = table.iter().map(|(path, entry)| {
        let letter = match entry.state() {
            EntryState::Normal => 'n',
            EntryState::Added => 'a',
            EntryState::Removed => 'r',
            EntryState::Merged => 'm',
        };
        let known = if entry.has_mtime { "set" } else { "unset" };
        let path = String::from_utf8_lossy(path).into_owned();
        let from = table.copies.get(path.as_bytes()).cloned();
        let from = String::from_utf8(from.unwrap_or_default()).unwrap();
        format!(
            "{letter} {:o} {} {known} {path} {from}",
            entry.mode, entry.size
        )
    });
    entries.collect()
}

#[test]
fn both_golden_files_say_the_same() {
    let expected = [
        "n 100644 2 set a ",
        "a 0 0 unset c a",
        "r 0 0 unset d/b ",
        "r 0 0 unset d/e/x ",
        "a 0 0 unset d/y d/e/x",
        "n 120777 1 set l ",
        "a 0 0 unset n ",
    ];
    let (parents, table) = v1::parse(V1.to_vec()).unwrap();
    assert_eq!(lines(&table), expected);
    assert_eq!(
        parents[0].to_string(),
        "a11756def40da23fb3f56866066fd9207a8ec583"
    );
    assert_eq!(table.get(b"a").unwrap().seconds, 1_577_934_245);
    let (again, table) = golden_v2();
    assert_eq!(lines(&table), expected);
    assert_eq!(again, parents);
    let a = table.get(b"a").unwrap();
    assert_eq!((a.seconds, a.nanos), (1_577_934_245, 678_000_000));
}

#[test]
fn the_golden_bytes_are_written_again() {
    let (parents, table) = golden_v2();
    let encoded = v2_write::encode(&parents, &table, b"45b12bbf").unwrap();
    assert_eq!(encoded.data, V2_DATA);
    assert_eq!(encoded.docket, V2_DOCKET);
    // Version 1 may have its entries in any order; written here they are sorted.
    let (parents, table) = v1::parse(V1.to_vec()).unwrap();
    let bytes = v1::encode(&parents, &table).unwrap();
    assert_eq!(bytes.len(), V1.len());
    let (_, again) = v1::parse(bytes).unwrap();
    assert!(again.iter().eq(table.iter()));
    assert_eq!(again.copies, table.copies);
}

#[test]
fn cut_files_are_damaged() {
    for len in 1..V1.len() {
        if let Ok((parents, table)) = v1::parse(V1[..len].to_vec()) {
            // Cut between two entries nothing can be noticed.
            assert_eq!(v1::encode(&parents, &table).unwrap().len(), len);
        }
    }
    for len in 0..V2_DOCKET.len() {
        assert!(v2::Docket::parse(&V2_DOCKET[..len]).is_err(), "{len}");
    }
    let docket = v2::Docket::parse(V2_DOCKET).unwrap();
    assert!(v2::parse(&docket, V2_DATA[..420].to_vec()).is_err());
}

#[test]
fn a_tree_that_contains_itself_is_refused() {
    let docket = v2::Docket::parse(V2_DOCKET).unwrap();
    let mut data = V2_DATA.to_vec();
    let d = docket.roots as usize + 2 * v2::node::LEN;
    let children = d + v2::node::CHILDREN;
    data[children..children + 4].copy_from_slice(&docket.roots.to_be_bytes());
    let error = v2::parse(&docket, data).unwrap_err();
    assert_eq!(error.1, "more nodes than fit");
}

fn repository(requires: &str) -> (tempfile::TempDir, Repository) {
    let directory = tempfile::tempdir().unwrap();
    let storage = Arc::new(DiskStorage::new(directory.path()));
    Repository::create(storage.clone(), Path::new("")).unwrap();
    let path = directory.path().join(".hg/requires");
    std::fs::write(path, format!("share-safe\n{requires}")).unwrap();
    let repository = Repository::open(storage, Path::new("")).unwrap();
    (directory, repository)
}

#[test]
fn changes_are_read_back_in_every_format() {
    for requires in ["", "dirstate-v2\n", "dirstate-tracked-key-v1\n"] {
        let (directory, repository) = repository(requires);
        let mut state = Dirstate::read(&repository).unwrap();
        assert_eq!(state.iter().count(), 0);
        let clock = Dirstate::clock(&repository).unwrap();
        let seen = Stat {
            mode: 0o100_755,
            size: 3,
            mtime: Timestamp {
                seconds: 5,
                nanos: 7,
            },
        };
        state.set_parents([Node([1; 20]), Node::NULL]);
        for path in ["b", "d/e/f", "a", "d.x"] {
            state.set_clean(path.as_bytes(), &seen, clock);
        }
        state.add(b"new");
        state.copy(b"new", Some(b"a"));
        state.add(b"dropped");
        state.remove(b"dropped");
        state.remove(b"b");
        state.write(&repository).unwrap();
        let mut again = Dirstate::read(&repository).unwrap();
        assert_eq!(again.parents(), state.parents());
        let letters = |state: &Dirstate| {
            let entries = state
                .iter()
                .map(|(path, entry)| (path.to_vec(), entry.state()));
            entries.collect::<Vec<_>>()
        };
        assert_eq!(letters(&again), letters(&state));
        assert_eq!(letters(&again).len(), 5);
        assert_eq!(again.get(b"a").unwrap().compare(&seen), StatMatch::Same);
        assert_eq!(again.copy_source(b"new"), Some(&b"a"[..]));
        let below: Vec<_> = again.below(b"d").map(|(path, _)| path.to_vec()).collect();
        assert_eq!(below, [b"d/e/f"]);
        assert!(again.is_current(&repository).unwrap());
        again.remove(b"new");
        again.add(b"b");
        again.write(&repository).unwrap();
        assert_eq!(again.get(b"b").unwrap().compare(&seen), StatMatch::Unsure);
        assert!(!state.is_current(&repository).unwrap());
        let names = std::fs::read_dir(directory.path().join(".hg")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let count = names.filter(|name| name.contains("dirstate")).count();
        assert_eq!(count, 1 + usize::from(!requires.is_empty()), "{requires}");
    }
}

proptest! {
    /// Against a plain map, with changes over the entries read.
    #[test]
    fn the_table_is_a_sorted_map(
        first in proptest::collection::btree_set("[a-c/.]{1,4}", 0..20),
        changes in proptest::collection::vec(("[a-c/.]{1,4}", any::<bool>()), 0..20),
    ) {
        let on = DirstateEntry::of(Tracking { working: true, ..Tracking::default() });
        let mut text = Vec::new();
        let records = first.iter().rev().map(|path| {
            let start = text.len() as u32;
            text.extend_from_slice(path.as_bytes());
            table::Record { start, len: path.len() as u32, entry: on }
        }).collect();
        let mut table = Table::new(text, records, BTreeMap::new());
        let mut model = first;
        for (path, there) in changes {
            table.set(path.as_bytes(), if there { on } else { DirstateEntry::default() });
            if there { model.insert(path); } else { model.remove(&path); }
        }
        prop_assert!(table.iter().map(|entry| entry.0).eq(model.iter().map(String::as_bytes)));
        for from in ["", "a", "b/"] {
            let expected = model.range(from.to_owned()..).map(String::as_bytes);
            prop_assert!(table.iter_from(from.as_bytes()).map(|entry| entry.0).eq(expected));
        }
    }

    #[test]
    fn changed_bytes_keep_the_promises(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let changed = |golden: &[u8]| {
            let mut bytes = golden.to_vec();
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes
        };
        fuzzing::dirstate_v1(&changed(V1));
        fuzzing::dirstate_v2(&changed(&[V2_DOCKET, V2_DATA].concat()));
    }
}
