//! Cached reads: the same answers as blocking ones, or `WouldBlock`.

use crate::common::{PATH, options};
use std::ops::Bound;
use std::path::Path;
use varve_base::{MemoryStorage, ReadMode, Storage};
use varve_btree::{
    Bounds, ChunkRef, Direction, EncodedChunk, NodeCache, Options, Snapshot, TreeError, TreeFile,
};
use varve_codec::{Compressor, EngineSetting};
use varve_testkit::watched::{Cold, Watched};

const ITEMS: u32 = 2000;
const ALL: Bounds<'static> = (Bound::Unbounded, Bound::Unbounded);

/// A tree of several levels and one chunk.
fn filled(storage: &dyn Storage, cache: NodeCache) -> (TreeFile, ChunkRef) {
    let options = Options {
        cache,
        ..options(EngineSetting::SNAPPY)
    };
    let file = TreeFile::create(storage, Path::new(PATH), options).unwrap();
    let mut txn = file.begin().unwrap();
    let mut compressor = Compressor::new(EngineSetting::NONE).unwrap();
    let chunk = EncodedChunk::encode(&mut compressor, b"a chunk").unwrap();
    let at = txn.append_chunk(&chunk).unwrap();
    let items: Vec<_> = (0..ITEMS)
        .map(|number| (number.to_be_bytes(), Some([7; 40])))
        .collect();
    txn.update(0, &items).unwrap();
    txn.commit().unwrap();
    (file, at)
}

type Call = fn(&Snapshot, ChunkRef) -> Result<Vec<u8>, TreeError>;

/// Every way to read that needs more than the commit record.
const CALLS: [(&str, Call); 8] = [
    ("get", |snapshot, _| {
        let item = snapshot.get(0, &9_u32.to_be_bytes())?;
        Ok(item.unwrap().value().to_vec())
    }),
    ("get_many", |snapshot, _| {
        let items = snapshot.get_many(0, &[[0, 0, 0, 1], [9, 9, 9, 9]])?;
        Ok(items.iter().map(|item| item.is_some().into()).collect())
    }),
    ("rank", |snapshot, _| {
        Ok(snapshot.rank(0, &[0, 0, 1])?.to_be_bytes().to_vec())
    }),
    ("range", |snapshot, _| {
        let keys = snapshot.range(0, ALL, Direction::Backward)?;
        keys.map(|item| Ok(item?.key()[3])).collect()
    }),
    ("reduce", |snapshot, _| {
        let low = 5_u32.to_be_bytes();
        let bounds = (Bound::Included(&low[..]), Bound::Unbounded);
        snapshot.reduce(0, bounds)
    }),
    ("read_chunk", |snapshot, at| {
        let mut out = Vec::new();
        snapshot.read_chunk(at, &mut out).map(|()| out)
    }),
    ("read_chunk in order", |snapshot, at| {
        let mut out = Vec::new();
        let ordered = snapshot.in_order();
        ordered.read_chunk(at, &mut out).map(|()| out)
    }),
    ("stored_chunk", |snapshot, at| {
        let chunk = snapshot.stored_chunk(at)?;
        Ok(chunk.stored_len().to_be_bytes().to_vec())
    }),
];

#[test]
fn what_is_in_memory_reads_the_same() {
    let (file, at) = filled(&MemoryStorage::default(), NodeCache::new(0));
    let cached = file.snapshot().with_mode(ReadMode::CachedOnly);
    assert_eq!(cached.mode(), ReadMode::CachedOnly);
    for (name, call) in CALLS {
        let blocking = call(&file.snapshot(), at).unwrap();
        assert_eq!(call(&cached, at).unwrap(), blocking, "{name}");
    }
}

#[test]
fn what_is_on_the_disk_only_would_block() {
    let disk = Watched::new(MemoryStorage::default(), Cold::default());
    let (file, at) = filled(&disk, NodeCache::new(0));
    disk.watcher().begin();
    let cached = file.snapshot().with_mode(ReadMode::CachedOnly);
    for (name, call) in CALLS {
        let error = call(&cached, at).unwrap_err();
        assert!(error.is_would_block(), "{name}: {error}");
        assert!(!error.is_damage(), "{name}");
        call(&cached.clone().with_mode(ReadMode::Blocking), at).unwrap();
    }
    // The root's summary stands in the commit record.
    assert_eq!(cached.count(0, ALL).unwrap(), u64::from(ITEMS));
}

#[test]
fn cached_nodes_need_no_disk() {
    let disk = Watched::new(MemoryStorage::default(), Cold::default());
    let (file, _) = filled(&disk, NodeCache::new(1 << 20));
    disk.watcher().begin();
    let cached = file.snapshot().with_mode(ReadMode::CachedOnly);
    let key = 9_u32.to_be_bytes();
    let read = |snapshot: &Snapshot| snapshot.get(0, &key).map(|item| item.unwrap().key()[3]);
    assert_eq!(read(&file.snapshot()).unwrap(), 9);
    assert_eq!(read(&cached).unwrap(), 9);
}
