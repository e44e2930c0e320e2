//! Readahead for readers that read chunks about in file order.

use crate::ChunkRef;
use parking_lot::{Mutex, MutexGuard};
use varve_base::{ReadMode, StorageError, StorageFile};

/// Bytes of the first readahead, once one chunk follows another,
const MIN_WINDOW: usize = 8 << 10;
/// and of the longest: each is twice as long as the one before.
const MAX_WINDOW: usize = 64 << 10;

/// How far into a file a reader may look, and whether it may wait for the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadScope {
    /// Everything that is read ends here or before.
    pub(crate) limit: u64,
    pub(crate) mode: ReadMode,
}

impl ReadScope {
    pub(crate) fn blocking(limit: u64) -> ReadScope {
        let mode = ReadMode::Blocking;
        ReadScope { limit, mode }
    }

    /// The same mode with another limit.
    pub(crate) fn upto(self, limit: u64) -> ReadScope {
        ReadScope { limit, ..self }
    }
}

/// The bytes that were read last.
#[derive(Default)]
pub(crate) struct Readahead(Mutex<Window>);

impl Readahead {
    /// `None` while another thread uses the window; readers then read without it.
    pub(crate) fn window(&self) -> Option<MutexGuard<'_, Window>> {
        self.0.try_lock()
    }
}

/// Committed bytes of a file; they never change.
#[derive(Default)]
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// Bytes of the next readahead; 0 while chunks are read in no order.
    len: usize,
}

impl Window {
    /// The bytes of a chunk, which ends before the scope's limit; nothing behind that is read.
    pub(crate) fn chunk(
        &mut self,
        file: &dyn StorageFile,
        at: ChunkRef,
        scope: ReadScope,
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
        let near = self.bytes.len() + self.len.max(MIN_WINDOW);
        self.len = match behind {
            Some(behind) if behind < near && !self.bytes.is_empty() => {
                (2 * self.len).clamp(MIN_WINDOW, MAX_WINDOW)
            }
            _ => 0,
        };
        let left = usize::try_from(scope.limit - at.offset).unwrap_or(usize::MAX);
        let len = wanted.max(self.len.min(left));
        if self.read(file, scope.mode, at.offset, len).is_err() {
            // The bytes behind the chunk may be the unreadable ones.
            self.len = 0;
            self.read(file, scope.mode, at.offset, wanted)?;
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
        self.bytes.shrink_to(MAX_WINDOW);
        self.bytes.resize(len, 0);
        self.start = start;
        let read = file.read_exact_by(mode, start, &mut self.bytes);
        if read.is_err() {
            self.bytes.clear();
        }
        read
    }
}
