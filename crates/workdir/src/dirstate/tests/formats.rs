//! Both formats over random tables: written tables read back, and cut or changed ones are refused or read as they are.

use super::super::{Damage, DirstateEntry, Parents, Stat, StatMatch, Timestamp, Tracking};
use super::super::{fuzzing, table::Record, table::Table, v1, v2, v2_write};
use super::{V1, V2_DATA, V2_DOCKET};
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_repo::Node;

/// An entry as only clean files have it, or one of which nothing but its tracking is known.
fn entries() -> impl Strategy<Value = DirstateEntry> {
    let tracking = (any::<bool>(), any::<bool>(), any::<bool>());
    let tracked = tracking.prop_map(|(working, p1, p2_info)| {
        DirstateEntry::of(Tracking {
            working: working || !(p1 || p2_info),
            p1,
            p2_info,
        })
    });
    let mode = prop::sample::select(vec![0o100_644, 0o100_755, 0o120_777]);
    let stat = (
        mode,
        0_u64..1 << 40,
        0_i64..1 << 40,
        0_u32..1_000_000_000,
        0_i64..3,
    );
    let clean = stat.prop_map(|(mode, size, seconds, nanos, later)| {
        let mtime = Timestamp { seconds, nanos };
        // At the same time, in the same second, or in a later one.
        let boundary = match later {
            0 => mtime,
            1 => Timestamp {
                seconds,
                nanos: nanos + 1,
            },
            _ => Timestamp {
                seconds: seconds + later,
                nanos: 0,
            },
        };
        let mut entry = DirstateEntry::of(Tracking {
            working: true,
            p1: true,
            p2_info: false,
        });
        entry.set_stat(&Stat { mode, size, mtime }, boundary);
        entry
    });
    prop_oneof![tracked, clean]
}

/// Files of a few directories, and where some of them were copied from.
fn tables() -> impl Strategy<Value = (Parents, Table)> {
    let path = "[ab]{1,2}(/[ab.]{1,3}){0,3}";
    let files =
        proptest::collection::btree_map(path, (entries(), prop::option::of("[a-z/]{1,9}")), 0..14);
    (any::<[[u8; 20]; 2]>(), files).prop_map(|(parents, files)| {
        let (mut text, mut records, mut copies) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (path, (entry, source)) in files {
            let start = text.len() as u32;
            text.extend_from_slice(path.as_bytes());
            records.push(Record {
                start,
                len: path.len() as u32,
                entry,
            });
            if let Some(source) = source {
                copies.insert(path.into_bytes(), source.into_bytes());
            }
        }
        (parents.map(Node), Table::new(text, records, copies))
    })
}

fn encode_v2(parents: &Parents, table: &Table) -> (Vec<u8>, Vec<u8>) {
    let encoded = v2_write::encode(parents, table, b"0123abcd").unwrap();
    (encoded.docket, encoded.data)
}

fn parse_v2(docket: &[u8], data: &[u8]) -> Result<(Parents, Table), Damage> {
    let docket = v2::Docket::parse(docket)?;
    Ok((docket.parents, v2::parse(&docket, data.to_vec())?))
}

fn rows(table: &Table) -> Vec<(Vec<u8>, DirstateEntry)> {
    table
        .iter()
        .map(|(path, entry)| (path.to_vec(), entry))
        .collect()
}

