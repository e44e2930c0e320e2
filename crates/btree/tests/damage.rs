//! Files with wrong bytes: an error that names file, offset and reason, never a panic.

use crate::common::{self, PATH};
use std::ops::Bound::Unbounded;
use std::path::Path;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_btree::{ChunkRef, Direction, EncodedChunk, Tail, TreeError, TreeFile};
use varve_codec::{Compressor, EngineSetting};

/// A file of two commits, and a chunk of each.
fn file() -> (Vec<u8>, [ChunkRef; 2], u64) {
    let storage = MemoryStorage::default();
    let file = common::create(&storage);
    let mut compressor = Compressor::new(EngineSetting::ZSTD).unwrap();
    let mut commit = |step: u32| {
        let mut txn = file.begin().unwrap();
        let chunk = EncodedChunk::encode(&mut compressor, &b"document ".repeat(20)).unwrap();
        let at = txn.append_chunk(&chunk).unwrap();
        let keys = (0..300u32).map(|n| (n * 2 + step).to_be_bytes());
        let changes: Vec<_> = keys.map(|key| (key, Some(vec![step as u8; 20]))).collect();
        txn.update(0, &changes).unwrap();
        txn.commit().unwrap();
        (at, file.sizes().file)
    };
    let (first, end) = commit(0);
    let (second, _) = commit(1);
    let bytes = storage
        .open(Path::new(PATH), OpenMode::Read)
        .unwrap()
        .read_all()
        .unwrap();
    (bytes, [first, second], end)
}

/// Reads everything; the first error.
fn read_all(file: &TreeFile, chunks: &[ChunkRef]) -> Result<u64, TreeError> {
    let snapshot = file.snapshot();
    let mut items = 0;
    for item in snapshot.range(0, (Unbounded, Unbounded), Direction::Forward)? {
        item?;
        items += 1;
    }
    for &at in chunks {
        snapshot.read_chunk(at, &mut Vec::new())?;
    }
    Ok(items)
}

fn open(bytes: Vec<u8>) -> Result<TreeFile, TreeError> {
    let storage = MemoryStorage::with_files([(PATH.into(), bytes)]);
    TreeFile::open_read_only(
        &storage,
        Path::new(PATH),
        common::options(EngineSetting::NONE),
    )
}

