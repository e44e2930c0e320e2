//! Chunks read about in their order: the bytes behind one are read along.

use crate::common;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;
use varve_base::MemoryStorage;
use varve_btree::{ChunkRef, EncodedChunk, Snapshot, TreeFile};
use varve_codec::{Compressor, EngineSetting};
use varve_testkit::watched::{Call, Watched, Watcher};

/// Notes how many bytes each read asks for; reads of more than `most` fail.
#[derive(Debug, Default)]
struct Reads {
    seen: Mutex<Vec<usize>>,
    most: Mutex<Option<usize>>,
}

impl Watcher for Reads {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        let Call::Read(_, len) = call else {
            return Ok(());
        };
        self.seen.lock().unwrap().push(len);
        match *self.most.lock().unwrap() {
            Some(most) if len > most => Err(ErrorKind::Other),
            _ => Ok(()),
        }
    }
}

type Disk = Watched<MemoryStorage, Reads>;

fn content(number: u32) -> Vec<u8> {
    let len = 300 + number as usize % 200;
    number.to_le_bytes().into_iter().cycle().take(len).collect()
}

/// Chunks one behind the other.
fn filled(count: u32) -> (Disk, TreeFile, Vec<ChunkRef>) {
    let disk = Watched::new(MemoryStorage::default(), Reads::default());
    let file = common::create(&disk);
    let mut compressor = Compressor::new(EngineSetting::NONE).unwrap();
    let mut txn = file.begin().unwrap();
    let mut append = |number| {
        let chunk = EncodedChunk::encode(&mut compressor, &content(number));
        txn.append_chunk(&chunk.unwrap()).unwrap()
    };
    let places = (0..count).map(&mut append).collect();
    txn.commit().unwrap();
    (disk, file, places)
}

/// Reads chunks in an order, and returns the lengths of the disk's reads.
fn read(disk: &Disk, snapshot: &Snapshot, places: &[ChunkRef], order: &[u32]) -> Vec<usize> {
    disk.watcher().seen.lock().unwrap().clear();
    for &number in order {
        let mut out = b"kept".to_vec();
        snapshot
            .read_chunk(places[number as usize], &mut out)
            .unwrap();
        assert_eq!(out.strip_prefix(b"kept"), Some(&content(number)[..]));
    }
    std::mem::take(&mut *disk.watcher().seen.lock().unwrap())
}

#[test]
fn what_follows_is_read_along_and_nothing_else() {
    let (disk, file, places) = filled(2000);
    let snapshot = file.snapshot();
    let all: Vec<u32> = (0..2000).collect();
    assert_eq!(read(&disk, &snapshot, &places, &all).len(), 2000);
    let asked = read(&disk, &snapshot.in_order(), &places, &all);
    let stored: usize = places.iter().map(|at| at.len as usize).sum();
    assert!(asked.len() < 25, "{asked:?}");
    // At the seams a chunk is read twice; nothing is read behind the commit.
    assert!(asked.iter().sum::<usize>() < stored + 25 * 600, "{asked:?}");
    assert!(asked.iter().all(|len| *len <= 64 << 10), "{asked:?}");
    // Every other one, and back.
    let some: Vec<u32> = (0..2000).step_by(2).collect();
    assert!(read(&disk, &snapshot.in_order(), &places, &some).len() < 25);
    let back: Vec<u32> = all.iter().rev().copied().collect();
    let asked = read(&disk, &snapshot.in_order(), &places, &back);
    assert_eq!((asked.len(), asked.iter().sum::<usize>()), (2000, stored));
    // Here and there: a chunk far from the last one is read alone.
    let far: Vec<u32> = (0..200).map(|number| number * 997 % 2000).collect();
    let lens = |order: &[u32]| order.iter().map(|&n| places[n as usize].len as usize).sum();
    let asked = read(&disk, &snapshot.in_order(), &places, &far);
    let needed: usize = lens(&far);
    assert_eq!((asked.len(), asked.iter().sum::<usize>()), (200, needed));
}

#[test]
fn what_cannot_be_read_along_does_not_hide_what_can() {
    let (disk, file, places) = filled(100);
    *disk.watcher().most.lock().unwrap() = Some(1000);
    let all: Vec<u32> = (0..100).collect();
    read(&disk, &file.snapshot().in_order(), &places, &all);
}

#[test]
fn what_was_read_along_is_of_one_commit() {
    let (disk, file, mut places) = filled(20);
    let before = file.snapshot().in_order();
    read(&disk, &before, &places, &[0, 1]);
    let mut compressor = Compressor::new(EngineSetting::NONE).unwrap();
    let mut txn = file.begin().unwrap();
    for number in 20..40 {
        let chunk = EncodedChunk::encode(&mut compressor, &content(number)).unwrap();
        places.push(txn.append_chunk(&chunk).unwrap());
    }
    txn.commit().unwrap();
    let all: Vec<u32> = (0..40).collect();
    read(&disk, &before, &places, &all[..20]);
    assert!(before.read_chunk(places[20], &mut Vec::new()).is_err());
    read(&disk, &file.snapshot().in_order(), &places, &all);
}
