//! The end of a body that the connection reads.

use crate::Failure;
use crate::http::body::slot::{BodyPiece, End, Slot};
use crate::http::guarded::Meter;
use crate::http::sendfile::{FilePiece, FileQueue};
use bytes::Bytes;
use hyper::body::Frame;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes of a file that a connection reads at a time if it cannot send files.
const READ_PIECE: usize = 64 << 10;

/// The end that the connection reads.
#[derive(Debug)]
pub struct BodyReceiver {
    slot: Arc<Slot>,
    /// Where pieces of files are queued; without it they are read.
    files: Option<FileQueue>,
    /// Says how far the connection is behind with sending; without it it never is.
    meter: Option<Meter>,
    /// The unread rest of a piece of a file.
    unread: Option<FilePiece>,
    /// In a box, as few bodies have some.
    around: Option<Box<Around>>,
    ended: bool,
}

/// Bytes around the pieces of a body.
#[derive(Debug)]
struct Around {
    /// Before the first piece, until they are sent.
    before: Option<Bytes>,
    behind: Bytes,
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
        let before = self.around.as_mut().and_then(|it| it.before.take());
        if let Some(before) = before {
            return Poll::Ready(Some(Ok(Frame::data(before))));
        }
        if let Some(piece) = self.unread.take() {
            return Poll::Ready(Some(self.read(piece)));
        }
        let keeps_up = !self.meter.as_ref().is_some_and(Meter::has_unsent);
        self.slot
            .poll_take(keeps_up, context)
            .map(|taken| match taken {
                Ok(BodyPiece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
                Ok(BodyPiece::File(piece)) => Some(match &self.files {
                    Some(files) => Ok(Frame::data(files.push(piece))),
                    None => self.read(piece),
                }),
                Err(End::Failed(failure)) => Some(Err(io::Error::other(failure.reason))),
                Err(End::Whole) => {
                    self.ended = true;
                    self.around.take().map(|it| Ok(Frame::data(it.behind)))
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
    pub(super) fn of(slot: Arc<Slot>) -> BodyReceiver {
        BodyReceiver {
            slot,
            files: None,
            meter: None,
            unread: None,
            around: None,
            ended: false,
        }
    }

    /// Waits for the first piece.
    ///
    /// # Errors
    /// The producer failed before that, so that there is still a status to say so.
    pub(in crate::http) async fn begun(&mut self) -> Result<(), Failure> {
        poll_fn(|context| self.slot.poll_begun(context)).await
    }

    /// The next piece, read if it is one of a file; `None` behind the last one.
    ///
    /// # Errors
    /// That of the producer; a piece of a file cannot be read.
    pub(in crate::http) async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        if let Some(piece) = self.unread.take() {
            return self.part(piece).map(Some).map_err(Failure::from);
        }
        match poll_fn(|context| self.slot.poll_take(true, context)).await {
            Ok(BodyPiece::Data(bytes)) => Ok(Some(bytes)),
            Ok(BodyPiece::File(piece)) => self.part(piece).map(Some).map_err(Failure::from),
            Err(End::Whole) => Ok(None),
            Err(End::Failed(failure)) => Err(failure),
        }
    }

    /// Puts bytes around the body.
    pub(in crate::http) fn surround(&mut self, before: Bytes, behind: Bytes) {
        let before = Some(before);
        self.around = Some(Box::new(Around { before, behind }));
    }

    #[cfg(test)]
    pub(super) fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    /// Says on which connection the body leaves.
    pub(in crate::http) fn on_connection(mut self, files: Option<FileQueue>, meter: Meter) -> Self {
        (self.files, self.meter) = (files, Some(meter));
        self
    }

    /// Reads the beginning of a piece and keeps the rest of it for later.
    fn part(&mut self, piece: FilePiece) -> io::Result<Bytes> {
        let (first, rest) = piece.split(READ_PIECE);
        self.unread = rest;
        first.read()
    }

    /// The same as a frame.
    fn read(&mut self, piece: FilePiece) -> io::Result<Frame<Bytes>> {
        self.part(piece).map(Frame::data)
    }
}
