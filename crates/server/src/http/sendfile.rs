//! Files that go from the page cache to the socket inside the kernel.
//!
//! hyper only knows bytes in memory. So a body gives it a *placeholder* for each piece of a file: a slice of the right
//! length that is known by its address, and whose bytes are never read. hyper puts its framing around that as around
//! any other bytes. The stream between hyper and the socket recognises placeholders by their address, and sends the
//! piece of the file in their place:
//!
//! ```text
//! body          "s…name"   piece 1    piece 2
//! hyper         5 CR LF "s…name" CR LF   400000 CR LF [placeholder 1] CR LF   …
//! this stream   write ────────────────────────────►   sendfile            write …
//! ```
//!
//! Placeholders must reach this stream in the order and with the lengths of the pieces queued. Each
//! write is checked for that before any of its bytes leaves; if hyper ever copied a placeholder into
//! a buffer of its own, the connection would be cut and no wrong byte sent.
//!
//! Under TLS the bytes have to pass through this process, and pieces are read when their turn comes:
//! such a connection has no queue, so there are no placeholders that could reach the wrong stream.

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::error::Error;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use varve_base::{StorageError, StorageFile};

/// Longest piece of a file that goes through hyper at once.
const MAX_PIECE: usize = 4 << 20;

/// Where the file system cannot hand files to sockets, they are copied in buffers of this size.
const COPY_BUFFER: usize = 128 << 10;

/// The memory that placeholders are slices of. It is neither read nor written, so it takes no room.
static PLACEHOLDER: LazyLock<&'static [u8]> =
    LazyLock::new(|| Box::leak(vec![0; MAX_PIECE].into()));

/// A range of a file, to be sent as it is.
#[derive(Clone, Debug)]
pub(crate) struct FilePiece {
    file: Arc<dyn StorageFile>,
    offset: u64,
    /// From 1 to [`MAX_PIECE`].
    len: usize,
}

impl FilePiece {
    /// Whether a file can be sent in pieces; else it has to be read.
    pub(crate) fn can_send(file: &dyn StorageFile) -> bool {
        cfg!(target_os = "linux") && file.disk_file().is_some()
    }

    /// The pieces of a range of a file.
    pub(crate) fn cut(
        file: &Arc<dyn StorageFile>,
        offset: u64,
        len: u64,
    ) -> impl Iterator<Item = FilePiece> {
        let starts = (0..len).step_by(MAX_PIECE);
        starts.map(move |start| FilePiece {
            file: Arc::clone(file),
            offset: offset + start,
            len: (len - start).min(MAX_PIECE as u64) as usize,
        })
    }

    /// The first `len` bytes, and the rest behind them.
    pub(super) fn split(mut self, len: usize) -> (FilePiece, Option<FilePiece>) {
        let first = FilePiece {
            file: Arc::clone(&self.file),
            offset: self.offset,
            len: self.len.min(len),
        };
        self.offset += first.len as u64;
        self.len -= first.len;
        let rest = (self.len > 0).then_some(self);
        (first, rest)
    }

    /// The bytes, for a connection that cannot send files.
    pub(super) fn read(&self) -> io::Result<Bytes> {
        let bytes = self.file.read_vec(self.offset, self.len);
        bytes.map(Bytes::from).map_err(io::Error::other)
    }

    /// Brings the piece into the page cache, so that the connection, which shares its thread with
    /// others, need not wait for the disk.
    ///
    /// # Errors
    /// [`StorageError::Short`] if the file ends before the piece does.
    pub(crate) fn readahead(&self) -> Result<(), StorageError> {
        #[cfg(target_os = "linux")]
        if let Some(file) = self.file.disk_file() {
            let len = std::num::NonZeroU64::new(self.len as u64);
            // Only advice: without it the read comes later.
            let _ = rustix::fs::fadvise(file, self.offset, len, rustix::fs::Advice::WillNeed);
        }
        let last = self.offset + self.len as u64 - 1;
        self.file.read_exact_at(last, &mut [0])
    }
}

/// The pieces of one connection that hyper has placeholders of, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct FileQueue(Arc<Mutex<VecDeque<FilePiece>>>);

/// A file could not be sent as promised, so that the connection has to be cut.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("{path} ends before byte {wanted}", path = .piece.file.path().display(),
            wanted = .piece.offset + .piece.len as u64)]
    Short { piece: FilePiece },
    #[error("pieces of files are out of step with the answer")]
    OutOfStep,
}

