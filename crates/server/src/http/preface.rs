//! Which version of HTTP a client speaks: HTTP/2 begins with a line that no request of HTTP/1 can have.
//!
//! TLS agrees on the version before that (ALPN), and an HTTP/2 client sends the same line then. So the line alone
//! decides, also for clients that know beforehand that the server speaks HTTP/2 (RFC 9113, section 3.3).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// The beginning of an HTTP/2 connection; h2 compares the rest of it. HTTP/1 has no method of this name.
const PREFACE: [u8; 4] = *b"PRI ";

/// Version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpVersion {
    Http1,
    Http2,
}

/// A stream whose first bytes are read once more.
#[derive(Debug)]
pub(super) struct RewoundStream<S> {
    inner: S,
    first: [u8; PREFACE.len()],
    /// The bytes of `first` that are still to be read again.
    unread: std::ops::Range<usize>,
}

/// Reads until it is known which version the client speaks.
///
/// # Errors
/// Those of reading; the client has left without a byte.
pub(super) async fn detect<S: AsyncRead + Unpin>(
    mut inner: S,
) -> io::Result<(HttpVersion, RewoundStream<S>)> {
    let mut first = [0; PREFACE.len()];
    let mut len = 0;
    while len < first.len() && PREFACE.starts_with(&first[..len]) {
        match inner.read(&mut first[len..]).await? {
            0 if len == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            0 => break,
            read => len += read,
        }
    }
    let version = match first == PREFACE {
        true => HttpVersion::Http2,
        false => HttpVersion::Http1,
    };
    let unread = 0..len;
    let stream = RewoundStream {
        inner,
        first,
        unread,
    };
    Ok((version, stream))
}

impl<S: AsyncRead + Unpin> AsyncRead for RewoundStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unread.is_empty() {
            return Pin::new(&mut self.inner).poll_read(context, buffer);
        }
        let again = self.unread.len().min(buffer.remaining());
        let start = self.unread.start;
        buffer.put_slice(&self.first[start..start + again]);
        self.unread.start += again;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RewoundStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncWriteExt, duplex};

    /// HTTP version of a client that sends these bytes one by one, and the bytes that are read after that.
    async fn detected(sent: &[u8]) -> (HttpVersion, Vec<u8>) {
        let (near, mut far) = duplex(1);
        let send = async {
            far.write_all(sent).await.unwrap();
            drop(far);
        };
        let read = async {
            let (version, mut stream) = detect(near).await.unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            (version, all)
        };
        tokio::join!(send, read).1
    }

    #[tokio::test]
    async fn the_first_bytes_decide_and_none_is_lost() {
        for (sent, expected) in [
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HttpVersion::Http2),
            ("PUT /db HTTP/1.1\r\n\r\n", HttpVersion::Http1),
            ("PRIX / HTTP/1.1\r\n", HttpVersion::Http1),
            ("GET / HTTP/1.1\r\n", HttpVersion::Http1),
            ("PR", HttpVersion::Http1),
            ("x", HttpVersion::Http1),
        ] {
            let (version, read) = detected(sent.as_bytes()).await;
            assert_eq!((version, read.as_slice()), (expected, sent.as_bytes()));
        }
        let (near, far) = duplex(1);
        drop(far);
        assert!(detect(near).await.is_err());
    }
}
