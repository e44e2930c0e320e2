//! Queue between a producer and the connection.

use crate::Failure;
use crate::http::body::{BodyClosed, BodyReceiver};
use crate::http::sendfile::FilePiece;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A producer that runs ahead does so until its pieces take this much memory.
pub(super) const QUEUE_BYTES: usize = 256 << 10;
/// Likewise for pieces of files, which take no memory but an open file each.
pub(super) const QUEUE_PIECES: usize = 16;

/// A part of a body.
#[derive(Debug)]
pub(super) enum BodyPiece {
    Data(Bytes),
    File(FilePiece),
}

/// How a body ended.
#[derive(Debug)]
pub(super) enum End {
    Whole,
    /// Once a piece was taken, a cut connection is the only way left to tell the client.
    Failed(Failure),
}

impl BodyPiece {
    /// Bytes that it holds in memory.
    fn memory(&self) -> usize {
        match self {
            BodyPiece::Data(bytes) => bytes.len(),
            BodyPiece::File(_) => 0,
        }
    }
}

/// Between a producer and the connection: at most one piece, or some if the producer runs ahead.
#[derive(Debug, Default)]
pub(super) struct Slot(Mutex<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    pieces: VecDeque<BodyPiece>,
    /// Bytes that the pieces hold in memory.
    memory: usize,
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

impl SlotState {
    /// Whether the producer is to make the next piece now.
    pub(super) fn is_wanted(&self) -> bool {
        match self.runs_ahead {
            true => self.memory < QUEUE_BYTES && self.pieces.len() < QUEUE_PIECES && !self.is_held,
            false => self.pieces.is_empty() && !self.is_held,
        }
    }

    /// Whether a producer that waits is woken: one that runs ahead not for each piece that is taken.
    fn is_worth_waking(&self) -> bool {
        self.is_wanted() && self.memory <= QUEUE_BYTES / 2 && self.pieces.len() <= QUEUE_PIECES / 2
    }
}

impl Slot {
    /// Puts a piece behind those that are still to be taken.
    pub(super) fn put(&self, piece: BodyPiece) -> Result<(), BodyClosed> {
        self.put_all([piece])
    }

    /// Puts pieces behind those that are still to be taken, and wakes the connection once for all of them.
    pub(super) fn put_all(
        &self,
        pieces: impl IntoIterator<Item = BodyPiece>,
    ) -> Result<(), BodyClosed> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Err(BodyClosed);
        }
        for piece in pieces {
            state.memory += piece.memory();
            state.pieces.push_back(piece);
        }
        let connection = state.connection.take();
        drop(state);
        wake(connection);
        Ok(())
    }

    /// Says how the body ended, unless that was said before.
    pub(super) fn end(&self, end: End) {
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

    /// Lets the producer run ahead if `may_run_ahead`, which gets whether the connection keeps up, says so.
    pub(super) fn adapt(&self, may_run_ahead: impl FnOnce(bool) -> bool) -> bool {
        let mut state = self.0.lock();
        state.runs_ahead = may_run_ahead(state.keeps_up);
        state.runs_ahead
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.0.lock().memory
    }

    #[cfg(test)]
    pub(super) fn pieces(&self) -> usize {
        self.0.lock().pieces.len()
    }

    /// Ready when the next piece is wanted.
    pub(super) fn poll_wanted(&self, context: &mut Context<'_>) -> Poll<Result<(), BodyClosed>> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Poll::Ready(Err(BodyClosed));
        }
        if state.is_wanted() {
            return Poll::Ready(Ok(()));
        }
        state.producer = Some(context.waker().clone());
        Poll::Pending
    }

    pub(super) fn poll_closed(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Poll::Ready(());
        }
        state.closing = Some(context.waker().clone());
        Poll::Pending
    }

    /// The next piece, or how the body ended. `keeps_up` says that the connection has sent all pieces before.
    pub(super) fn poll_take(
        &self,
        keeps_up: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<BodyPiece, End>> {
        let mut state = self.0.lock();
        let taken = match state.pieces.pop_front() {
            Some(piece) => {
                state.memory -= piece.memory();
                state.keeps_up = keeps_up;
                Poll::Ready(Ok(piece))
            }
            None => {
                if let Some(end) = state.end.take() {
                    return Poll::Ready(Err(end));
                }
                state.connection = Some(context.waker().clone());
                Poll::Pending
            }
        };
        state.is_held = taken.is_ready() && !(keeps_up && state.runs_ahead);
        let producer = match state.is_worth_waking() {
            true => state.producer.take(),
            false => None,
        };
        drop(state);
        wake(producer);
        taken
    }

    /// Ready when the first piece is there, or the body ended without one; fails if it failed.
    pub(super) fn poll_begun(&self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let mut state = self.0.lock();
        if !state.pieces.is_empty() {
            return Poll::Ready(Ok(()));
        }
        match &state.end {
            Some(End::Whole) => Poll::Ready(Ok(())),
            Some(End::Failed(failure)) => Poll::Ready(Err(failure.clone())),
            None => {
                state.connection = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    pub(super) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        let unsent = std::mem::take(&mut state.pieces);
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

/// The producer's end of a body. Without [`Producer::end`] the body never looks complete.
#[derive(Debug)]
pub(super) struct Producer(Arc<Slot>);

impl Producer {
    pub(super) fn new() -> (Producer, BodyReceiver) {
        let slot = Arc::new(Slot::default());
        let receiver = BodyReceiver::of(Arc::clone(&slot));
        (Producer(slot), receiver)
    }

    /// One whose pieces are not for a connection.
    pub(super) fn local() -> Producer {
        Producer(Arc::default())
    }

    pub(super) fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.0)
    }

    /// As [`Slot::put`].
    pub(super) fn put(&self, piece: BodyPiece) -> Result<(), BodyClosed> {
        self.0.put(piece)
    }

    pub(super) fn end(self, end: End) {
        self.0.end(end);
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // An end that is there already stays.
        let died = "the producer of the body failed";
        self.0.end(End::Failed(Failure::internal(died)));
    }
}
