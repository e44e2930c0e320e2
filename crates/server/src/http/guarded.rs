//! The time limits of one connection, and how much of an answer waits for its client.
//!
//! ```text
//! body ──frames──► MeteredBody ──► hyper ──► GuardedStream ──► socket
//!                      │  unsent bytes += frame   │  unsent bytes -= written
//!                      └────────── Meter ─────────┘
//! ```
//!
//! hyper alone would take 400 KiB of an answer for a client that reads nothing. With the meter the body is asked for
//! its next piece only when the socket has taken enough of those before, so that a stalled client costs no more than
//! its last pieces, and its producer nothing.
//!
//! A connection has one of two clocks running: the read clock between requests and while a head arrives, the write
//! clock while bytes wait that the socket does not take. The clock of a body is that of [`crate::http::intake`].

use crate::http::access::UnsentEntry;
use crate::runtime::Limits;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long one connection may wait for its client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    /// From the first byte of a request to the end of its head; also for the first byte of a connection.
    pub(super) head: Duration,
    /// Between two requests.
    pub(super) idle: Duration,
    /// While the client takes nothing of an answer.
    pub(super) write: Duration,
}

/// State of a connection, shared between its stream and the bodies of its answers.
#[derive(Clone, Debug)]
pub(super) struct Meter(Arc<Mutex<MeterState>>);

#[derive(Debug)]
struct MeterState {
    phase: Phase,
    /// Bytes that bodies gave to hyper and the socket has not taken.
    unsent: u64,
    /// Waits until less is unsent.
    body: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waiting for the first byte of a request.
    Idle {
        /// When the connection began to wait; unknown until it is next read from.
        since: Option<Instant>,
        /// A fresh connection has no more time than a head.
        is_fresh: bool,
    },
    /// A head is arriving.
    Head { since: Instant },
    /// From the end of a head until the answer's body has been handed over.
    Busy,
}

impl ConnectionLimits {
    /// Those of `[limits]`.
    pub(super) fn of(limits: &Limits) -> ConnectionLimits {
        let settings = limits.settings();
        ConnectionLimits {
            head: settings.head_timeout,
            idle: settings.idle_timeout,
            write: settings.write_timeout,
        }
    }
}

impl Meter {
    pub(super) fn new() -> Meter {
        Meter(Arc::new(Mutex::new(MeterState {
            phase: Phase::Idle {
                since: None,
                is_fresh: true,
            },
            unsent: 0,
            body: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, MeterState> {
        self.0.lock()
    }

    /// A head has arrived: from now on the server is to act.
    pub(super) fn begin_request(&self) {
        self.lock().phase = Phase::Busy;
    }

    /// Counts bytes that a body gave to hyper.
    pub(super) fn given(&self, len: u64) {
        self.lock().unsent += len;
    }

    /// Whether the client is to send a head, and the server has nothing left for it. An idle connection that had a
    /// request before is closed by hyper.
    pub(super) fn awaits_head(&self) -> bool {
        let state = self.lock();
        let awaits = match state.phase {
            Phase::Idle { is_fresh, .. } => is_fresh,
            Phase::Head { .. } => true,
            Phase::Busy => false,
        };
        awaits && state.unsent == 0
    }

    /// Whether the socket has not taken all that bodies gave.
    pub(super) fn has_unsent(&self) -> bool {
        self.lock().unsent > 0
    }

    fn end_answer(&self) {
        self.lock().phase = Phase::Idle {
            since: None,
            is_fresh: false,
        };
    }

    /// Counts bytes that the socket has taken.
    pub(super) fn sent(&self, len: usize) {
        let mut state = self.lock();
        // Heads and the framing of chunks are written too, but not metered.
        state.unsent = state.unsent.saturating_sub(len as u64);
        if let Some(body) = state.body.take() {
            drop(state);
            body.wake();
        }
    }
}

impl MeterState {
    /// Until when the client may send nothing, if it is the client's turn.
    fn read_deadline(&mut self, limits: &ConnectionLimits) -> Option<Instant> {
        match &mut self.phase {
            Phase::Busy => None,
            // The client is still taking the answer before: that is the write clock's matter.
            Phase::Idle { .. } if self.unsent > 0 => None,
            Phase::Idle { since, is_fresh } => {
                let time = if *is_fresh { limits.head } else { limits.idle };
                Some(*since.get_or_insert_with(Instant::now) + time)
            }
            Phase::Head { since } => Some(*since + limits.head),
        }
    }
}

/// A timer that is made when it is first needed and set anew only when it goes off too early.
#[derive(Debug, Default)]
struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready once `deadline` has passed; otherwise the task is woken by then.
    fn poll(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self
            .0
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(context));
            if sleep.deadline() >= deadline || Instant::now() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

/// A connection that ends when its client takes too long.
#[derive(Debug)]
pub(super) struct GuardedStream<S> {
    inner: S,
    limits: ConnectionLimits,
    meter: Meter,
    read_alarm: Alarm,
    write_alarm: Alarm,
    /// Time at which the socket stopped taking pending bytes.
    blocked_since: Option<Instant>,
}

impl<S> GuardedStream<S> {
    pub(super) fn new(inner: S, limits: ConnectionLimits, meter: Meter) -> Self {
        GuardedStream {
            inner,
            limits,
            meter,
            read_alarm: Alarm::default(),
            write_alarm: Alarm::default(),
            blocked_since: None,
        }
    }

    /// Ends the connection once a write has made no progress for too long.
    fn check_write<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.blocked_since = None;
            return written;
        }
        let since = *self.blocked_since.get_or_insert_with(Instant::now);
        ready!(self.write_alarm.poll(since + self.limits.write, context));
        let reason = "the client has taken nothing of its answer for too long";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, reason)))
    }

