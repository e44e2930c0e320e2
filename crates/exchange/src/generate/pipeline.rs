//! Making bytes on one thread and taking them on another, so that reading a repository,
//! compressing and writing overlap.

use crate::ExchangeError;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes per buffer that goes from one thread to the other.
const BUFFER: usize = 256 << 10;

/// Buffers that may wait: enough that neither side stands still while the other one is busy with
/// something long for once.
const WAITING: usize = 16;

/// Runs `make` on a thread of its own and hands its output to `take`, in order. If both fail,
/// `take` tells why, because a maker whose output is not taken fails for that reason alone.
///
/// # Errors
/// The error of either of them.
pub(super) fn run<T: Send>(
    make: impl FnOnce(&mut PipeWriter) -> Result<T, ExchangeError> + Send,
    mut take: impl FnMut(&[u8]) -> Result<(), ExchangeError>,
) -> Result<T, ExchangeError> {
    let (sender, receiver) = sync_channel(WAITING);
    let (empty, emptied) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        let maker = scope.spawn(move || {
            let mut out = PipeWriter {
                sender,
                emptied,
                buffer: Vec::with_capacity(BUFFER),
            };
            let made = make(&mut out)?;
            out.flush()?;
            Ok(made)
        });
        let taken = drain(&receiver, &empty, &mut take);
        // From here on the maker cannot send: it ends soon.
        drop(receiver);
        let made = maker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken.and(made)
    })
}

fn drain(
    receiver: &Receiver<Vec<u8>>,
    empty: &SyncSender<Vec<u8>>,
    take: &mut impl FnMut(&[u8]) -> Result<(), ExchangeError>,
) -> Result<(), ExchangeError> {
    for mut buffer in receiver {
        take(&buffer)?;
        buffer.clear();
        // A buffer that the pool has no room for is freed.
        let _ = empty.try_send(buffer);
    }
    Ok(())
}

/// Gathers bytes into buffers and sends them to the other thread.
pub(super) struct PipeWriter {
    sender: SyncSender<Vec<u8>>,
    emptied: Receiver<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() == BUFFER {
            self.flush()?;
        }
        let room = BUFFER - self.buffer.len();
        let piece = bytes.get(..room).unwrap_or(bytes);
        self.buffer.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let next = self.emptied.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(BUFFER));
        let full = std::mem::replace(&mut self.buffer, next);
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.sender.send(full).map_err(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_order() {
        let text: Vec<u8> = (0..6_000_000_u32).map(|n| (n % 251) as u8).collect();
        let mut back = Vec::new();
        let made = run(
            |out| {
                for piece in text.chunks(70_001) {
                    out.write_all(piece)?;
                }
                Ok(7)
            },
            |bytes| {
                back.extend_from_slice(bytes);
                Ok(())
            },
        );
        assert_eq!(made.unwrap(), 7);
        assert!(back == text);
    }

    #[test]
    fn the_reason_is_that_of_the_side_that_failed_first() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let endless = |out: &mut PipeWriter| -> Result<(), ExchangeError> {
            loop {
                out.write_all(&[0; 99_999])?;
            }
        };
        let Err(ExchangeError::Write(error)) = run(endless, |_| Err(full().into())) else {
            panic!("a failed taker must be heard");
        };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let failing = |_: &mut PipeWriter| -> Result<(), ExchangeError> { Err(full().into()) };
        assert!(run(failing, |_| Ok(())).is_err());
    }
}