#[test]
fn every_flipped_bit_is_an_error_or_an_older_commit_or_harmless() {
    let (whole, chunks, first_end) = file();
    let (mut errors, mut older, mut unused) = (0, 0, 0);
    for bit in 0..whole.len() * 8 {
        // All bits of some bytes, one bit of the others.
        if bit % 8 != bit / 8 % 8 && bit / 8 % 16 != 0 {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let file = match open(bytes) {
            Ok(file) => file,
            Err(error) => {
                assert!(error.to_string().contains(PATH), "{error}");
                errors += 1;
                continue;
            }
        };
        assert_eq!(file.recovery().is_header_damaged, bit < 40 * 8);
        let in_last_commit = bit as u64 / 8 >= first_end;
        match read_all(&file, &chunks[..1]) {
            // Damage in the last append looks like a torn one; opening says how much is left out.
            Ok(300) => {
                assert!(in_last_commit, "bit {bit}");
                assert_eq!(file.recovery().ignored, whole.len() as u64 - first_end);
                older += 1;
            }
            // Nodes that the second commit replaced, and the first one's record and padding.
            Ok(items) => {
                assert_eq!(items, 600, "bit {bit}");
                assert!(!in_last_commit, "bit {bit}");
                unused += 1;
            }
            Err(error) => {
                let text = error.to_string();
                assert!(
                    error.is_damage() && text.contains("damaged at byte"),
                    "{text}"
                );
                errors += 1;
            }
        }
    }
    assert!(
        errors > 50 && older > 1000 && unused > 200,
        "{errors} {older} {unused}"
    );
}

#[test]
fn every_length_is_an_error_or_an_older_commit() {
    let (whole, chunks, first_end) = file();
    for len in 0..whole.len() {
        match open(whole[..len].to_vec()) {
            Ok(file) => {
                let expected = if (len as u64) < first_end { 0 } else { 300 };
                let chunks = &chunks[..usize::from(expected > 0)];
                assert_eq!(read_all(&file, chunks).unwrap(), expected, "length {len}");
            }
            Err(error) => assert!(matches!(error, TreeError::Unfinished { .. }), "{error}"),
        }
    }
}

#[test]
fn foreign_files_are_refused_by_name() {
    let refused = |bytes: &[u8]| open(bytes.to_vec()).unwrap_err().to_string();
    assert_eq!(refused(b"SQLite format 3\0"), "tree is not a varve file");
    let mut later = file().0;
    later[5] = 10;
    assert_eq!(
        refused(&later),
        "tree has format version 10; this build reads version 1"
    );
    let storage = MemoryStorage::with_files([(PATH.into(), file().0)]);
    let mut options = common::options(EngineSetting::NONE);
    options.kind = *b"other\0\0\0";
    options.reducers.pop();
    let error = TreeFile::open(&storage, Path::new(PATH), options).unwrap_err();
    let expected = "tree is a testing with 2 trees, not a other with 1";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn references_that_lead_nowhere_are_refused() {
    let (whole, [good, _], _) = file();
    let len = whole.len() as u64;
    let file = open(whole).unwrap();
    let snapshot = file.snapshot();
    let wrong = [
        ChunkRef { offset: 0, len: 40 },
        ChunkRef {
            offset: len,
            len: 20,
        },
        ChunkRef {
            offset: u64::MAX,
            len: 20,
        },
        ChunkRef {
            offset: good.offset,
            len: u32::MAX,
        },
        ChunkRef {
            offset: good.offset,
            len: 3,
        },
        ChunkRef {
            offset: good.offset,
            len: good.len + 1,
        },
        ChunkRef {
            offset: good.offset + 1,
            len: good.len,
        },
    ];
    for at in wrong {
        let error = snapshot.read_chunk(at, &mut Vec::new()).unwrap_err();
        assert!(error.is_damage(), "{at:?}: {error}");
    }
    assert!(matches!(file.begin(), Err(TreeError::ReadOnly { .. })));
    assert!(matches!(
        snapshot.get(2, b""),
        Err(TreeError::NoTree {
            tree: 2,
            trees: 2,
            ..
        })
    ));
}

#[test]
fn wrong_batches_are_refused_whole() {
    let storage = MemoryStorage::default();
    let file = common::create(&storage);
    let mut txn = file.begin().unwrap();
    for keys in [["b", "a"], ["a", "a"]] {
        let changes = keys.map(|key| (key, Some("value")));
        let error = txn.update(0, &changes).unwrap_err();
        assert!(
            matches!(
                error,
                TreeError::Unsorted {
                    tree: 0,
                    position: 1
                }
            ),
            "{error}"
        );
    }
    let long = vec![0; varve_btree::MAX_KEY + 1];
    let error = txn.update(0, &[(long, Some(""))]).unwrap_err();
    assert!(
        matches!(error, TreeError::TooLong { what: "key", .. }),
        "{error}"
    );
    assert_eq!(txn.len(0).unwrap(), 0);
}

#[test]
fn fuzz_bodies_run_over_mutated_inputs() {
    let options = varve_btree::Options {
        kind: *b"fuzzing\0",
        ..common::options(EngineSetting::NONE)
    };
    let storage = MemoryStorage::default();
    let made = TreeFile::create(&storage, Path::new(PATH), options).unwrap();
    let mut txn = made.begin().unwrap();
    let changes: Vec<_> = (0..900u32)
        .map(|n| (n.to_be_bytes(), Some([7; 30])))
        .collect();
    txn.update(0, &changes).unwrap();
    let snapshot = txn.commit().unwrap();
    let whole = storage
        .open(Path::new(PATH), OpenMode::Read)
        .unwrap()
        .read_all()
        .unwrap();
    let mut nodes = Vec::new();
    let mut keep = |raw: &[u8]| -> Result<(), TreeError> {
        nodes.push(raw.to_vec());
        Ok(())
    };
    snapshot.visit_nodes(0, &mut keep).unwrap();
    assert!(nodes.len() > 3, "{} nodes", nodes.len());
    let mut state = 12345u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for round in 0..3000 {
        let (source, run): (&[u8], fn(&[u8])) = match round % 4 {
            0 => (&whole, varve_btree::fuzzing::file),
            _ => (&nodes[random(nodes.len())], varve_btree::fuzzing::node),
        };
        let mut bytes = source.to_vec();
        for _ in 0..1 + random(4) {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        bytes.truncate(bytes.len() - random(2) * random(bytes.len()));
        run(&bytes);
    }
}

/// Opens a file for writing: the kind of its tail, whether it opened for reading only, and its length then.
fn opened_for_writing(bytes: Vec<u8>) -> (Tail, bool, u64) {
    let storage = MemoryStorage::with_files([(PATH.into(), bytes)]);
    let options = common::options(EngineSetting::NONE);
    let file = TreeFile::open(&storage, Path::new(PATH), options).unwrap();
    let len = storage.file_len(Path::new(PATH)).unwrap().unwrap();
    (file.recovery().tail, file.is_read_only(), len)
}

#[test]
fn only_what_a_crash_explains_is_cut_off() {
    let (two, _, first_end) = file();
    // Cut in its second commit, the file is as a kill leaves it.
    let cut = two[..two.len() - 100].to_vec();
    assert_eq!(opened_for_writing(cut), (Tail::Torn, false, first_end));
    // The second commit's head is there, but what it covers is not: a power cut may do that.
    let mut broken = two.clone();
    broken[first_end as usize + 10] ^= 1;
    assert_eq!(opened_for_writing(broken), (Tail::Broken, false, first_end));
    // A third one says that the second was synced.
    let storage = MemoryStorage::with_files([(PATH.into(), two.clone())]);
    let options = common::options(EngineSetting::NONE);
    let third = TreeFile::open(&storage, Path::new(PATH), options).unwrap();
    third.sync().unwrap();
    let mut txn = third.begin().unwrap();
    txn.update(0, &[("key", Some("value"))]).unwrap();
    txn.commit().unwrap();
    let stored = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
    let mut three = stored.read_all().unwrap();
    for (at, byte) in [(first_end as usize + 10, 1), (two.len() + 2, 1)] {
        three[at] ^= byte;
    }
    let len = three.len() as u64;
    let (tail, is_read_only, after) = opened_for_writing(three);
    assert!(tail.damage().is_some(), "{tail:?}");
    assert!(is_read_only);
    assert_eq!(after, len, "it is left as it is");
}

#[test]
fn a_long_tail_without_a_mark_is_damage_and_a_long_transaction_is_not() {
    let (mut bytes, ..) = file();
    let end = bytes.len() as u64;
    bytes.resize(bytes.len() + (65 << 20), 7);
    let (tail, is_read_only, _) = opened_for_writing(bytes);
    assert!(tail.damage().is_some() && is_read_only, "{tail:?}");
    let storage = MemoryStorage::with_files([(PATH.into(), file().0)]);
    let options = common::options(EngineSetting::NONE);
    let made = TreeFile::open(&storage, Path::new(PATH), options).unwrap();
    let mut compressor = Compressor::new(EngineSetting::NONE).unwrap();
    let chunk = EncodedChunk::encode(&mut compressor, &vec![7; 3 << 20]).unwrap();
    let mut txn = made.begin().unwrap();
    for _ in 0..25 {
        txn.append_chunk(&chunk).unwrap();
    }
    drop(txn);
    let stored = storage.open(Path::new(PATH), OpenMode::Read).unwrap();
    let bytes = stored.read_all().unwrap();
    assert!(bytes.len() > 65 << 20, "{}", bytes.len());
    assert_eq!(opened_for_writing(bytes), (Tail::Torn, false, end));
}

#[test]
fn a_long_file_without_any_commit_is_damaged_and_not_unfinished() {
    let mut bytes = file().0;
    bytes.resize(80 << 10, 0);
    bytes[40..].fill(7);
    let error = open(bytes).unwrap_err();
    assert!(error.is_damage(), "{error}");
}
