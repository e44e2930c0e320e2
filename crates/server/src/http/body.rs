//! Bodies that are pulled: the next piece of one is made when the connection has taken the one before.
//!
//! ```text
//! producer (a future in a pool) ── piece ──► slot ──► hyper ──► socket
//!          ▲                                  │
//!          └───── is woken, makes the next ───┘
//! ```
//!
//! A producer writes straight on; where a piece is full it is suspended until the connection asks for the next one, and
//! holds no thread meanwhile. So a client that reads nothing costs a piece or two and the state of the producer. Where
//! the client keeps up, a limited number of producers of each pool run ahead by a piece, and make longer ones.

use crate::http::guarded::Meter;
use crate::http::sendfile::{FilePiece, FileQueue};
use crate::runtime::Pool;
use bytes::Bytes;
use hyper::body::Frame;
use parking_lot::Mutex;
use std::fmt::Display;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::OwnedSemaphorePermit;

/// Small writes are gathered into pieces of this many bytes, so that a piece with its overrun is a block of 32 KiB.
pub const STREAM_BUFFER: usize = (32 << 10) - OVERRUN;
/// The longest pieces of a body whose client keeps up: each handing over costs two switches between threads.
const LONG_PIECE: usize = (512 << 10) - OVERRUN;
/// A body of fewer bytes may be made without waiting, and is then sent whole.
const SHORT_BODY: usize = 128 << 10;
/// Reserved behind [`STREAM_BUFFER`], as the last write of a piece runs over it.
const OVERRUN: usize = 8 << 10;
/// A shorter buffer is cheaper to copy than to pass on alone.
const SMALL_BUFFER: usize = 16 << 10;
/// Bytes of a file that a connection reads at a time if it cannot send files.
const READ_PIECE: usize = 64 << 10;

/// The client has gone and does not read the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client closed the connection")]
pub struct BodyClosed;

/// Why a [`BodyWriter`] takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The client has gone.
    #[error(transparent)]
    Closed(#[from] BodyClosed),
    /// A body that is made without waiting is longer than one piece.
    #[error("the body does not fit in one buffer")]
    WouldBlock,
}

/// A part of a body.
#[derive(Debug)]
enum Piece {
    Data(Bytes),
    File(FilePiece),
}

/// How a body ended.
#[derive(Debug)]
enum End {
    Whole,
    /// With the reason; a cut connection is the only way left to tell the client.
    Failed(String),
}

/// Between a producer and the connection: at most one piece.
#[derive(Debug, Default)]
struct Slot(Mutex<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    piece: Option<Piece>,
    /// A piece was taken, and the connection is still to ask for the next one.
    is_held: bool,
    /// The connection had sent everything when it took the last piece.
    keeps_up: bool,
    /// The producer need not be asked as long as the connection keeps up.
    runs_ahead: bool,
    /// Until the connection has taken it.
    end: Option<End>,
    is_ended: bool,
    /// The connection takes no more.
    is_closed: bool,
    /// Wakes the producer that waits until the next piece is wanted.
    producer: Option<Waker>,
    /// Wakes [`BodySender::closed`].
    closing: Option<Waker>,
    /// Wakes the connection.
    connection: Option<Waker>,
}

impl Slot {
    /// Puts a piece into the slot, which must be empty.
    fn put(&self, piece: Piece) -> Result<(), BodyClosed> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Err(BodyClosed);
        }
        debug_assert!(state.piece.is_none(), "a piece would be lost");
        state.piece = Some(piece);
        let connection = state.connection.take();
        drop(state);
        wake(connection);
        Ok(())
    }

    /// Says how the body ended, unless that was said before.
    fn end(&self, end: End) {
        let mut state = self.0.lock();
        if state.is_ended {
            return;
        }
        state.is_ended = true;
        state.end = Some(end);
        let connection = state.connection.take();
        drop(state);
        wake(connection);
    }

    /// Ready when the next piece is wanted.
    fn poll_wanted(&self, context: &mut Context<'_>) -> Poll<Result<(), BodyClosed>> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Poll::Ready(Err(BodyClosed));
        }
        if state.piece.is_none() && !state.is_held {
            return Poll::Ready(Ok(()));
        }
        state.producer = Some(context.waker().clone());
        Poll::Pending
    }

    fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Poll::Ready(());
        }
        state.closing = Some(context.waker().clone());
        Poll::Pending
    }

    /// The next piece, or how the body ended. `keeps_up` says that the connection has sent all pieces before.
    fn poll_take(&self, keeps_up: bool, context: &mut Context<'_>) -> Poll<Result<Piece, End>> {
        let mut state = self.0.lock();
        let taken = match state.piece.take() {
            Some(piece) => Poll::Ready(Ok(piece)),
            None => {
                if let Some(end) = state.end.take() {
                    return Poll::Ready(Err(end));
                }
                state.connection = Some(context.waker().clone());
                Poll::Pending
            }
        };
        if taken.is_ready() {
            state.keeps_up = keeps_up;
        }
        state.is_held = taken.is_ready() && !(keeps_up && state.runs_ahead);
        let producer = match state.is_held {
            true => None,
            false => state.producer.take(),
        };
        drop(state);
        wake(producer);
        taken
    }

    fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        let unsent = state.piece.take();
        let wakers = [state.producer.take(), state.closing.take()];
        drop(state);
        drop(unsent);
        wakers.into_iter().for_each(wake);
    }
}

