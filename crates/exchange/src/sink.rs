//! Where an answer goes: big owned buffers, so that nothing is copied on the way to the socket.

use crate::{ExchangeError, SinkClosed};
use std::io::{self, Write};
use std::sync::Arc;
use varve_base::StorageFile;

/// Takes the bytes of an answer in order. It blocks while the client is slower than the server.
pub trait ChunkSink {
    /// Sends one buffer.
    ///
    /// # Errors
    /// [`SinkClosed`] once the client is gone; the answer is then given up.
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed>;

    /// Sends `len` bytes of a file from `offset` on, by handing the file over if the sink can do
    /// that, else in buffers.
    ///
    /// # Errors
    /// As [`copy_file`].
    fn send_file(
        &mut self,
        file: &Arc<dyn StorageFile>,
        offset: u64,
        len: u64,
    ) -> Result<(), ExchangeError> {
        copy_file(file.as_ref(), offset, len, |bytes| self.send(bytes))
    }

    /// Learns that the answer stopped before its end for a reason that the client reads in the
    /// answer itself; meant for the log of the server.
    fn broke_off(&mut self, _error: &ExchangeError) {}
}

impl ChunkSink for Vec<u8> {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        self.extend_from_slice(&bytes);
        Ok(())
    }
}

/// Sends a range of a file through buffers of at most 1 MiB.
///
/// # Errors
/// [`SinkClosed`], or [`varve_base::StorageError::Short`] if the file ends before.
pub fn copy_file(
    file: &dyn StorageFile,
    offset: u64,
    len: u64,
    mut send: impl FnMut(Vec<u8>) -> Result<(), SinkClosed>,
) -> Result<(), ExchangeError> {
    const BUFFER: u64 = 1 << 20;
    let mut sent = 0;
    while sent < len {
        let piece = BUFFER.min(len - sent);
        send(file.read_vec(offset + sent, piece as usize)?)?;
        sent += piece;
    }
    Ok(())
}

/// Gathers small writes into buffers of [`SinkWriter::BUFFER`] bytes.
pub(crate) struct SinkWriter<'a> {
    sink: &'a mut dyn ChunkSink,
    buffer: Vec<u8>,
}

impl<'a> SinkWriter<'a> {
    /// Bytes per buffer: large against the cost of handing one over, small against memory.
    const BUFFER: usize = 256 << 10;

    pub(crate) fn new(sink: &'a mut dyn ChunkSink) -> Self {
        SinkWriter {
            sink,
            buffer: Vec::new(),
        }
    }
}

impl Write for SinkWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > Self::BUFFER {
            self.flush()?;
        }
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(Self::BUFFER.max(bytes.len()));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let full = std::mem::take(&mut self.buffer);
        self.sink
            .send(full)
            .map_err(|closed| io::Error::new(io::ErrorKind::BrokenPipe, closed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pieces(Vec<Vec<u8>>);

    impl ChunkSink for Pieces {
        fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
            self.0.push(bytes);
            Ok(())
        }
    }

    #[test]
    fn small_writes_leave_as_few_buffers_in_order() {
        let mut pieces = Pieces(Vec::new());
        let mut writer = SinkWriter::new(&mut pieces);
        let data: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        for piece in data.chunks(999) {
            writer.write_all(piece).unwrap();
        }
        writer.flush().unwrap();
        assert_eq!(pieces.0.len(), 4);
        assert_eq!(pieces.0.concat(), data);
    }
}
