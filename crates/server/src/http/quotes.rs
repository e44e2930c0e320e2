//! Quotation marks in a query, as people write them: `curl 'HOST/db/_all_docs?key="a"'`.
//!
//! They should be escaped, but CouchDB takes them as they are and half of its documentation shows
//! them so; hyper refuses them. So the stream between the socket and hyper puts a backtick in the
//! place of each one in a request line, and tells the handler that it did, which turns them back.
//! The length of nothing changes, so no request can begin elsewhere because of it.

use hyper::Uri;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Replaces a quotation mark before hyper parses it. It should be escaped as well, and no client writes it.
const PLACEHOLDER: u8 = b'`';

/// Whether the request line that was read last had quotation marks.
#[derive(Clone, Debug, Default)]
pub struct Quoted(Arc<AtomicBool>);

impl Quoted {
    /// Whether the query of the request at hand has placeholders; to be asked once per request.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    /// The target as it should have been sent: with its quotation marks escaped.
    pub fn restore(uri: Uri) -> Uri {
        let (path, query) = (uri.path(), uri.query().unwrap_or_default());
        let escaped = query.replace(char::from(PLACEHOLDER), "%22");
        format!("{path}?{escaped}").parse().unwrap_or(uri)
    }
}

/// A socket whose request lines hyper can read.
#[derive(Debug)]
pub struct QuoteStream<S> {
    inner: S,
    quoted: Quoted,
    place: RequestPosition,
}

/// Where in the requests the next byte stands, as far as that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestPosition {
    /// At the beginning of a request, which can only follow an answer.
    Start,
    /// In the path of a request line.
    Path,
    /// In the query of a request line.
    Query,
    /// Anywhere else.
    Beyond,
}

impl<S> QuoteStream<S> {
    /// Wraps a fresh connection.
    pub fn new(inner: S, quoted: Quoted) -> Self {
        QuoteStream {
            inner,
            quoted,
            place: RequestPosition::Start,
        }
    }
}

impl RequestPosition {
    /// Looks at how a write begins: `100 Continue` goes before a body, every other answer before
    /// a request.
    fn answered(&mut self, bytes: &[u8]) {
        if !bytes.starts_with(b"HTTP/1.1 100") {
            *self = RequestPosition::Start;
        }
    }

    /// Looks at bytes that came in, and puts placeholders into their query. Says whether it did.
    fn pass(&mut self, bytes: &mut [u8]) -> bool {
        let mut any = false;
        if *self == RequestPosition::Start && !bytes.is_empty() {
            // Every method begins with a capital.
            *self = match bytes[0] {
                b'A'..=b'Z' => RequestPosition::Path,
                _ => RequestPosition::Beyond,
            };
        }
        for byte in bytes {
            match (*self, *byte) {
                (RequestPosition::Beyond, _) => break,
                (_, b'\n') => *self = RequestPosition::Beyond,
                (RequestPosition::Path, b'?') => *self = RequestPosition::Query,
                (RequestPosition::Query, b'"') => {
                    *byte = PLACEHOLDER;
                    any = true;
                }
                _ => {}
            }
        }
        any
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for QuoteStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let mut place = self.place;
        if place.pass(&mut buffer.filled_mut()[before..]) {
            self.quoted.0.store(true, Ordering::Relaxed);
        }
        self.place = place;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for QuoteStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.place.answered(bytes);
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = slices.first() {
            self.place.answered(first);
        }
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

    fn pass(pieces: &[&str]) -> (String, bool) {
        let (mut place, mut out, mut any) = (RequestPosition::Start, String::new(), false);
        for piece in pieces {
            let mut bytes = piece.as_bytes().to_vec();
            any |= place.pass(&mut bytes);
            out.push_str(&String::from_utf8(bytes).unwrap());
        }
        (out, any)
    }

    #[test]
    fn only_the_query_of_a_request_line_changes() {
        let head = "GET /d\"b/_all_docs?key=\"a\" HTTP/1.1\r\nx: \"y?\"\r\n\r\n\"z\"";
        let expected = "GET /d\"b/_all_docs?key=`a` HTTP/1.1\r\nx: \"y?\"\r\n\r\n\"z\"";
        assert_eq!(pass(&[head]), (expected.to_owned(), true));
        let (first, rest) = head.split_at(25);
        assert_eq!(pass(&[first, rest]), (expected.to_owned(), true));
        let restored = Quoted::restore("/d/_all_docs?key=`a`".parse().unwrap());
        assert_eq!(restored, "/d/_all_docs?key=%22a%22");
    }

    #[test]
    fn bodies_and_plain_requests_stay_as_they_are() {
        for text in ["{\"a\":\"?\"}", "GET /a?b=`c` HTTP/1.1\r\n\r\n", "\"?\""] {
            assert_eq!(pass(&[text]), (text.to_owned(), false));
        }
    }
}