/// Must not be called under the lock of a slot: a task that cannot run any more is dropped, and ends its body.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The end that the connection reads.
#[derive(Debug)]
pub struct BodyReceiver {
    slot: Arc<Slot>,
    /// Where pieces of files are queued; without it they are read.
    files: Option<FileQueue>,
    /// Says how far the connection is behind with sending; without it it never is.
    meter: Option<Meter>,
    /// What is left to be read of a piece of a file.
    unread: Option<FilePiece>,
    ended: bool,
}

impl hyper::body::Body for BodyReceiver {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(piece) = self.unread.take() {
            return Poll::Ready(Some(self.read(piece)));
        }
        let keeps_up = !self.meter.as_ref().is_some_and(Meter::has_unsent);
        self.slot
            .poll_take(keeps_up, context)
            .map(|taken| match taken {
                Ok(Piece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
                Ok(Piece::File(piece)) => Some(match &self.files {
                    Some(files) => Ok(Frame::data(files.push(piece))),
                    None => self.read(piece),
                }),
                Err(End::Failed(reason)) => Some(Err(io::Error::other(reason))),
                Err(End::Whole) => {
                    self.ended = true;
                    None
                }
            })
    }
}

impl Drop for BodyReceiver {
    fn drop(&mut self) {
        self.slot.close();
    }
}

impl BodyReceiver {
    /// Says on which connection the body leaves.
    pub(super) fn on_connection(mut self, files: Option<FileQueue>, meter: Meter) -> Self {
        (self.files, self.meter) = (files, Some(meter));
        self
    }

    /// Reads the beginning of a piece and keeps the rest of it for later.
    fn read(&mut self, piece: FilePiece) -> io::Result<Frame<Bytes>> {
        let (first, rest) = piece.split(READ_PIECE);
        self.unread = rest;
        first.read().map(Frame::data)
    }
}

/// The producer's end of a body. Without [`Producer::end`] the body never looks complete.
#[derive(Debug)]
struct Producer(Arc<Slot>);

impl Producer {
    fn new() -> (Producer, BodyReceiver) {
        let slot = Arc::new(Slot::default());
        let receiver = BodyReceiver {
            slot: Arc::clone(&slot),
            files: None,
            meter: None,
            unread: None,
            ended: false,
        };
        (Producer(slot), receiver)
    }

    fn end(self, end: End) {
        self.0.end(end);
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // An end that is there already stays.
        let died = "the producer of the body failed".to_owned();
        self.0.end(End::Failed(died));
    }
}

/// Writes a body.
#[derive(Debug)]
pub struct BodyWriter {
    /// `None` where the body has to fit in one piece, because the writer must not wait.
    slot: Option<Arc<Slot>>,
    gathered: Vec<u8>,
    /// Bytes that are passed on at a time: [`STREAM_BUFFER`] at first.
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
    /// A writer of a body that has to be shorter than [`SHORT_BODY`].
    fn of_one_piece() -> BodyWriter {
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
    /// keep a limited number of them. The others have to read again what they still need.
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
            Some(slot) if slot.0.lock().is_closed => Err(BodyClosed.into()),
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

    /// Passes on what is gathered, and waits until the connection has taken it.
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
        self.pass(Piece::Data(piece)).await?;
        self.adapt();
        // Only now: a producer that waits has no buffer.
        self.gathered.reserve_exact(self.piece + OVERRUN);
        Ok(())
    }

