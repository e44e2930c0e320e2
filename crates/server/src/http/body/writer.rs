//! The end of a body that a producer writes.

use crate::http::body::slot::{BodyPiece, End, Producer, Slot};
use crate::http::body::{BodyClosed, BodyError, yield_once};
use crate::http::sendfile::FilePiece;
use crate::runtime::Pool;
use bytes::Bytes;
use std::future::poll_fn;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Small writes are gathered into pieces of this many bytes, so that a piece with its overrun is a block of 32 KiB.
pub const STREAM_BUFFER: usize = (32 << 10) - OVERRUN;
/// Bytes of a piece where the producer runs ahead.
pub(super) const LONG_PIECE: usize = (64 << 10) - OVERRUN;
/// Buffers that are passed on at once where the producer runs ahead.
const BATCH: usize = 4;
/// A body of fewer bytes may be made without waiting, and is then sent whole.
pub(super) const SHORT_BODY: usize = 128 << 10;
/// Reserved behind [`STREAM_BUFFER`], as the last write of a piece runs over it.
const OVERRUN: usize = 8 << 10;
/// A shorter buffer is cheaper to copy than to pass on alone.
pub(super) const SMALL_BUFFER: usize = 16 << 10;

/// Writes a body.
#[derive(Debug)]
pub struct BodyWriter {
    /// `None` where the body has to fit in one piece, because the writer must not wait.
    slot: Option<Arc<Slot>>,
    gathered: Vec<u8>,
    /// Bytes that are passed on at a time: [`STREAM_BUFFER`] or [`LONG_PIECE`].
    piece: usize,
    /// How often something was passed on.
    passed: u64,
    pool: Option<Pool>,
    kept_buffer: Option<OwnedSemaphorePermit>,
    /// Held while the producer runs ahead.
    ahead: Option<OwnedSemaphorePermit>,
}

/// A body that was written to its end: see [`BodyWriter::finish`].
#[derive(Debug)]
#[must_use]
pub struct FinishedBody(BodyWriter);

impl BodyWriter {
    /// The writer of a producer in a pool.
    pub(super) fn of(producer: &Producer, pool: &Pool) -> BodyWriter {
        BodyWriter {
            slot: Some(producer.slot()),
            piece: STREAM_BUFFER,
            pool: Some(pool.clone()),
            ..BodyWriter::of_one_piece()
        }
    }

    /// The same for a producer that begins on another thread. Its first piece may be as long as [`SHORT_BODY`], if not
    /// too many others are.
    pub(super) fn of_begun(producer: &Producer, pool: &Pool) -> BodyWriter {
        let kept_buffer = pool.kept_buffer();
        BodyWriter {
            piece: match &kept_buffer {
                Some(_) => SHORT_BODY,
                None => STREAM_BUFFER,
            },
            kept_buffer,
            ..BodyWriter::of(producer, pool)
        }
    }

    /// The writer of a producer that runs on its reader's thread.
    pub(super) fn local(producer: &Producer) -> BodyWriter {
        BodyWriter {
            slot: Some(producer.slot()),
            piece: STREAM_BUFFER,
            ..BodyWriter::of_one_piece()
        }
    }

    /// A writer of a body that has to be shorter than [`SHORT_BODY`].
    pub(super) fn of_one_piece() -> BodyWriter {
        BodyWriter {
            slot: None,
            gathered: Vec::new(),
            piece: SHORT_BODY,
            passed: 0,
            pool: None,
            kept_buffer: None,
            ahead: None,
        }
    }

    /// Grows whenever gathered bytes are passed on, and cannot be taken back any more.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// How many bytes are passed on at a time: at least [`STREAM_BUFFER`], and more for a client that keeps up.
    pub fn piece(&self) -> usize {
        self.piece
    }

