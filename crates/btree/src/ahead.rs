//! Reading along what stands behind a chunk, for who reads chunks about in their order in the file.

use crate::ChunkRef;
use crate::pages::Reach;
use std::sync::{Mutex, MutexGuard};
use varve_base::{ReadMode, StorageError, StorageFile};

/// Bytes that are read at once as soon as one chunk follows another,
const FIRST: usize = 8 << 10;
/// and at most: each time twice as many.
const MOST: usize = 64 << 10;

/// What was read last.
#[derive(Default)]
pub(crate) struct Ahead(Mutex<Window>);

impl Ahead {
    /// For one reader at a time; the others do without.
    pub(crate) fn window(&self) -> Option<MutexGuard<'_, Window>> {
        self.0.try_lock().ok()
    }
}

/// Committed bytes of a file, which nobody changes.
#[derive(Default)]
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// How many were asked for beyond what was needed; 0 while chunks are read here and there.
    len: usize,
}

impl Window {
    /// The bytes of a chunk, which ends before the reach's limit; nothing behind that is read.
    pub(crate) fn chunk(
        &mut self,
        file: &dyn StorageFile,
        at: ChunkRef,
        reach: Reach,
    ) -> Result<&[u8], StorageError> {
        let wanted = at.len as usize;
        let behind = at.offset.checked_sub(self.start);
        let behind = behind.and_then(|behind| usize::try_from(behind).ok());
        if let Some(from) = behind
            && from.saturating_add(wanted) <= self.bytes.len()
        {
            return Ok(&self.bytes[from..from + wanted]);
        }
        // A list or a node may stand between two bodies.
        let near = self.bytes.len() + self.len.max(FIRST);
        self.len = match behind {
            Some(behind) if behind < near && !self.bytes.is_empty() => {
                (2 * self.len).clamp(FIRST, MOST)
            }
            _ => 0,
        };
        let left = usize::try_from(reach.limit - at.offset).unwrap_or(usize::MAX);
        let len = wanted.max(self.len.min(left));
        if self.read(file, reach.mode, at.offset, len).is_err() {
            // What nobody asked for may be what cannot be read.
            self.len = 0;
            self.read(file, reach.mode, at.offset, wanted)?;
        }
        Ok(&self.bytes[..wanted])
    }

    fn read(
        &mut self,
        file: &dyn StorageFile,
        mode: ReadMode,
        start: u64,
        len: usize,
    ) -> Result<(), StorageError> {
        self.bytes.shrink_to(MOST);
        self.bytes.resize(len, 0);
        self.start = start;
        let read = file.read_exact_by(mode, start, &mut self.bytes);
        if read.is_err() {
            self.bytes.clear();
        }
        read
    }
}