/// Whether a connection ended because a file could not be sent.
pub(super) fn is_cut(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    let inner = cause.and_then(io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<Cut>())
}

impl FileQueue {
    /// Queues a piece and gives the placeholder that must go through hyper for it.
    pub fn push(&self, piece: FilePiece) -> Bytes {
        let placeholder = PLACEHOLDER.get(..piece.len).unwrap_or_default();
        self.lock().push_back(piece);
        Bytes::from_static(placeholder)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<FilePiece>> {
        self.0.lock()
    }

    /// Whether the placeholders among the slices are those of all queued pieces.
    fn check<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> Result<(), Cut> {
        let queued = self.lock();
        let placeholders = slices
            .filter(|slice| is_placeholder(slice))
            .map(<[u8]>::len);
        let in_step = placeholders.eq(queued.iter().map(|piece| piece.len));
        in_step.then_some(()).ok_or(Cut::OutOfStep)
    }

    /// Takes `sent` bytes off the first piece.
    fn advance(&self, sent: usize) {
        let mut queued = self.lock();
        if let Some(first) = queued.front_mut() {
            first.offset += sent as u64;
            first.len -= sent;
            if first.len == 0 {
                queued.pop_front();
            }
        }
    }
}

fn is_placeholder(slice: &[u8]) -> bool {
    PLACEHOLDER.as_ptr_range().contains(&slice.as_ptr())
}

/// A connection that sends the queued piece of a file for each placeholder.
#[derive(Debug)]
pub(super) struct SendfileStream {
    inner: TcpStream,
    queue: FileQueue,
}

impl SendfileStream {
    /// Wraps a fresh connection.
    pub fn new(inner: TcpStream, queue: FileQueue) -> Self {
        SendfileStream { inner, queue }
    }

    /// Sends as much of the first queued piece as the socket takes now.
    fn poll_send_file(&self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(piece) = self.queue.lock().front().cloned() else {
            return Poll::Ready(Err(io::Error::other(Cut::OutOfStep)));
        };
        loop {
            ready!(self.inner.poll_write_ready(context))?;
            let send = || send_some(&self.inner, &piece);
            let sent = match self.inner.try_io(Interest::WRITABLE, send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                sent => sent?,
            };
            if sent == 0 {
                return Poll::Ready(Err(io::Error::other(Cut::Short { piece })));
            }
            self.queue.advance(sent);
            return Poll::Ready(Ok(sent));
        }
    }
}

impl AsyncRead for SendfileStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for SendfileStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let checked = self.queue.check(slices.iter().map(|slice| &**slice));
        checked.map_err(io::Error::other)?;
        let first = slices.iter().position(|slice| is_placeholder(slice));
        let before = slices.get(..first.unwrap_or(slices.len()));
        let before = before.unwrap_or_default();
        if first.is_some() && before.iter().all(|slice| slice.is_empty()) {
            return self.poll_send_file(context);
        }
        Pin::new(&mut self.inner).poll_write_vectored(context, before)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Sends a part of a piece without waiting for the socket; 0 if the file has ended.
#[cfg(target_os = "linux")]
fn send_some(socket: &TcpStream, piece: &FilePiece) -> io::Result<usize> {
    use rustix::io::Errno;
    let Some(file) = piece.file.disk_file() else {
        return copy_some(socket, piece);
    };
    let mut offset = piece.offset;
    match rustix::fs::sendfile(socket, file, Some(&mut offset), piece.len) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS) => copy_some(socket, piece),
        sent => Ok(sent?),
    }
}

#[cfg(not(target_os = "linux"))]
fn send_some(socket: &TcpStream, piece: &FilePiece) -> io::Result<usize> {
    copy_some(socket, piece)
}

