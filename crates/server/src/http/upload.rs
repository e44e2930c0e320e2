//! A body that is read while it arrives, by a blocking thread.

use crate::Failure;
use crate::http::intake::too_large;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body as _, Bytes, Incoming};
use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Pieces that may wait for their reader; the client is slowed down then.
const AHEAD: usize = 4;
/// A client that sends nothing for so long has gone: others may be waiting for it.
const SILENCE: Duration = Duration::from_secs(60);
/// Bytes that are read of a body which nobody wants, before the connection is cut.
const DISCARDED: u64 = 4 << 30;

type Piece = io::Result<Bytes>;

/// The body of a request, until somebody takes it.
#[derive(Clone)]
pub struct Upload(Arc<Mutex<State>>);

enum State {
    /// With the bytes that somebody may read of it.
    Waiting(Incoming, u64),
    /// Somebody reads; the task hands it the pieces.
    Read(JoinHandle<()>),
    Done,
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upload")
    }
}

impl Upload {
    /// A body of at most `limit` bytes; whoever reads on gets an error there.
    ///
    /// # Errors
    /// 413 if the client says that it is longer.
    pub(super) async fn new(
        incoming: Incoming,
        headers: &HeaderMap,
        limit: u64,
    ) -> Result<Upload, Failure> {
        if incoming.size_hint().lower() > limit {
            return Err(too_large(incoming, headers).await);
        }
        Ok(Upload(Arc::new(Mutex::new(State::Waiting(
            incoming, limit,
        )))))
    }

    fn take(&self) -> State {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut state, State::Done)
    }

    /// The body, which a blocking thread may read. Nothing, if it was taken before.
    pub(crate) fn reader(&self) -> UploadReader {
        let (sender, receiver) = mpsc::channel(AHEAD);
        if let State::Waiting(incoming, limit) = self.take() {
            let task = tokio::spawn(hand_on(incoming, Some((sender, limit))));
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *state = State::Read(task);
        }
        UploadReader {
            receiver,
            rest: Bytes::new(),
        }
    }

    /// Reads what nobody has read: a client that sends all of its request before it reads must be
    /// able to, or it never sees the answer.
    pub(super) async fn discard(&self) {
        match self.take() {
            State::Waiting(incoming, _) => hand_on(incoming, None).await,
            // It goes on without a reader.
            State::Read(task) => drop(task.await),
            State::Done => {}
        }
    }
}

/// Passes a body on, and reads on to its end when nobody wants it any more.
async fn hand_on(mut incoming: Incoming, mut to: Option<(mpsc::Sender<Piece>, u64)>) {
    let (mut discarded, mut received) = (0, 0);
    loop {
        let piece = match timeout(SILENCE, incoming.frame()).await {
            Ok(None) => return,
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(bytes) => Ok(bytes),
                Err(_trailers) => continue,
            },
            Ok(Some(Err(error))) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, error)),
            Err(_elapsed) => Err(io::ErrorKind::TimedOut.into()),
        };
        let is_end = piece.is_err();
        let len = piece.as_ref().map_or(0, Bytes::len) as u64;
        received += len;
        match &to {
            Some((sender, limit)) => {
                let is_past = received > *limit;
                let piece = if is_past {
                    Err(io::ErrorKind::FileTooLarge.into())
                } else {
                    piece
                };
                if sender.send(piece).await.is_err() || is_past {
                    to = None;
                }
            }
            None => discarded += len,
        }
        if is_end || discarded > DISCARDED {
            return;
        }
    }
}

/// A body that did not come to its end.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Failure::too_large(),
            _ => Failure::bad_request(format!("cannot read the body: {error}")),
        }
    }
}

/// Reads a body on a blocking thread.
#[derive(Debug)]
pub(crate) struct UploadReader {
    receiver: mpsc::Receiver<Piece>,
    rest: Bytes,
}

impl Read for UploadReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.rest = piece?,
                None => return Ok(0),
            }
        }
        let taken = self.rest.split_to(self.rest.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}
