//! Big buffers filled with small files, and big files between them that are handed over as files.

use crate::{ChunkSink, ExchangeError};
use std::sync::Arc;
use varve_base::StorageFile;

/// Bytes per buffer.
const BUFFER: usize = 64 << 10;

/// A file of this length or more is handed over; a shorter one is cheaper to copy.
const BIG_FILE: u64 = 64 << 10;

/// Bytes of a big file per chunk of a bundle2 payload: few enough for a client that holds a chunk
/// in memory, as `hg` does.
const FILE_CHUNK: u64 = 4 << 20;

/// Bytes of the length before each chunk of a bundle2 payload.
const LENGTH: usize = 4;

/// Gathers bytes in buffers, each of which a slow client holds in memory. In a bundle2 each buffer is one chunk of the
/// payload and begins with its length.
pub(super) struct Frames {
    in_bundle: bool,
    buffer: Vec<u8>,
    full: Vec<Vec<u8>>,
}

impl Frames {
    pub(super) fn new(in_bundle: bool) -> Self {
        Frames {
            in_bundle,
            buffer: Vec::new(),
            full: Vec::new(),
        }
    }

    /// Appends bytes; only those of a header or a small file.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.close();
        }
        self.start(bytes.len());
        self.buffer.extend_from_slice(bytes);
    }

    /// Appends `len` bytes of a file from its beginning, and sends every buffer that gets full.
    pub(super) fn put_file(
        &mut self,
        file: &Arc<dyn StorageFile>,
        len: u64,
        sink: &mut dyn ChunkSink,
    ) -> Result<(), ExchangeError> {
        if len >= BIG_FILE {
            return self.hand_over(file, len, sink);
        }
        if self.buffer.len() as u64 + len > BUFFER as u64 {
            self.close();
        }
        self.send(sink)?;
        self.start(len as usize);
        let filled = self.buffer.len();
        self.buffer.resize(filled + len as usize, 0);
        file.read_exact_at(0, self.buffer.get_mut(filled..).unwrap_or_default())?;
        Ok(())
    }

    /// Sends a big file behind the gathered bytes.
    fn hand_over(
        &mut self,
        file: &Arc<dyn StorageFile>,
        len: u64,
        sink: &mut dyn ChunkSink,
    ) -> Result<(), ExchangeError> {
        self.close();
        self.send(sink)?;
        if !self.in_bundle {
            return sink.send_file(file, 0, len);
        }
        let mut at = 0;
        while at < len {
            let chunk = FILE_CHUNK.min(len - at);
            sink.send((chunk as u32).to_be_bytes().to_vec())?;
            sink.send_file(file, at, chunk)?;
            at += chunk;
        }
        Ok(())
    }

    /// Sends the full buffers.
    pub(super) fn send(&mut self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        for full in self.full.drain(..) {
            sink.send(full)?;
        }
        Ok(())
    }

    /// Sends everything and the end of the payload.
    pub(super) fn finish(&mut self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        self.close();
        self.send(sink)
    }

    fn start(&mut self, at_least: usize) {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(BUFFER.max(LENGTH + at_least));
        }
        if self.buffer.is_empty() && self.in_bundle {
            self.buffer.extend_from_slice(&[0; LENGTH]);
        }
    }

    /// Ends the buffer being filled.
    fn close(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let mut full = std::mem::take(&mut self.buffer);
        if self.in_bundle {
            let len = (full.len() - LENGTH) as u32;
            if let Some(place) = full.first_chunk_mut::<LENGTH>() {
                *place = len.to_be_bytes();
            }
        }
        self.full.push(full);
    }
}
