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
//! the client keeps up, a limited number of producers of each pool run ahead: they fill a queue while the connection
//! empties it, so that not every piece costs two switches between threads. Streams of clones then hand over some pieces
//! at a time.

mod feed;
mod pulled;
mod receiver;
mod slot;
mod writer;

use crate::Failure;
use crate::runtime::Pool;
pub use feed::BodySender;
pub(super) use feed::spawn_feed;
pub(crate) use pulled::LocalBody;
pub(super) use receiver::BodyReceiver;
use slot::{End, Producer};
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
pub use writer::{BodyWriter, FinishedBody, STREAM_BUFFER};

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

/// Runs a producer in a pool.
pub(super) fn spawn<P, F, E>(pool: &Pool, produce: P) -> BodyReceiver
where
    P: FnOnce(BodyWriter) -> F,
    F: Future<Output = Result<FinishedBody, E>> + Send + 'static,
    E: Into<Failure>,
{
    let (producer, receiver) = Producer::new();
    let body = produce(BodyWriter::of(&producer, pool));
    go_on(pool, producer, body);
    receiver
}

fn go_on<E: Into<Failure>>(
    pool: &Pool,
    producer: Producer,
    body: impl Future<Output = Result<FinishedBody, E>> + Send + 'static,
) {
    pool.spawn(async move {
        match body.await {
            Ok(finished) => finished.hand_over(producer),
            Err(error) => producer.end(End::Failed(error.into())),
        }
    });
}

/// A body whose producer began on the caller's thread.
pub(super) enum BegunBody {
    /// Made whole.
    Short(Vec<u8>),
    /// The rest is made in a pool.
    Long(BodyReceiver),
}

/// Runs a producer on this thread until a piece is full, and then in a pool. A short body needs no other thread, and
/// nothing of a long one is made twice.
///
/// # Errors
/// That of the producer before its first piece is full.
pub(super) fn begin<P, F, E>(pool: &Pool, produce: P) -> Result<BegunBody, E>
where
    P: FnOnce(BodyWriter) -> F,
    F: Future<Output = Result<FinishedBody, E>> + Send + 'static,
    E: Into<Failure>,
{
    let (producer, receiver) = Producer::new();
    let mut body = Box::pin(produce(BodyWriter::of_begun(&producer, pool)));
    let mut context = Context::from_waker(Waker::noop());
    match body.as_mut().poll(&mut context) {
        Poll::Ready(Ok(finished)) if finished.is_one_piece() => {
            return Ok(BegunBody::Short(finished.into_bytes()));
        }
        Poll::Ready(Ok(finished)) => finished.hand_over(producer),
        // A producer is suspended with each piece, so it has passed nothing on.
        Poll::Ready(Err(error)) => return Err(error),
        Poll::Pending => go_on(pool, producer, body),
    }
    Ok(BegunBody::Long(receiver))
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
    Some(made.map(FinishedBody::into_bytes))
}

/// Output of a future that need not wait; `None` if it would.
pub(crate) fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
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

#[cfg(test)]
mod tests;