    /// Runs ahead and makes longer pieces for a client that keeps up, as long as not too many bodies of the pool do.
    fn adapt(&mut self) {
        let (Some(slot), Some(pool)) = (&self.slot, &self.pool) else {
            return;
        };
        let mut state = slot.0.lock();
        if !state.keeps_up {
            (self.piece, self.ahead) = (STREAM_BUFFER, None);
        } else if self.ahead.is_none() {
            self.ahead = pool.kept_buffer();
        }
        state.runs_ahead = self.ahead.is_some();
        if state.runs_ahead {
            self.piece = (2 * self.piece).min(LONG_PIECE);
        }
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
        self.pass(Piece::Data(buffer.into())).await
    }

    async fn pass(&self, piece: Piece) -> Result<(), BodyError> {
        let slot = self.slot.as_ref().ok_or(BodyError::WouldBlock)?;
        slot.put(piece)?;
        Ok(poll_fn(|context| slot.poll_wanted(context)).await?)
    }

    /// Sends a piece of a file, which is not read on the way.
    ///
    /// # Errors
    /// [`BodyError`].
    pub(crate) async fn send_piece(&mut self, piece: FilePiece) -> Result<(), BodyError> {
        self.flush().await?;
        self.passed += 1;
        self.pass(Piece::File(piece)).await
    }

    /// Says that the body is complete.
    pub fn finish(self) -> FinishedBody {
        FinishedBody(self)
    }
}

impl FinishedBody {
    /// Hands over the last piece and the end, which need not be waited for.
    fn hand_over(self, producer: Producer) {
        let rest = self.0.gathered;
        if !rest.is_empty() && producer.0.put(Piece::Data(rest.into())).is_err() {
            return; // The client has gone.
        }
        producer.end(End::Whole);
    }
}

/// Suspends the task once, so that others of its pool get their turn.
async fn yield_once() {
    let mut is_woken = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_woken, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs a producer in a pool.
pub(super) fn spawn<P, F, E>(pool: &Pool, produce: P) -> BodyReceiver
where
    P: FnOnce(BodyWriter) -> F,
    F: Future<Output = Result<FinishedBody, E>> + Send + 'static,
    E: Display,
{
    let (producer, receiver) = Producer::new();
    let body = produce(BodyWriter {
        slot: Some(Arc::clone(&producer.0)),
        gathered: Vec::new(),
        piece: STREAM_BUFFER,
        passed: 0,
        pool: Some(pool.clone()),
        kept_buffer: None,
        ahead: None,
    });
    pool.spawn(async move {
        match body.await {
            Ok(finished) => finished.hand_over(producer),
            Err(error) => producer.end(End::Failed(error.to_string())),
        }
    });
    receiver
}

/// Makes a body of at most one piece on this thread, without waiting. `None` if the producer waits for something else
/// than its client.
///
/// # Errors
/// That of the producer; among them [`BodyError::WouldBlock`] for a longer body.
pub(super) fn short<P, F, E>(produce: P) -> Option<Result<Vec<u8>, E>>
where
    P: FnOnce(BodyWriter) -> F,
    F: Future<Output = Result<FinishedBody, E>>,
{
    let made = poll_once(produce(BodyWriter::of_one_piece()))?;
    Some(made.map(|finished| finished.0.gathered))
}

/// What a future gives that need not wait; `None` if it would.
pub(crate) fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Sends a body from an async task.
#[derive(Debug)]
pub struct BodySender(Arc<Slot>);

impl BodySender {
    /// Sends one buffer, and waits until the connection has taken it.
    ///
    /// # Errors
    /// [`BodyClosed`] if the client has gone.
    pub async fn send(&self, buffer: Vec<u8>) -> Result<(), BodyClosed> {
        if buffer.is_empty() {
            return Ok(());
        }
        poll_fn(|context| self.0.poll_wanted(context)).await?;
        self.0.put(Piece::Data(buffer.into()))?;
        poll_fn(|context| self.0.poll_wanted(context)).await
    }

    /// Returns once the client has gone.
    pub async fn closed(&self) {
        poll_fn(|context| self.0.poll_closed(context)).await;
    }
}

/// Runs a producer as an async task.
pub(super) fn spawn_feed<P, F>(produce: P) -> BodyReceiver
where
    P: FnOnce(BodySender) -> F,
    F: Future<Output = Result<(), BodyClosed>> + Send + 'static,
{
    let (producer, receiver) = Producer::new();
    let work = produce(BodySender(Arc::clone(&producer.0)));
    tokio::spawn(async move {
        // A producer that broke off leaves a body that is cut.
        if work.await.is_ok() {
            producer.end(End::Whole);
        }
    });
    receiver
}

#[cfg(test)]
mod tests;