/// [`send_some`] through memory.
fn copy_some(socket: &TcpStream, piece: &FilePiece) -> io::Result<usize> {
    let mut buffer = vec![0; piece.len.min(COPY_BUFFER)];
    let got = piece.file.read_at(piece.offset, &mut buffer);
    buffer.truncate(got.map_err(io::Error::other)?);
    if buffer.is_empty() {
        return Ok(0);
    }
    Ok(rustix::io::write(socket, &buffer)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use varve_base::{DiskStorage, OpenMode, Storage};

    /// A connection, its other end, and a file of so many bytes.
    async fn scene(len: usize) -> (SendfileStream, TcpStream, Arc<dyn StorageFile>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap());
        let (accepted, other) = tokio::join!(listener.accept(), other);
        let stream = SendfileStream::new(accepted.unwrap().0, FileQueue::default());
        let directory = tempfile::tempdir().unwrap();
        let contents: Vec<u8> = (0..len).map(|n| (n / 3 % 251) as u8).collect();
        let storage = DiskStorage::new(directory.path());
        let file = storage.open(Path::new("f"), OpenMode::CreateNew).unwrap();
        file.append(&contents).unwrap();
        (stream, other.unwrap(), file, contents)
    }

    async fn write(stream: &mut SendfileStream, slices: &[&[u8]]) -> io::Result<usize> {
        let slices: Vec<IoSlice> = slices.iter().map(|slice| IoSlice::new(slice)).collect();
        stream.write_vectored(&slices).await
    }

    #[test]
    fn a_range_is_cut_into_pieces_that_follow_each_other() {
        let storage = varve_base::MemoryStorage::default();
        let file = storage.open(Path::new("f"), OpenMode::CreateNew).unwrap();
        assert!(!FilePiece::can_send(file.as_ref()));
        let max = MAX_PIECE as u64;
        for len in [0, 1, max - 1, max, max + 1, 3 * max] {
            let mut at = 7;
            for piece in FilePiece::cut(&file, 7, len) {
                assert_eq!(piece.offset, at);
                assert!((1..=MAX_PIECE).contains(&piece.len));
                at += piece.len as u64;
            }
            assert_eq!(at, 7 + len);
        }
    }

    #[tokio::test]
    async fn files_go_where_their_placeholders_are() {
        let (mut stream, mut other, file, contents) = scene(3_000).await;
        let mut placeholders = FilePiece::cut(&file, 10, 2_000)
            .chain(FilePiece::cut(&file, 0, 9))
            .map(|piece| stream.queue.push(piece));
        let (first, second) = (placeholders.next().unwrap(), placeholders.next().unwrap());
        drop(placeholders);
        let slices: [&[u8]; 5] = [b"ab", &first, b"cd", &second, b"e"];
        let mut rest = slices.concat().len();
        let mut left = slices.to_vec();
        while rest > 0 {
            let mut sent = write(&mut stream, &left).await.unwrap();
            rest -= sent;
            while sent > 0 {
                let taken = sent.min(left[0].len());
                left[0] = &left[0][taken..];
                sent -= taken;
                if left[0].is_empty() {
                    left.remove(0);
                }
            }
        }
        drop(stream);
        let mut all = Vec::new();
        other.read_to_end(&mut all).await.unwrap();
        let expected: [&[u8]; 5] = [b"ab", &contents[10..2_010], b"cd", &contents[..9], b"e"];
        assert_eq!(all, expected.concat());
    }

    #[tokio::test]
    async fn a_copied_or_misplaced_placeholder_sends_nothing() {
        let (mut stream, mut other, file, _) = scene(100).await;
        let piece = FilePiece::cut(&file, 0, 100).next().unwrap();
        let placeholder = stream.queue.push(piece.clone());
        let copied = placeholder.to_vec();
        let wrong: [&[&[u8]]; 4] = [
            &[b"head", &copied],
            &[b"head", &placeholder[..99]],
            &[b"head", &placeholder, &placeholder],
            &[b"head"],
        ];
        for slices in wrong {
            let error = write(&mut stream, slices).await.unwrap_err();
            assert!(error.get_ref().unwrap().is::<Cut>(), "{error}");
        }
        stream.queue.advance(100);
        write(&mut stream, &[&placeholder]).await.unwrap_err();
        drop(stream);
        assert_eq!(other.read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_file_that_ended_is_noticed_before_and_while_it_is_sent() {
        let (mut stream, _other, file, _) = scene(100).await;
        let piece = FilePiece::cut(&file, 0, 100).next().unwrap();
        piece.readahead().unwrap();
        file.truncate(0).unwrap();
        assert!(piece.readahead().is_err());
        let placeholder = stream.queue.push(piece);
        let error = write(&mut stream, &[&placeholder]).await.unwrap_err();
        assert!(
            error.to_string().ends_with("ends before byte 100"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn without_the_help_of_the_file_system_pieces_are_copied() {
        let (stream, mut other, file, contents) = scene(300_000).await;
        for piece in FilePiece::cut(&file, 5, 299_995) {
            assert_eq!(copy_some(&stream.inner, &piece).unwrap(), COPY_BUFFER);
        }
        drop(stream);
        let mut all = Vec::new();
        other.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, contents[5..][..COPY_BUFFER]);
    }
}
