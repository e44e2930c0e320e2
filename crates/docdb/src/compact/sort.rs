//! Sorting more records than fit in memory: sorted runs in a file, then merged.
//!
//! ```text
//! +-----------------------+-----------------------+---
//! | key                   | value                 | …   keys ascend within a run
//! | varint length + bytes | varint length + bytes |
//! +-----------------------+-----------------------+---
//! ```
//! The file is never synced and means nothing once the program has ended.

use crate::DocdbError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use varve_base::varint::{self, Reader};
use varve_base::{OpenMode, Storage, StorageFile};

/// Memory for records before they are written as a run.
pub(crate) const MEMORY: usize = 32 << 20;
/// Runs are written and read in pieces of this size, smaller ones if there are many runs.
const PIECE: usize = 256 << 10;
/// Smallest piece.
const LEAST_PIECE: usize = 4 << 10;

/// A key with its value.
type Pair = (Vec<u8>, Vec<u8>);

/// Takes records in any order, each key once.
pub(crate) struct Sorter<'s> {
    storage: &'s dyn Storage,
    path: PathBuf,
    memory: usize,
    file: Option<Arc<dyn StorageFile>>,
    runs: Vec<Range<u64>>,
    batch: Batch,
}

/// Records in memory.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

/// Where a record stands in the batch's bytes; its value follows its key.
#[derive(Clone, Copy)]
struct Record {
    start: usize,
    key_len: usize,
    value_len: usize,
}

impl Batch {
    fn key(&self, record: &Record) -> &[u8] {
        &self.bytes[record.start..][..record.key_len]
    }

    fn value(&self, record: &Record) -> &[u8] {
        &self.bytes[record.start + record.key_len..][..record.value_len]
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.records.len() * size_of::<Record>()
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.records.push(Record {
            start: self.bytes.len(),
            key_len: key.len(),
            value_len: value.len(),
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    fn sort(&mut self) {
        let mut records = std::mem::take(&mut self.records);
        records.sort_unstable_by(|a, b| self.key(a).cmp(self.key(b)));
        self.records = records;
    }
}

impl<'s> Sorter<'s> {
    /// Runs go into a new file at `path`.
    pub(crate) fn new(storage: &'s dyn Storage, path: PathBuf, memory: usize) -> Self {
        Sorter {
            storage,
            path,
            memory,
            file: None,
            runs: Vec::new(),
            batch: Batch::default(),
        }
    }

    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), DocdbError> {
        self.batch.push(key, value);
        match self.batch.memory() > self.memory {
            true => self.spill(),
            false => Ok(()),
        }
    }

    /// Writes the items in memory as a run.
    fn spill(&mut self) -> Result<(), DocdbError> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let file = self.storage.open(&self.path, OpenMode::CreateNew)?;
                Arc::clone(self.file.insert(file))
            }
        };
        self.batch.sort();
        let start = self.runs.last().map_or(0, |run| run.end);
        let mut end = start;
        let mut piece = Vec::with_capacity(PIECE);
        for record in &self.batch.records {
            varint::put_counted(self.batch.key(record), &mut piece);
            varint::put_counted(self.batch.value(record), &mut piece);
            if piece.len() >= PIECE {
                file.append(&piece)?;
                end += piece.len() as u64;
                piece.clear();
            }
        }
        file.append(&piece)?;
        end += piece.len() as u64;
        self.runs.push(start..end);
        self.batch = Batch::default();
        Ok(())
    }

    /// All records in the order of their keys.
    pub(crate) fn finish(mut self) -> Result<Sorted, DocdbError> {
        self.batch.sort();
        let piece = (self.memory / (self.runs.len() + 1)).clamp(LEAST_PIECE, PIECE);
        let mut inputs = vec![MergeInput::Memory {
            batch: self.batch,
            next: 0,
        }];
        if let Some(file) = self.file {
            inputs.extend(self.runs.into_iter().map(|rest| MergeInput::File {
                file: Arc::clone(&file),
                rest,
                piece,
                bytes: Vec::new(),
                at: 0,
            }));
        }
        let mut sorted = Sorted {
            heap: BinaryHeap::with_capacity(inputs.len()),
            inputs,
        };
        for source in 0..sorted.inputs.len() {
            sorted.advance(source)?;
        }
        Ok(sorted)
    }
}

