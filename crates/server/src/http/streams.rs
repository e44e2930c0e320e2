//! The streams of one HTTP/2 connection: how long each of them may wait for its client.
//!
//! ```text
//! MeteredBody ──frames──► StreamBody ──pieces──► h2 ──► socket
//!                             │ unsent += piece   │ unsent -= written
//!                             └─── StreamState ───┘
//! ```
//!
//! A client allows each stream a number of bytes (its window), so a stream may stall while the socket takes bytes of
//! others. A stream whose client takes nothing for the write time is reset, and the others go on. Its last piece may
//! be in h2 already, which resets nothing any more; then the connection ends.

use crate::http::guarded::{ConnectionLimits, Meter};
use crate::runtime::ConnectionPermit;
use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Longest piece that h2 gets at once: a frame of the size that every client takes.
const PIECE: usize = 16 << 10;
/// Requests that a connection may have cancelled before their answers, less those answered: a client that opens and
/// resets streams as quickly as it can has the server do work for nothing.
const MOST_CANCELLED: usize = 512;
/// How long a connection that is to end waits for its client to say that it has understood.
const LEAVE_TIME: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// The stream whose request this task answers.
    static STREAM: Arc<StreamState>;
}

/// Bytes of one answer that h2 holds.
#[derive(Debug)]
pub(super) struct StreamState(Mutex<Unsent>);

#[derive(Debug)]
struct Unsent {
    /// Bytes that h2 got and the socket has not taken.
    bytes: u64,
    /// When the socket last took some, or h2 got the first of them.
    since: Instant,
    /// Waits until nothing is unsent.
    drained: Option<Waker>,
    /// A stream counts as a connection.
    permit: Option<ConnectionPermit>,
}

impl StreamState {
    fn new() -> StreamState {
        StreamState(Mutex::new(Unsent {
            bytes: 0,
            since: Instant::now(),
            drained: None,
            permit: None,
        }))
    }

    /// The stream that this task answers; one of its own for a task of no stream.
    pub(super) fn current() -> Arc<StreamState> {
        STREAM
            .try_with(Arc::clone)
            .unwrap_or_else(|_| Arc::new(StreamState::new()))
    }

    /// Holds a permit until the stream ends.
    pub(super) fn hold(&self, permit: ConnectionPermit) {
        self.0.lock().permit = Some(permit);
    }

    fn give(&self, len: usize) {
        let mut unsent = self.0.lock();
        if unsent.bytes == 0 {
            unsent.since = Instant::now();
        }
        unsent.bytes += len as u64;
    }

    fn take(&self, len: usize) {
        let mut unsent = self.0.lock();
        unsent.bytes = unsent.bytes.saturating_sub(len as u64);
        unsent.since = Instant::now();
        let drained = match unsent.bytes {
            0 => unsent.drained.take(),
            _ => None,
        };
        drop(unsent);
        if let Some(waker) = drained {
            waker.wake();
        }
    }

    /// When the stream can have stalled at the earliest.
    fn stall_time(&self, write: Duration) -> Instant {
        let unsent = self.0.lock();
        match unsent.bytes {
            0 => Instant::now() + write,
            _ => unsent.since + write,
        }
    }

    /// Returns once the client has taken nothing for the write time of what waits for it.
    async fn stalled(&self, write: Duration) {
        loop {
            let at = self.stall_time(write);
            if at <= Instant::now() {
                return;
            }
            sleep_until(at).await;
        }
    }

