//! Streamed bodies: a bounded channel of owned buffers between a producer and the connection.

use crate::http::sendfile::{FilePiece, FileQueue};
use bytes::Bytes;
use hyper::body::Frame;
use std::fmt::Display;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Small writes are gathered into buffers of this many bytes.
pub const STREAM_BUFFER: usize = 128 << 10;
/// Buffers that may wait for a slow client; with 1 MiB each this bounds memory per connection. More
/// of them gain nothing: while one leaves, the next is made.
const QUEUED_BUFFERS: usize = 2;

/// The client has gone; nobody reads the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client closed the connection")]
pub struct BodyClosed;

/// Why a [`BodyWriter`] takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Nobody reads the rest.
    #[error(transparent)]
    Closed(#[from] BodyClosed),
    /// A body that is made without waiting is longer than one buffer.
    #[error("the body does not fit in one buffer")]
    WouldBlock,
}

/// What travels through the channel. A channel that closes without `End` means that the producer
/// died, and a cut connection is the only way left to tell the client.
#[derive(Debug)]
enum Piece {
    Data(Bytes),
    File(FilePiece),
    Failed(String),
    End,
}

/// The end that the connection reads.
#[derive(Debug)]
pub struct BodyReceiver {
    receiver: mpsc::Receiver<Piece>,
    /// Where pieces of files are queued; without it they are read.
    files: Option<FileQueue>,
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
        self.receiver.poll_recv(context).map(|piece| match piece {
            Some(Piece::Data(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Piece::File(piece)) => Some(match &self.files {
                Some(files) => Ok(Frame::data(files.push(piece))),
                None => piece.read().map(Frame::data),
            }),
            Some(Piece::Failed(reason)) => Some(Err(io::Error::other(reason))),
            Some(Piece::End) => {
                self.ended = true;
                None
            }
            None => Some(Err(io::Error::other("the producer of the body failed"))),
        })
    }
}

/// Writes a body from a blocking thread.
#[derive(Debug)]
pub struct BodyWriter {
    /// `None` where the body has to fit in one buffer, because the writer must not block.
    sender: Option<mpsc::Sender<Piece>>,
    gathered: Vec<u8>,
    /// How often something was passed on.
    passed: u64,
}

impl BodyWriter {
    /// Grows whenever gathered bytes are sent, and cannot be taken back any more.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Adds bytes; they are sent once [`STREAM_BUFFER`] of them are gathered.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= STREAM_BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// The buffer that [`BodyWriter::write`] gathers in, to append to it in place; call
    /// [`BodyWriter::flush_if_full`] between items.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.gathered
    }

    /// Sends the gathered bytes if they are enough.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn flush_if_full(&mut self) -> Result<(), BodyError> {
        self.write(&[])
    }

    /// To be called now and then while there is nothing to send.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn check(&self) -> Result<(), BodyError> {
        match &self.sender {
            Some(sender) if sender.is_closed() => Err(BodyClosed.into()),
            _ => Ok(()),
        }
    }

    /// Sends what is gathered now.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn flush(&mut self) -> Result<(), BodyError> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.passed += 1;
        let full = std::mem::replace(&mut self.gathered, Vec::with_capacity(STREAM_BUFFER));
        self.pass(Piece::Data(full.into()))
    }

    fn pass(&self, piece: Piece) -> Result<(), BodyError> {
        let Some(sender) = &self.sender else {
            return Err(BodyError::WouldBlock);
        };
        sender.blocking_send(piece).map_err(|_| BodyClosed.into())
    }

    /// Sends a whole buffer, at best up to 1 MiB, without copying it.
    ///
    /// # Errors
    /// [`BodyError`].
    pub fn send(&mut self, buffer: Vec<u8>) -> Result<(), BodyError> {
        self.flush()?;
        if buffer.is_empty() {
            return Ok(());
        }
        self.pass(Piece::Data(buffer.into()))
    }

    /// Sends a piece of a file, which nobody reads on the way.
    ///
    /// # Errors
    /// [`BodyError`].
    pub(crate) fn send_piece(&mut self, piece: FilePiece) -> Result<(), BodyError> {
        self.flush()?;
        self.pass(Piece::File(piece))
    }
}

/// Sends a body from an async task.
#[derive(Clone, Debug)]
pub struct BodySender(mpsc::Sender<Piece>);

impl BodySender {
    /// Sends one buffer, waiting while the client is slow.
    ///
    /// # Errors
    /// [`BodyClosed`] if the client has gone.
    pub async fn send(&self, buffer: Vec<u8>) -> Result<(), BodyClosed> {
        let sent = self.0.send(Piece::Data(buffer.into())).await;
        sent.map_err(|_| BodyClosed)
    }

