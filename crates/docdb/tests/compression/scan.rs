//! Reads a tree file from its beginning to its end, as the page about its format describes it.

use std::path::Path;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_docdb::{ChunkCount, ChunkForm, ChunkStats};

const ALIGN: usize = 64;
const MAGIC: &[u8] = b"\x8bcommit\n";
const CHUNK_HEAD: usize = 13;

/// Counts all chunks of a file that compaction and commits alone have written.
pub fn scan(storage: &MemoryStorage, path: &Path) -> ChunkStats {
    let file = storage.open(path, OpenMode::Read).unwrap();
    let len = usize::try_from(file.len().unwrap()).unwrap();
    let bytes = file.read_vec(0, len).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut chunk_stats = ChunkStats::default();
    let mut records = (ALIGN..len).step_by(ALIGN);
    // Behind a database with properties' header are more zeros.
    let first = records.find(|&at| bytes[at..].starts_with(MAGIC));
    let mut at = first.unwrap();
    while at < bytes.len() {
        let record = at.next_multiple_of(ALIGN);
        if bytes[record..].starts_with(MAGIC) && bytes[at..record].iter().all(|byte| *byte == 0) {
            at = record + number(record + MAGIC.len());
            continue;
        }
        let form = ChunkForm::ALL[usize::from(bytes[at + 4])];
        let len = CHUNK_HEAD + number(at);
        chunk_stats.add(
            form,
            ChunkCount {
                chunks: 1,
                bytes: len as u64,
            },
        );
        at += len;
    }
    chunk_stats
}