    /// Returns once h2 holds nothing of the answer.
    async fn drained(&self) {
        poll_fn(|context| {
            let mut unsent = self.0.lock();
            if unsent.bytes == 0 {
                return Poll::Ready(());
            }
            unsent.drained = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Bytes of an answer that h2 has; says when the socket has taken them.
#[derive(Debug)]
pub(super) struct StreamPiece {
    bytes: Bytes,
    state: Arc<StreamState>,
    meter: Meter,
}

impl StreamPiece {
    fn note_sent(&self, len: usize) {
        self.state.take(len);
        self.meter.sent(len);
    }
}

impl Buf for StreamPiece {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, len: usize) {
        self.bytes.advance(len);
        self.note_sent(len);
    }
}

impl Drop for StreamPiece {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            self.note_sent(self.bytes.len());
        }
    }
}

/// A body in pieces whose way through h2 is known.
#[derive(Debug)]
pub(super) struct StreamBody<B> {
    inner: B,
    /// The part of the last frame that h2 has not got yet.
    rest: Bytes,
    state: Arc<StreamState>,
    meter: Meter,
}

impl<B> StreamBody<B> {
    pub(super) fn new(inner: B, state: Arc<StreamState>, meter: Meter) -> Self {
        StreamBody {
            inner,
            rest: Bytes::new(),
            state,
            meter,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for StreamBody<B> {
    type Data = StreamPiece;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<StreamPiece>, B::Error>>> {
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                // No answer has trailers.
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
            if self.rest.is_empty() && self.inner.is_end_stream() {
                return Poll::Ready(None);
            }
        }
        let len = self.rest.len().min(PIECE);
        let bytes = self.rest.split_to(len);
        self.state.give(len);
        let (state, meter) = (Arc::clone(&self.state), self.meter.clone());
        let piece = StreamPiece {
            bytes,
            state,
            meter,
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// The streams of a connection together.
#[derive(Debug)]
pub(super) struct Streams {
    counts: Mutex<StreamCounts>,
    /// Ends the connection.
    end: Notify,
}

#[derive(Debug)]
struct StreamCounts {
    running: usize,
    /// When the last one ended, or the connection began.
    since: Instant,
    is_fresh: bool,
    cancelled: usize,
}

impl Streams {
    pub(super) fn new() -> Arc<Streams> {
        Arc::new(Streams {
            counts: Mutex::new(StreamCounts {
                running: 0,
                since: Instant::now(),
                is_fresh: true,
                cancelled: 0,
            }),
            end: Notify::new(),
        })
    }

    /// When the connection can have had its time at the earliest; `leaving` is the time of its GOAWAY.
    pub(super) fn end_time(&self, limits: &ConnectionLimits, leaving: Option<Instant>) -> Instant {
        let counts = self.counts.lock();
        match (counts.running, leaving) {
            (0, Some(told)) => told.max(counts.since) + LEAVE_TIME,
            (_, Some(_)) => Instant::now() + LEAVE_TIME,
            (0, None) if counts.is_fresh => counts.since + limits.head,
            (0, None) => counts.since + limits.idle,
            (_, None) => Instant::now() + limits.idle,
        }
    }

    /// Returns once the connection is to end at once, for what its client does.
    pub(super) async fn ended(&self) {
        self.end.notified().await;
    }

    /// Counts a request as cancelled unless it is answered.
    pub(super) fn begin_answer(self: &Arc<Self>) -> UnansweredRequest {
        UnansweredRequest {
            streams: Arc::clone(self),
            is_answered: false,
        }
    }
}

/// A request whose answer has not begun.
#[derive(Debug)]
pub(super) struct UnansweredRequest {
    streams: Arc<Streams>,
    is_answered: bool,
}

impl UnansweredRequest {
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for UnansweredRequest {
    fn drop(&mut self) {
        let mut counts = self.streams.counts.lock();
        if self.is_answered {
            counts.cancelled = counts.cancelled.saturating_sub(1);
            return;
        }
        counts.cancelled += 1;
        if counts.cancelled > MOST_CANCELLED {
            self.streams.end.notify_one();
        }
    }
}

/// Counts a stream until it is dropped.
struct RunningStream(Arc<Streams>);

impl RunningStream {
    fn begin(streams: &Arc<Streams>) -> RunningStream {
        let mut counts = streams.counts.lock();
        counts.running += 1;
        counts.is_fresh = false;
        drop(counts);
        RunningStream(Arc::clone(streams))
    }
}

impl Drop for RunningStream {
    fn drop(&mut self) {
        let mut counts = self.0.counts.lock();
        counts.running -= 1;
        counts.since = Instant::now();
    }
}

/// Runs each stream as a task that ends when its client takes too long.
#[derive(Clone, Debug)]
pub(super) struct StreamTasks {
    pub(super) streams: Arc<Streams>,
    /// How long a client may take nothing of an answer.
    pub(super) write: Duration,
}

impl<F> Executor<F> for StreamTasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let (running, write) = (RunningStream::begin(&self.streams), self.write);
        let state = Arc::new(StreamState::new());
        let watched = Arc::clone(&state);
        tokio::spawn(STREAM.scope(state, async move {
            tokio::select! {
                biased;
                () = stream => {}
                // h2 resets a stream that is dropped before its end.
                () = watched.stalled(write) => return,
            }
            tokio::select! {
                biased;
                () = watched.drained() => {}
                () = watched.stalled(write) => running.0.end.notify_one(),
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};

    const SHORT: Duration = Duration::from_millis(1);

    fn body(len: usize) -> (StreamBody<Full<Bytes>>, Arc<StreamState>) {
        let state = Arc::new(StreamState::new());
        let inner = Full::new(Bytes::from(vec![7; len]));
        let body = StreamBody::new(inner, Arc::clone(&state), Meter::new());
        (body, state)
    }

    #[tokio::test]
    async fn a_body_comes_in_pieces_and_what_h2_holds_is_counted() {
        let (mut body, state) = body(2 * PIECE + 5);
        assert_eq!(body.size_hint().exact(), Some(2 * PIECE as u64 + 5));
        let mut lengths = Vec::new();
        while let Some(frame) = body.frame().await {
            let mut piece = frame.unwrap().into_data().unwrap();
            lengths.push(piece.remaining());
            assert_eq!(state.0.lock().bytes, piece.remaining() as u64);
            piece.advance(2);
            assert_eq!(state.0.lock().bytes, piece.remaining() as u64);
        }
        assert_eq!(lengths, [PIECE, PIECE, 5]);
        assert!(body.is_end_stream());
        state.drained().await;
    }

    #[tokio::test]
    async fn only_what_a_client_does_not_take_stalls() {
        let (mut body, state) = body(10);
        let earliest = Instant::now() + Duration::from_secs(60);
        assert!(state.stall_time(Duration::from_secs(60)) >= earliest);
        let piece = body.frame().await.unwrap().unwrap();
        state.stalled(SHORT).await;
        drop(piece);
        state.drained().await;
        assert!(state.stall_time(Duration::from_secs(60)) >= earliest);
    }

    #[tokio::test]
    async fn requests_that_are_cancelled_again_and_again_end_the_connection() {
        let streams = Streams::new();
        for _ in 0..2 * MOST_CANCELLED {
            drop(streams.begin_answer());
            streams.begin_answer().answered();
        }
        for _ in 0..MOST_CANCELLED {
            drop(streams.begin_answer());
        }
        assert!(crate::http::poll_once(streams.ended()).is_none());
        drop(streams.begin_answer());
        streams.ended().await;
    }

    #[tokio::test]
    async fn a_stream_that_stalls_is_dropped_and_its_last_piece_ends_the_connection() {
        let streams = Streams::new();
        let tasks = StreamTasks {
            streams: Arc::clone(&streams),
            write: SHORT,
        };
        let (dropped, is_dropped) = tokio::sync::oneshot::channel::<()>();
        tasks.execute(async move {
            let _dropped = dropped;
            StreamState::current().give(1);
            std::future::pending::<()>().await;
        });
        assert!(is_dropped.await.is_err());
        assert!(crate::http::poll_once(streams.ended()).is_none());
        tasks.execute(async { StreamState::current().give(1) });
        streams.ended().await;
    }

    #[tokio::test]
    async fn a_connection_has_its_time_when_no_stream_runs() {
        let second = Duration::from_secs(1);
        let limits = ConnectionLimits {
            head: second,
            idle: 100 * second,
            write: second,
        };
        let streams = Streams::new();
        let begun = streams.counts.lock().since;
        assert_eq!(streams.end_time(&limits, None), begun + second);
        let running = RunningStream::begin(&streams);
        assert!(streams.end_time(&limits, None) >= begun + 100 * second);
        drop(running);
        let since = streams.counts.lock().since;
        assert_eq!(streams.end_time(&limits, None), since + 100 * second);
        assert_eq!(streams.end_time(&limits, Some(begun)), since + LEAVE_TIME);
    }
}
