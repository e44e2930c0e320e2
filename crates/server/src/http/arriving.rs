//! A request's body on its way: how long its client may take to send it.

use crate::Failure;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The time that a client has for a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyTime {
    /// Longest pause, and the time that is given to a body whatever its length.
    pub(crate) pause: Duration,
    /// Bytes a second that a longer body must have on average; 0 for any.
    pub(crate) rate: u64,
}

/// Why a body did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body of the request did not come in time")]
    Late,
    #[error("the body of the request is too long")]
    TooLong,
    #[error("cannot read the body: {0}")]
    Cut(String),
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Failure {
        match error {
            BodyError::Late => Failure::request_timeout(error.to_string()),
            BodyError::TooLong => Failure::too_large(),
            BodyError::Cut(_) => Failure::bad_request(error.to_string()),
        }
    }
}

/// A body whose client is not trusted to send it, or to send it in time.
#[derive(Debug)]
pub(crate) struct ArrivingBody<B = Incoming> {
    incoming: B,
    time: BodyTime,
    /// How long the client was waited for. Time in which the server was busy is none of the client's.
    waited: Duration,
    received: u64,
    /// The most bytes that may come.
    limit: u64,
}

impl<B> ArrivingBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    /// A body of at most `limit` bytes.
    pub(crate) fn new(incoming: B, time: BodyTime, limit: u64) -> Self {
        ArrivingBody {
            incoming,
            time,
            waited: Duration::ZERO,
            received: 0,
            limit,
        }
    }

    /// How long the body will be, as far as its head says.
    pub(crate) fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// Any [`BodyError`].
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        loop {
            if self.incoming.is_end_stream() {
                return Ok(None);
            }
            let begun = Instant::now();
            let time_left = self.time_left();
            let next = self.incoming.frame();
            let frame = timeout(time_left, next).await;
            self.waited += begun.elapsed();
            let frame = frame.map_err(|_elapsed| BodyError::Late)?;
            match self.take(frame)? {
                Taken::Nothing => {}
                Taken::Bytes(bytes) => return Ok(Some(bytes)),
                Taken::End => return Ok(None),
            }
        }
    }

    fn take(&mut self, frame: Option<Result<Frame<Bytes>, B::Error>>) -> Result<Taken, BodyError> {
        let Some(frame) = frame else {
            return Ok(Taken::End);
        };
        let frame = frame.map_err(|error| BodyError::Cut(error.to_string()))?;
        let Ok(bytes) = frame.into_data() else {
            return Ok(Taken::Nothing);
        };
        self.received = self.received.saturating_add(bytes.len() as u64);
        match self.received > self.limit {
            true => Err(BodyError::TooLong),
            false => Ok(Taken::Bytes(bytes)),
        }
    }

    /// How long the next bytes may take.
    fn time_left(&self) -> Duration {
        let earned = self.received.checked_div(self.time.rate);
        let earned = earned.map_or(Duration::MAX, Duration::from_secs);
        let allowed = self.time.pause.saturating_add(earned);
        allowed.saturating_sub(self.waited).min(self.time.pause)
    }

    /// Reads on after the body was refused or left unread, at most `most` bytes: a client that sends all of its
    /// request before it reads must be able to, or it never sees the answer.
    pub(crate) async fn discard(&mut self, most: u64, pause: Duration) {
        self.limit = self.received.saturating_add(most);
        self.time.pause = pause.min(self.time.pause);
        while let Ok(Some(_)) = self.next().await {}
    }
}

enum Taken {
    Bytes(Bytes),
    /// Trailers.
    Nothing,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// Pieces that are here already, and then the end or silence.
    struct Pieces {
        lengths: VecDeque<usize>,
        is_silent: bool,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.lengths.pop_front() {
                None if self.is_silent => Poll::Pending,
                piece => Poll::Ready(piece.map(|len| Ok(Frame::data(vec![0; len].into())))),
            }
        }
    }

    /// A body of at most 1 MiB in so many pieces of 1 KiB.
    fn body(pieces: usize, is_silent: bool) -> ArrivingBody<Pieces> {
        let pieces = Pieces {
            lengths: vec![1024; pieces].into(),
            is_silent,
        };
        let time = BodyTime {
            pause: Duration::from_millis(1),
            rate: 1024,
        };
        ArrivingBody::new(pieces, time, 1 << 20)
    }

    async fn read(mut body: ArrivingBody<Pieces>) -> Result<u64, BodyError> {
        while body.next().await?.is_some() {}
        Ok(body.received)
    }

    #[tokio::test]
    async fn a_silent_client_runs_out_of_time() {
        assert_eq!(read(body(3, false)).await, Ok(3 << 10));
        let mut silent = body(1, true);
        assert_eq!(silent.next().await.unwrap().unwrap().len(), 1024);
        assert_eq!(silent.next().await, Err(BodyError::Late));
        assert!(silent.waited > Duration::ZERO);
    }

    #[test]
    fn a_trickle_is_no_pause_but_too_slow_in_the_end() {
        let seconds = Duration::from_secs;
        let mut body = body(0, false);
        body.time.pause = seconds(60);
        let mut time_left = |waited, received| {
            (body.waited, body.received) = (seconds(waited), received);
            body.time_left()
        };
        assert_eq!(time_left(0, 0), seconds(60));
        assert_eq!(time_left(50, 50), seconds(10));
        assert_eq!(time_left(61, 61), Duration::ZERO);
        assert_eq!(time_left(61, 61 << 10), seconds(60));
        assert_eq!(time_left(100, 70 << 10), seconds(30));
        body.time.rate = 0;
        (body.waited, body.received) = (seconds(1_000_000), 0);
        assert_eq!(body.time_left(), seconds(60));
    }

    #[tokio::test]
    async fn a_body_ends_at_its_limit() {
        assert_eq!(read(body(1024, false)).await, Ok(1 << 20));
        assert_eq!(read(body(1025, false)).await, Err(BodyError::TooLong));
    }

    #[tokio::test]
    async fn discarding_has_a_bound() {
        let mut long = body(100, false);
        long.discard(10 << 10, Duration::MAX).await;
        assert_eq!(long.received, 11 << 10);
        let mut silent = body(0, true);
        silent.discard(u64::MAX, Duration::MAX).await;
        assert_eq!(silent.received, 0);
    }
}
