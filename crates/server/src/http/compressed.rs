//! Bodies that are compressed while they are sent.
//!
//! A whole body is compressed at once if it is short. Others go piece by piece through an encoder, which is flushed
//! whenever the producer has no more to say for the moment, so that rows and heartbeats of a feed are not held back.
//!
//! An entity tag stays the same in all encodings: clients take the revision of a document from it. `Vary` tells caches
//! that there are several bodies.

use crate::http::body::BodyReceiver;
use crate::http::{Answer, Body, ContentEncoding};
use flate2::Compression as Level;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::{Either, Full};
use hyper::StatusCode;
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderValue, VARY,
};
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A shorter body would gain less than the packet that it is sent in.
const SHORTEST: usize = 1 << 10;
/// A whole body of at most so many bytes is compressed at once.
const AT_ONCE: usize = 64 << 10;
/// Bytes of a longer one that are compressed before other connections of the thread have their turn.
const TURN: usize = 64 << 10;
/// Compressed bytes that are passed on together.
const PIECE: usize = 16 << 10;
/// Binary logarithm of the bytes that zstd looks back: more would take more memory for little.
const ZSTD_WINDOW_LOG: u32 = 17;
const ZSTD_LEVEL: i32 = 1;

/// Types besides those of text that are worth it.
const TYPES: [&str; 6] = [
    "application/json",
    "application/javascript",
    "application/xml",
    "application/xhtml+xml",
    "application/x-javascript",
    "image/svg+xml",
];

/// A body of an answer, as the connection sends it.
pub(super) type SentBody = Either<Full<Bytes>, Either<BodyReceiver, EncodedBody>>;

/// Compresses a body while it is sent.
#[derive(Debug)]
pub(super) struct Compression {
    encoder: Encoder,
    permit: OwnedSemaphorePermit,
}

impl Compression {
    /// Prepares an answer for a client that would have `accepted`: a short body is compressed now, a longer one by what is
    /// returned, if there is one of `encoders` left.
    pub(super) fn begin(
        answer: &mut Answer,
        accepted: Option<ContentEncoding>,
        encoders: &Arc<Semaphore>,
    ) -> Option<Compression> {
        if !is_worth_it(answer) {
            return None;
        }
        let vary = HeaderValue::from_static("accept-encoding");
        if !answer.headers.get_all(VARY).iter().any(|said| said == vary) {
            answer.headers.append(VARY, vary);
        }
        let encoding = accepted?;
        // Without memory for an encoder the body is sent as it is.
        let encoder = Encoder::new(encoding).ok()?;
        let compression = match &mut answer.body {
            Body::Whole(bytes) if bytes.len() <= AT_ONCE => {
                *bytes = encoder.encode(bytes).ok()?;
                None
            }
            _ => {
                let permit = Arc::clone(encoders).try_acquire_owned().ok()?;
                Some(Compression { encoder, permit })
            }
        };
        let headers = &mut answer.headers;
        headers.remove(CONTENT_LENGTH);
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
        compression
    }

    /// Compresses a body in memory.
    pub(super) fn of_whole(self, bytes: Vec<u8>) -> SentBody {
        self.of(PlainBody::Whole(bytes.into()))
    }

    /// Compresses a body while it is made.
    pub(super) fn of_stream(self, body: BodyReceiver) -> SentBody {
        self.of(PlainBody::Stream(body))
    }

    fn of(self, source: PlainBody) -> SentBody {
        let body = EncodedBody {
            source,
            encoder: Some(self.encoder),
            has_unflushed: false,
            of_turn: 0,
            _permit: self.permit,
        };
        Either::Right(Either::Right(body))
    }
}

/// Whether clients that accept it get the body of this answer compressed. Not so parts of a body, bodies of which parts can be
/// asked for, and what is compressed already.
fn is_worth_it(answer: &Answer) -> bool {
    let is_long = match &answer.body {
        Body::Whole(bytes) => bytes.len() >= SHORTEST,
        Body::Stream(..) => true,
    };
    let headers = &answer.headers;
    let is_whole = answer.status != StatusCode::PARTIAL_CONTENT
        && [CONTENT_ENCODING, CONTENT_RANGE, ACCEPT_RANGES]
            .iter()
            .all(|name| !headers.contains_key(name));
    let is_text = || {
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let kind = kind.and_then(|kind| std::str::from_utf8(kind).ok());
        kind.is_some_and(|kind| {
            let media = kind.split(';').next().unwrap_or_default().trim();
            media.starts_with("text/") || TYPES.contains(&media)
        })
    };
    is_long && is_whole && is_text()
}