    /// Returns once the client has gone.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}

/// Runs a producer on a blocking thread.
pub(super) fn spawn_blocking<P, E>(produce: P) -> BodyReceiver
where
    P: FnOnce(&mut BodyWriter) -> Result<(), E> + Send + 'static,
    E: Display,
{
    let (sender, receiver) = mpsc::channel(QUEUED_BUFFERS);
    tokio::task::spawn_blocking(move || {
        let mut writer = BodyWriter {
            sender: Some(sender),
            gathered: Vec::new(),
            passed: 0,
        };
        let done = produce(&mut writer).map_err(|error| error.to_string());
        let done = done.and_then(|()| writer.flush().map_err(|closed| closed.to_string()));
        let last = done.map_or_else(Piece::Failed, |()| Piece::End);
        // An error means that the client has gone, which is no failure of the producer.
        let _ = writer.pass(last);
    });
    BodyReceiver::new(receiver)
}

/// Makes a body of at most one buffer on this thread, without waiting.
///
/// # Errors
/// That of the producer; among them [`BodyError::WouldBlock`] for a longer body.
pub(super) fn short<P, E>(produce: P) -> Result<Vec<u8>, E>
where
    P: FnOnce(&mut BodyWriter) -> Result<(), E>,
{
    let mut writer = BodyWriter {
        sender: None,
        gathered: Vec::new(),
        passed: 0,
    };
    produce(&mut writer)?;
    Ok(writer.gathered)
}

/// Runs a producer as an async task.
pub(super) fn spawn_feed<P, F>(produce: P) -> BodyReceiver
where
    P: FnOnce(BodySender) -> F,
    F: Future<Output = Result<(), BodyClosed>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(QUEUED_BUFFERS);
    let work = produce(BodySender(sender.clone()));
    tokio::spawn(async move {
        if work.await.is_ok() {
            // As above: a client that has gone needs no end.
            let _ = sender.send(Piece::End).await;
        }
    });
    BodyReceiver::new(receiver)
}

impl BodyReceiver {
    fn new(receiver: mpsc::Receiver<Piece>) -> Self {
        BodyReceiver {
            receiver,
            files: None,
            ended: false,
        }
    }

    /// Says on which connection the body leaves.
    pub(super) fn on_connection(mut self, files: Option<FileQueue>) -> Self {
        self.files = files;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    fn collect(receiver: BodyReceiver) -> Result<Bytes, io::Error> {
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| {
            runtime.block_on(async { Ok(receiver.collect().await?.to_bytes()) })
        })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn small_writes_and_whole_buffers_keep_their_order() {
        let body = spawn_blocking(|writer| {
            writer.write(b"a")?;
            writer.send(b"b".to_vec())?;
            for _ in 0..STREAM_BUFFER {
                writer.write(b"cc")?;
            }
            writer.write(b"d")
        });
        let all = collect(body).unwrap();
        assert_eq!(all.len(), 3 + 2 * STREAM_BUFFER);
        assert!(all.starts_with(b"abcc") && all.ends_with(b"ccd"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_body_that_fails_or_panics_never_looks_complete() {
        let failed = collect(spawn_blocking(|writer| {
            writer.write(b"half").unwrap();
            Err("the file is damaged")
        }));
        assert_eq!(failed.unwrap_err().to_string(), "the file is damaged");
        let died = collect(spawn_blocking(|_| -> Result<(), BodyError> {
            panic!("bug")
        }));
        assert!(died.is_err());
    }

    #[test]
    fn a_short_body_is_one_buffer_or_would_block() {
        let body = short(|writer| writer.write(b"short"));
        assert_eq!(body, Ok(b"short".to_vec()));
        let long = [7; STREAM_BUFFER];
        assert_eq!(
            short(|writer| writer.write(&long)),
            Err(BodyError::WouldBlock)
        );
        let sent = short(|writer| writer.send(b"a buffer".to_vec()));
        assert_eq!(sent, Err(BodyError::WouldBlock));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_producer_that_has_nothing_to_send_sees_that_its_client_has_gone() {
        let (done, outcome) = tokio::sync::oneshot::channel();
        let body = spawn_blocking(move |writer| {
            let mut looks = 0;
            while writer.check().is_ok() {
                looks += 1;
                std::thread::yield_now();
            }
            let _ = done.send(looks);
            writer.check()
        });
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        drop(body);
        assert!(outcome.await.unwrap() > 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_feed_ends_when_its_task_returns() {
        let feed = spawn_feed(|sender| async move { sender.send(b"one\n".to_vec()).await });
        assert_eq!(collect(feed).unwrap(), "one\n");
        let gone = spawn_feed(|sender| async move {
            let twice = sender.clone();
            drop(sender);
            twice.closed().await;
            Err(BodyClosed)
        });
        drop(gone);
    }
}