/// The entry as the first format keeps it: whole seconds, and no time that needs more to be told from a later one.
fn in_seconds(mut entry: DirstateEntry) -> DirstateEntry {
    if entry.second_ambiguous {
        entry.clear_mtime();
    }
    entry.nanos = 0;
    entry
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_second_format_keeps_everything((parents, table) in tables()) {
        let (docket, data) = encode_v2(&parents, &table);
        let (again, read) = parse_v2(&docket, &data).unwrap();
        prop_assert_eq!(again, parents);
        prop_assert_eq!(rows(&read), rows(&table));
        prop_assert_eq!(&read.copies, &table.copies);
        // Bytes behind those that count may be there: another process appends before it moves the docket.
        let longer = [&data[..], b"more"].concat();
        let (_, read) = parse_v2(&docket, &longer).unwrap();
        prop_assert_eq!(rows(&read), rows(&table));
    }

    #[test]
    fn the_first_format_keeps_whole_seconds((parents, table) in tables()) {
        let bytes = v1::encode(&parents, &table).unwrap();
        let (again, read) = v1::parse(bytes).unwrap();
        prop_assert_eq!(again, parents);
        prop_assert_eq!(&read.copies, &table.copies);
        let expected = rows(&table).into_iter().map(|(path, entry)| (path, entry.tracking(), in_seconds(entry)));
        let found = rows(&read).into_iter().map(|(path, entry)| (path, entry.tracking(), entry));
        for (found, expected) in found.zip(expected) {
            prop_assert_eq!(&found.0, &expected.0);
            let Tracking { working, p1, p2_info } = expected.1;
            // Of a file that only the working copy and a merge have, the first format keeps that it is tracked.
            prop_assert_eq!(found.1.working, working);
            prop_assert_eq!((found.1.p1, found.1.p2_info), (p1, p2_info));
            prop_assert_eq!(found.2, expected.2);
        }
        prop_assert_eq!(read.iter().count(), table.iter().count());
    }

    /// A time that a later change of the file could leave as well never says that the file is clean, whatever the
    /// format has made of it.
    #[test]
    fn no_format_makes_a_doubtful_file_clean((parents, table) in tables(), nanos in 0_u32..1_000_000_000) {
        let (docket, data) = encode_v2(&parents, &table);
        let second = parse_v2(&docket, &data).unwrap().1;
        let first = v1::parse(v1::encode(&parents, &table).unwrap()).unwrap().1;
        for (path, entry) in table.iter().filter(|(_, entry)| entry.has_size) {
            let seconds = i64::from(entry.seconds);
            let seen = Stat { mode: entry.mode.into(), size: entry.size.into(), mtime: Timestamp { seconds, nanos } };
            if entry.compare(&seen) == StatMatch::Same {
                continue;
            }
            prop_assert_ne!(second.get(path).unwrap().compare(&seen), StatMatch::Same);
            // The first format compares whole seconds, which is safe where no other change fits into the second.
            if entry.second_ambiguous || !entry.has_mtime {
                prop_assert_ne!(first.get(path).unwrap().compare(&seen), StatMatch::Same);
            }
        }
    }

    #[test]
    fn data_that_is_cut_is_refused((parents, table) in tables(), at in any::<prop::sample::Index>()) {
        let (docket, data) = encode_v2(&parents, &table);
        let len = at.index(docket.len());
        prop_assert!(parse_v2(&docket[..len], &data).is_err());
        if !data.is_empty() {
            prop_assert!(parse_v2(&docket, &data[..at.index(data.len())]).is_err());
        }
        let bytes = v1::encode(&parents, &table).unwrap();
        let len = at.index(bytes.len());
        if let Ok((_, read)) = v1::parse(bytes[..len].to_vec()) {
            // A cut between two entries is no damage that the format could show.
            let kept = rows(&read).len();
            prop_assert!(len == 0 || rows(&table).len() > kept);
            prop_assert!(rows(&read).iter().zip(rows(&table)).all(|(read, all)| read.0 == all.0));
        }
    }
}

/// Every single bit of real files: never a panic, and a table that reads can be written.
#[test]
fn every_changed_bit_of_a_real_file_keeps_the_promises() {
    let second = [V2_DOCKET, V2_DATA].concat();
    for (golden, check) in [
        (V1, fuzzing::dirstate_v1 as fn(&[u8])),
        (&second, fuzzing::dirstate_v2),
    ] {
        for bit in 0..golden.len() * 8 {
            let mut changed = golden.to_vec();
            changed[bit / 8] ^= 1_u8 << (bit % 8);
            check(&changed);
        }
    }
}

/// Of two entries with one path the last counts, as when both are read one after the other.
#[test]
fn of_equal_paths_the_last_counts() {
    let parents = [Node([1; 20]), Node::NULL];
    let one = |entry: DirstateEntry| {
        let record = Record {
            start: 0,
            len: 1,
            entry,
        };
        let table = Table::new(b"a".to_vec(), vec![record], BTreeMap::new());
        v1::encode(&parents, &table).unwrap()
    };
    let tracking = |working| Tracking {
        working,
        p1: true,
        p2_info: false,
    };
    let (kept, removed) = (
        one(DirstateEntry::of(tracking(true))),
        one(DirstateEntry::of(tracking(false))),
    );
    for (first, second, expected) in [(&kept, &removed, false), (&removed, &kept, true)] {
        let (_, table) = v1::parse([&first[..], &second[40..]].concat()).unwrap();
        assert_eq!(rows(&table).len(), 1);
        assert_eq!(table.get(b"a").unwrap().is_tracked(), expected);
    }
}