    /// Adds bytes; they are passed on once [`BodyWriter::piece`] of them are gathered.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        self.gathered.extend_from_slice(bytes);
        self.flush_if_full().await
    }

    /// The buffer that [`BodyWriter::write`] gathers in, to append to it in place; call
    /// [`BodyWriter::flush_if_full`] between items.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.gathered
    }

    /// Passes the gathered bytes on if they are enough.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn flush_if_full(&mut self) -> Result<(), BodyError> {
        match self.gathered.len() >= self.piece {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Whether the producer may keep a large buffer while it waits for its client: all bodies of a pool may together
    /// keep a limited number of them. The others have to read their unsent part again.
    pub fn may_keep_buffer(&mut self) -> bool {
        let Some(pool) = &self.pool else {
            return true;
        };
        if self.kept_buffer.is_none() {
            self.kept_buffer = pool.kept_buffer();
        }
        self.kept_buffer.is_some()
    }

    /// To be called now and then while there is nothing to write.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn check(&self) -> Result<(), BodyError> {
        match &self.slot {
            Some(slot) if slot.is_closed() => Err(BodyClosed.into()),
            _ => Ok(()),
        }
    }

    /// Lets other work of the pool run, for a producer that works for long without writing.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn pause(&mut self) -> Result<(), BodyError> {
        if self.slot.is_some() {
            yield_once().await;
        }
        self.check()
    }

    /// Passes on the gathered bytes, and waits until the connection has taken them.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn flush(&mut self) -> Result<(), BodyError> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.passed += 1;
        let full = std::mem::take(&mut self.gathered);
        // A slow client may hold the piece for long: it shall not hold the room that the buffer has grown to as well.
        let piece = match full.capacity() - full.len() > OVERRUN {
            true => Bytes::copy_from_slice(&full),
            false => full.into(),
        };
        self.pass(BodyPiece::Data(piece)).await?;
        // Only now: a producer that waits has no buffer.
        self.gathered.reserve_exact(self.piece + OVERRUN);
        Ok(())
    }

    /// Runs ahead, and makes longer pieces, for a client that keeps up, as long as not too many bodies of the pool do.
    /// The leave to do so is held until the client falls behind and then takes the queue, which is in memory till then.
    fn adapt(&mut self) {
        let (Some(slot), Some(pool)) = (&self.slot, &self.pool) else {
            return;
        };
        let leave = slot.adapt(|keeps_up| {
            if !keeps_up {
                self.ahead = None;
            } else if self.ahead.is_none() {
                self.ahead = pool.kept_buffer();
            }
            self.ahead.is_some()
        });
        self.piece = if leave { LONG_PIECE } else { STREAM_BUFFER };
    }

    /// Passes a buffer on without copying it, if it is not small.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn send(&mut self, buffer: Vec<u8>) -> Result<(), BodyError> {
        if buffer.len() < SMALL_BUFFER {
            return self.write(&buffer).await;
        }
        self.flush().await?;
        self.passed += 1;
        self.pass(BodyPiece::Data(buffer.into())).await
    }

    /// How many buffers of 64 KiB to make before they are sent by [`BodyWriter::send_all`]: some for a client that keeps
    /// up, so that its connection's thread is not woken for each.
    pub fn batch(&self) -> usize {
        match self.ahead.is_some() {
            true => BATCH,
            false => 1,
        }
    }

    /// Passes buffers on as [`BodyWriter::send`] does, all at once.
    ///
    /// # Errors
    /// [`BodyError`].
    pub async fn send_all(
        &mut self,
        buffers: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<(), BodyError> {
        let mut pieces = Vec::new();
        for buffer in buffers {
            if buffer.len() < SMALL_BUFFER {
                self.gathered.extend_from_slice(&buffer);
                continue;
            }
            if !self.gathered.is_empty() {
                pieces.push(BodyPiece::Data(std::mem::take(&mut self.gathered).into()));
            }
            pieces.push(BodyPiece::Data(buffer.into()));
        }
        if !pieces.is_empty() {
            self.passed += pieces.len() as u64;
            self.pass_all(pieces).await?;
        }
        self.flush_if_full().await
    }

    async fn pass(&mut self, piece: BodyPiece) -> Result<(), BodyError> {
        self.pass_all([piece]).await
    }

    async fn pass_all(
        &mut self,
        pieces: impl IntoIterator<Item = BodyPiece>,
    ) -> Result<(), BodyError> {
        let slot = self.slot.as_ref().ok_or(BodyError::WouldBlock)?;
        slot.put_all(pieces)?;
        poll_fn(|context| slot.poll_wanted(context)).await?;
        self.adapt();
        Ok(())
    }

    /// Sends a piece of a file, which is not read on the way.
    ///
    /// # Errors
    /// [`BodyError`].
    pub(crate) async fn send_piece(&mut self, piece: FilePiece) -> Result<(), BodyError> {
        self.flush().await?;
        self.passed += 1;
        self.pass(BodyPiece::File(piece)).await
    }

    /// Says that the body is complete.
    pub fn finish(self) -> FinishedBody {
        FinishedBody(self)
    }
}

impl FinishedBody {
    /// Whether nothing was passed on before the end.
    pub(super) fn is_one_piece(&self) -> bool {
        self.0.passed == 0
    }

    /// Hands over the last piece and the end, which need not be waited for.
    pub(super) fn hand_over(self, producer: Producer) {
        let rest = self.0.gathered;
        let is_put = rest.is_empty() || producer.put(BodyPiece::Data(rest.into())).is_ok();
        if is_put {
            producer.end(End::Whole);
        } // Otherwise the client has gone.
    }

    /// A body that was made without waiting.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.gathered
    }
}