/// The plain body.
#[derive(Debug)]
enum PlainBody {
    Whole(Bytes),
    Stream(BodyReceiver),
}

impl PlainBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            PlainBody::Whole(rest) if rest.is_empty() => Poll::Ready(None),
            PlainBody::Whole(rest) => {
                let len = rest.len().min(PIECE);
                Poll::Ready(Some(Ok(rest.split_to(len))))
            }
            PlainBody::Stream(body) => Pin::new(body).poll_frame(context).map(|frame| {
                // There are no trailers.
                frame.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default()))
            }),
        }
    }
}

/// A body that is encoded piece by piece.
#[derive(Debug)]
pub(super) struct EncodedBody {
    source: PlainBody,
    /// Until the end.
    encoder: Option<Encoder>,
    /// Whether the encoder holds bytes that the client could use.
    has_unflushed: bool,
    /// Plain bytes since the thread was given back.
    of_turn: usize,
    _permit: OwnedSemaphorePermit,
}

impl HttpBody for EncodedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = &mut *self;
        let Some(encoder) = &mut body.encoder else {
            return Poll::Ready(None);
        };
        loop {
            if body.of_turn >= TURN {
                body.of_turn = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match body.source.poll_piece(context) {
                Poll::Ready(Some(Ok(piece))) => {
                    body.of_turn += piece.len();
                    body.has_unflushed = true;
                    encoder.write(&piece)?;
                    if encoder.output().len() >= PIECE {
                        return Poll::Ready(Some(Ok(encoder.take())));
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => {
                    let last = body.encoder.take().map(Encoder::finish).transpose()?;
                    let last = last.filter(|last| !last.is_empty());
                    return Poll::Ready(last.map(|last| Ok(Frame::data(last.into()))));
                }
                Poll::Pending if body.has_unflushed => {
                    body.has_unflushed = false;
                    encoder.flush()?;
                    return Poll::Ready(Some(Ok(encoder.take())));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// Compresses into memory.
enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encoder")
    }
}

impl Encoder {
    fn new(encoding: ContentEncoding) -> io::Result<Encoder> {
        Ok(match encoding {
            ContentEncoding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.window_log(ZSTD_WINDOW_LOG)?;
                Encoder::Zstd(encoder)
            }
            ContentEncoding::Deflate => {
                Encoder::Deflate(ZlibEncoder::new(Vec::new(), Level::fast()))
            }
            ContentEncoding::Gzip | ContentEncoding::Identity => {
                Encoder::Gzip(GzEncoder::new(Vec::new(), Level::fast()))
            }
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
            Encoder::Deflate(encoder) => encoder.write_all(bytes),
            Encoder::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Has all that was written come out.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Deflate(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        match self {
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Deflate(encoder) => encoder.get_mut(),
            Encoder::Zstd(encoder) => encoder.get_mut(),
        }
    }

    /// All that has come out so far.
    fn take(&mut self) -> Frame<Bytes> {
        Frame::data(std::mem::take(self.output()).into())
    }

    /// A whole body.
    fn encode(mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.write(bytes)?;
        self.finish()
    }

    /// The rest.
    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Deflate(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body::{poll_once, spawn_feed};
    use http_body_util::BodyExt;
    use std::io::Read;

    const ENCODERS: usize = 3;

    fn budget() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(ENCODERS))
    }

    fn decoded(encoding: ContentEncoding, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut decoder = encoding.decoder(bytes).unwrap();
        decoder.read_to_end(&mut plain).unwrap();
        plain
    }

    fn json(len: usize) -> Answer {
        let text = b"{\"n\":12345,\"text\":\"words and words\"}\n".repeat(len / 30 + 1);
        Answer::json(StatusCode::OK, text[..len].to_vec())
    }

    #[test]
    fn bodies_of_every_length_come_back_from_every_encoding() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.unwrap();
        for encoding in MADE {
            for len in [SHORTEST, AT_ONCE, AT_ONCE + 1, 3 << 20] {
                let mut answer = json(len);
                let plain = answer.whole_body().unwrap().to_vec();
                let budget = budget();
                let compression = Compression::begin(&mut answer, Some(encoding), &budget);
                assert_eq!(compression.is_some(), len > AT_ONCE);
                assert_eq!(answer.headers[CONTENT_ENCODING], encoding.name());
                assert_eq!(answer.headers[VARY], "accept-encoding");
                let Body::Whole(bytes) = answer.body else {
                    panic!("a stream of nothing");
                };
                let sent = match compression {
                    None => bytes.into(),
                    Some(compression) => {
                        let body = compression.of_whole(bytes).collect();
                        runtime.block_on(body).unwrap().to_bytes()
                    }
                };
                assert!(sent.len() < len / 2, "{encoding:?} {len}");
                assert!(decoded(encoding, &sent) == plain, "{encoding:?} {len}");
                assert_eq!(budget.available_permits(), ENCODERS);
            }
        }
    }

    const MADE: [ContentEncoding; 3] = [
        ContentEncoding::Gzip,
        ContentEncoding::Deflate,
        ContentEncoding::Zstd,
    ];

    #[test]
    fn what_gains_nothing_or_has_parts_stays_as_it_is() {
        let gzip = Some(ContentEncoding::Gzip);
        let budget = budget();
        let refuses = |mut answer: Answer| {
            let compression = Compression::begin(&mut answer, gzip, &budget);
            compression.is_none() && !answer.headers.contains_key(VARY)
        };
        assert!(refuses(json(SHORTEST - 1)));
        let long = || json(SHORTEST);
        assert!(!refuses(long()));
        for (name, value) in [
            ("content-encoding", "gzip"),
            ("accept-ranges", "bytes"),
            ("content-range", "bytes 0-1/2"),
            ("content-type", "image/png"),
            ("content-type", "application/mercurial-0.1"),
        ] {
            assert!(refuses(long().with_header(name, value)), "{name}: {value}");
        }
        let mut part = long();
        part.status = StatusCode::PARTIAL_CONTENT;
        assert!(refuses(part));
        // Without the client's leave only caches are told.
        let mut plain = long();
        assert!(Compression::begin(&mut plain, None, &budget).is_none());
        assert!(!plain.headers.contains_key(CONTENT_ENCODING));
        assert_eq!(plain.headers[VARY], "accept-encoding");
    }

    #[test]
    fn without_an_encoder_left_a_stream_is_sent_as_it_is() {
        let budget = budget();
        let gzip = Some(ContentEncoding::Gzip);
        let taken: Vec<_> = (0..ENCODERS)
            .map(|_| Compression::begin(&mut json(AT_ONCE + 1), gzip, &budget).unwrap())
            .collect();
        let mut one_more = json(AT_ONCE + 1);
        assert!(Compression::begin(&mut one_more, gzip, &budget).is_none());
        assert!(!one_more.headers.contains_key(CONTENT_ENCODING));
        let mut short = json(AT_ONCE);
        assert!(Compression::begin(&mut short, gzip, &budget).is_none());
        assert!(short.headers.contains_key(CONTENT_ENCODING));
        drop(taken);
        assert!(Compression::begin(&mut one_more, gzip, &budget).is_some());
    }

    #[tokio::test]
    async fn a_feed_that_pauses_is_flushed() {
        for encoding in MADE {
            let (go_on, wait) = tokio::sync::oneshot::channel();
            let feed = spawn_feed(|sender| async move {
                sender.send(b"first\n".to_vec()).await?;
                let _ = wait.await;
                sender.send(b"second\n".to_vec()).await
            });
            let (encoder, permits) = (Encoder::new(encoding).unwrap(), Arc::new(Semaphore::new(1)));
            let permit = permits.try_acquire_owned().unwrap();
            let mut body = Compression { encoder, permit }.of_stream(feed);
            let mut sent = Vec::new();
            let mut heard = Vec::new();
            while heard != b"first\n" {
                let frame = body.frame().await.unwrap().unwrap();
                sent.extend(frame.into_data().unwrap());
                heard = prefix(encoding, &sent);
            }
            assert!(poll_once(body.frame()).is_none(), "nothing is said twice");
            go_on.send(()).unwrap();
            sent.extend(body.collect().await.unwrap().to_bytes());
            assert_eq!(decoded(encoding, &sent), b"first\nsecond\n");
        }
    }

    /// The text that a client knows of a body of which more is to come.
    fn prefix(encoding: ContentEncoding, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut decoder = encoding.decoder(bytes).unwrap();
        let mut piece = [0; 64];
        while let Ok(read @ 1..) = decoder.read(&mut piece) {
            plain.extend_from_slice(&piece[..read]);
        }
        plain
    }
}