    /// Counts written bytes. With the last byte of an answer it is the client's turn, and the read clock starts: the
    /// connection may have looked for the next request before, and does not look again by itself.
    fn metered(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(len)) = &written {
            self.meter.sent(*len);
            let deadline = self.meter.lock().read_deadline(&self.limits);
            if let Some(deadline) = deadline
                && self.read_alarm.poll(deadline, context).is_ready()
            {
                context.waker().wake_by_ref();
            }
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        let before = buffer.filled().len();
        let read = Pin::new(&mut stream.inner).poll_read(context, buffer);
        let mut state = stream.meter.lock();
        if read.is_ready() {
            if buffer.filled().len() > before && matches!(state.phase, Phase::Idle { .. }) {
                let since = Instant::now();
                state.phase = Phase::Head { since };
            }
            return read;
        }
        let deadline = state.read_deadline(&stream.limits);
        let is_head = matches!(state.phase, Phase::Head { .. });
        drop(state);
        let Some(deadline) = deadline else {
            return Poll::Pending;
        };
        ready!(stream.read_alarm.poll(deadline, context));
        if is_head {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        // To hyper the client has left between two requests.
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        let written = self.metered(written, context);
        self.check_write(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        let written = self.metered(written, context);
        self.check_write(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.check_write(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.check_write(shut, context)
    }
}

/// A body that makes its next piece only when little of those before is unsent.
#[derive(Debug)]
pub(super) struct MeteredBody<B> {
    inner: B,
    meter: Meter,
    /// Bytes that may be unsent before the next piece is made.
    buffer: u64,
    /// Bytes that were given to hyper.
    given: u64,
    is_whole: bool,
    /// The line of the access log about the request.
    noted: Option<UnsentEntry>,
}

impl<B> MeteredBody<B> {
    pub(super) fn new(inner: B, meter: Meter, buffer: u64) -> Self {
        MeteredBody {
            inner,
            meter,
            buffer,
            given: 0,
            is_whole: false,
            noted: None,
        }
    }

    /// Writes the line once the body has ended, or has been cut.
    pub(super) fn noted(mut self, entry: Option<UnsentEntry>) -> Self {
        self.noted = entry;
        self
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for MeteredBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut state = self.meter.lock();
        if state.unsent >= self.buffer {
            state.body = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        self.is_whole = frame.is_none() || self.inner.is_end_stream();
        let data = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok()?.data_ref());
        if let Some(data) = data {
            let len = data.len() as u64;
            self.meter.given(len);
            self.given += len;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B> Drop for MeteredBody<B> {
    fn drop(&mut self) {
        if let Some(entry) = self.noted.take() {
            let cut = if self.is_whole {
                0
            } else {
                self.meter.lock().unsent
            };
            entry.end(self.given.saturating_sub(cut));
        }
        // hyper has taken the last piece, or there was none.
        self.meter.end_answer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use std::convert::Infallible;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    /// Never ends; its pieces have 100 bytes.
    struct Endless;

    impl Body for Endless {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(Some(Ok(Frame::data(vec![0; 100].into()))))
        }
    }

    /// A connection over which 100 bytes fit until the other end takes them, with short times.
    fn connection() -> (GuardedStream<DuplexStream>, DuplexStream, Meter) {
        let (near, far) = duplex(100);
        let short = Duration::from_millis(1);
        let limits = ConnectionLimits {
            head: short,
            idle: short,
            write: short,
        };
        let meter = Meter::new();
        (GuardedStream::new(near, limits, meter.clone()), far, meter)
    }

    async fn has_more(body: &mut MeteredBody<Endless>) -> bool {
        poll_fn(|context| Poll::Ready(Pin::new(&mut *body).poll_frame(context).is_ready())).await
    }

    #[tokio::test]
    async fn a_body_makes_its_next_piece_when_the_socket_has_taken_enough() {
        let (mut stream, _far, meter) = connection();
        let mut body = MeteredBody::new(Endless, meter, 250);
        for expected in [true, true, true, false, false] {
            assert_eq!(has_more(&mut body).await, expected);
        }
        let waiting = async {
            body.frame().await.unwrap().unwrap();
        };
        let (written, ()) = tokio::join!(stream.write(&[0; 100]), waiting);
        assert_eq!(written.unwrap(), 100);
        assert!(!has_more(&mut body).await);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_ends_the_connection() {
        let (mut stream, _far, _) = connection();
        stream.write_all(&[0; 100]).await.unwrap();
        let stalled = stream.write(&[0; 1]).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_silent_client_has_left_and_a_slow_head_is_an_error() {
        let mut buffer = [0; 100];
        let (mut stream, mut far, meter) = connection();
        assert_eq!(
            stream.read(&mut buffer).await.unwrap(),
            0,
            "it never sent a byte"
        );
        far.write_all(b"GET /").await.unwrap();
        assert_eq!(stream.read(&mut buffer).await.unwrap(), 5);
        let slow = stream.read(&mut buffer).await.unwrap_err();
        assert_eq!(slow.kind(), io::ErrorKind::TimedOut);
        meter.begin_request();
        drop(MeteredBody::new(Endless, meter, 250));
        assert_eq!(stream.read(&mut buffer).await.unwrap(), 0, "it was idle");
    }

    #[tokio::test]
    async fn no_read_clock_runs_while_the_server_is_to_act() {
        let (mut stream, mut far, meter) = connection();
        meter.begin_request();
        let later = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            far.write_all(b"body").await.unwrap();
        };
        let mut buffer = [0; 100];
        let (read, ()) = tokio::join!(stream.read(&mut buffer), later);
        assert_eq!(read.unwrap(), 4);
    }
}