/// One sorted run.
enum MergeInput {
    Memory {
        batch: Batch,
        next: usize,
    },
    File {
        file: Arc<dyn StorageFile>,
        /// The range of the file not read yet.
        rest: Range<u64>,
        piece: usize,
        bytes: Vec<u8>,
        /// How much of the bytes was given out.
        at: usize,
    },
}

impl MergeInput {
    fn next(&mut self) -> Result<Option<Pair>, DocdbError> {
        match self {
            MergeInput::Memory { batch, next } => {
                let Some(record) = batch.records.get(*next) else {
                    return Ok(None);
                };
                *next += 1;
                let pair = (batch.key(record).to_vec(), batch.value(record).to_vec());
                Ok(Some(pair))
            }
            MergeInput::File {
                file,
                rest,
                piece,
                bytes,
                at,
            } => loop {
                let mut reader = Reader::new(&bytes[*at..]);
                if let (Some(key), Some(value)) = (reader.counted(), reader.counted()) {
                    let pair = (key.to_vec(), value.to_vec());
                    *at = bytes.len() - reader.rest().len();
                    return Ok(Some(pair));
                }
                bytes.drain(..*at);
                *at = 0;
                if rest.is_empty() {
                    return match bytes.is_empty() {
                        true => Ok(None),
                        false => Err(damaged(file.as_ref())),
                    };
                }
                let len = (rest.end - rest.start).min(*piece as u64);
                let more = file.read_vec(rest.start, len as usize)?;
                bytes.extend_from_slice(&more);
                rest.start += len;
            },
        }
    }
}

fn damaged(file: &dyn StorageFile) -> DocdbError {
    DocdbError::Damaged {
        path: file.path().to_owned(),
        what: "record",
        key: "a sorted run".to_owned(),
    }
}

/// The next record of a source: its key, the source, its value.
type Front = (Vec<u8>, usize, Vec<u8>);

/// Records in the order of their keys.
pub(crate) struct Sorted {
    inputs: Vec<MergeInput>,
    heap: BinaryHeap<Reverse<Front>>,
}

impl Sorted {
    /// Puts a source's next record into the heap.
    fn advance(&mut self, source: usize) -> Result<(), DocdbError> {
        if let Some((key, value)) = self.inputs[source].next()? {
            self.heap.push(Reverse((key, source, value)));
        }
        Ok(())
    }

    /// The key of the next record.
    pub(crate) fn peek(&self) -> Option<&[u8]> {
        self.heap.peek().map(|Reverse((key, _, _))| &key[..])
    }

    /// The value of the next record.
    pub(crate) fn take(&mut self) -> Result<Option<Vec<u8>>, DocdbError> {
        let Some(Reverse((_, source, value))) = self.heap.pop() else {
            return Ok(None);
        };
        self.advance(source)?;
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use varve_base::MemoryStorage;

    #[test]
    fn records_come_out_sorted_from_memory_and_from_many_runs() {
        for (memory, most_runs) in [(MEMORY, 0), (20_000, 20), (900, 400)] {
            let storage = MemoryStorage::default();
            let mut sorter = Sorter::new(&storage, "sorted".into(), memory);
            for number in 0..5000_u32 {
                let scattered = number.wrapping_mul(2_654_435_761) % 1_000_003;
                let long = vec![b'x'; if number == 77 { 300_000 } else { 3 }];
                let key = format!("{scattered:08}-{number}");
                sorter.push(key.as_bytes(), &long).unwrap();
            }
            assert!(sorter.runs.len() <= most_runs, "{}", sorter.runs.len());
            assert_eq!(most_runs > 0, sorter.runs.len() > most_runs / 3);
            let mut sorted = sorter.finish().unwrap();
            let (mut count, mut bytes, mut last) = (0, 0, Vec::new());
            while let Some(key) = sorted.peek().map(<[u8]>::to_vec) {
                assert!(last < key);
                last = key;
                bytes += sorted.take().unwrap().unwrap().len();
                count += 1;
            }
            assert_eq!((count, bytes), (5000, 4999 * 3 + 300_000));
            assert_eq!(sorted.take().unwrap(), None);
            let is_there = storage.file_len(Path::new("sorted")).unwrap().is_some();
            assert_eq!(is_there, most_runs > 0);
        }
    }
}
