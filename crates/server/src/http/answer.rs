//! Answers: status, headers, and a body that is whole or comes from a producer while it is sent.

use crate::Failure;
use crate::http::body;
use crate::http::body::{
    BegunBody, BodyClosed, BodyReceiver, BodySender, BodyWriter, FinishedBody,
};
use crate::runtime::Pool;
use hyper::StatusCode;
use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};

/// Headers that fit an answer without another allocation.
const USUAL_HEADERS: usize = 12;

/// Response of a handler.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: StatusCode,
    /// Words behind the status that take the place of the usual ones.
    pub reason: Option<&'static str>,
    /// Headers of this answer; the listener adds those that all answers have.
    pub headers: HeaderMap,
    /// The bytes behind the head, or their source.
    pub body: Body,
}

/// The body of an [`Answer`].
#[derive(Debug)]
pub enum Body {
    /// Sent with a `Content-Length`.
    Whole(Vec<u8>),
    /// Sent as it is produced: chunked, unless the handler set `Content-Length`.
    Stream(BodyReceiver, Beginning),
}

/// Whether the head of an answer waits for the first piece of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The head waits, so that a failure before the first piece has a status of its own.
    Awaited,
    /// The head is sent at once: the body of a feed begins only with the next change.
    Any,
}

impl Answer {
    /// An answer with a whole body of any type.
    pub fn whole(status: StatusCode, content_type: &str, body: Vec<u8>) -> Answer {
        let mut answer = Answer {
            status,
            reason: None,
            headers: HeaderMap::with_capacity(USUAL_HEADERS),
            body: Body::Whole(body),
        };
        if !content_type.is_empty() {
            answer.set_header("content-type", content_type);
        }
        answer
    }

    /// JSON that is already written, with the line end that CouchDB puts behind it.
    pub fn json(status: StatusCode, body: Vec<u8>) -> Answer {
        Self::whole(status, "application/json", body)
    }

    /// `{"ok":true}`.
    pub fn ok(status: StatusCode) -> Answer {
        Self::json(status, b"{\"ok\":true}\n".to_vec())
    }

    /// Plain text.
    pub fn text(status: StatusCode, text: impl Into<String>) -> Answer {
        Self::whole(
            status,
            "text/plain; charset=utf-8",
            text.into().into_bytes(),
        )
    }

    /// A 200 whose body a future in a pool writes while it is sent. Between two pieces the producer holds no thread; it
    /// gets [`BodyClosed`] when the client has left. A producer that fails before its first piece makes
    /// [`Answer::begun`] fail; later it cuts the connection, so that the client sees the failure.
    pub(crate) fn stream<P, F, E>(content_type: &str, pool: &Pool, produce: P) -> Answer
    where
        P: FnOnce(BodyWriter) -> F,
        F: Future<Output = Result<FinishedBody, E>> + Send + 'static,
        E: Into<Failure>,
    {
        Self::of_stream(content_type, body::spawn(pool, produce), Beginning::Awaited)
    }

    /// A 200 whose body is sent whole if it is short, and otherwise goes on in a pool while it is sent.
    ///
    /// # Errors
    /// That of the producer before its first piece.
    pub(crate) fn stream_if_long<P, F, E>(
        content_type: &str,
        pool: &Pool,
        produce: P,
    ) -> Result<Answer, E>
    where
        P: FnOnce(BodyWriter) -> F,
        F: Future<Output = Result<FinishedBody, E>> + Send + 'static,
        E: Into<Failure>,
    {
        Ok(match body::begin(pool, produce)? {
            BegunBody::Short(body) => Self::whole(StatusCode::OK, content_type, body),
            BegunBody::Long(receiver) => {
                Self::of_stream(content_type, receiver, Beginning::Awaited)
            }
        })
    }

    /// A 200 with a body of at most one piece, written on this thread. `None` if its producer waits for something else
    /// than its client.
    ///
    /// # Errors
    /// That of the producer.
    pub(crate) fn short<P, F, E>(content_type: &str, produce: P) -> Option<Result<Answer, E>>
    where
        P: FnOnce(BodyWriter) -> F,
        F: Future<Output = Result<FinishedBody, E>>,
    {
        let made = body::short(produce)?;
        Some(made.map(|body| Self::whole(StatusCode::OK, content_type, body)))
    }

    /// A 200 whose body an async task sends, for feeds that wait most of the time.
    pub fn feed<P, F>(content_type: &str, produce: P) -> Answer
    where
        P: FnOnce(BodySender) -> F,
        F: Future<Output = Result<(), BodyClosed>> + Send + 'static,
    {
        Self::of_stream(content_type, body::spawn_feed(produce), Beginning::Any)
    }

    fn of_stream(content_type: &str, receiver: BodyReceiver, beginning: Beginning) -> Answer {
        let mut answer = Self::whole(StatusCode::OK, content_type, Vec::new());
        answer.body = Body::Stream(receiver, beginning);
        answer
    }

    /// The answer, once the first piece of a streamed body is there: until then its status may still change. A feed
    /// may have nothing to say for long, and is not waited for.
    ///
    /// # Errors
    /// The body failed before its first piece.
    pub(crate) async fn begun(mut self) -> Result<Answer, Failure> {
        if let Body::Stream(receiver, Beginning::Awaited) = &mut self.body {
            receiver.begun().await?;
        }
        Ok(self)
    }

    /// Puts texts around the body; a line end of a whole body goes first.
    pub(crate) fn surround(&mut self, before: &str, behind: &str) {
        self.headers.remove(CONTENT_LENGTH);
        match &mut self.body {
            Body::Whole(bytes) => {
                let plain = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                *bytes = [before.as_bytes(), plain, behind.as_bytes()].concat();
            }
            Body::Stream(receiver, _) => {
                receiver.surround(before.to_owned().into(), behind.to_owned().into());
            }
        }
    }

    /// Sets a header; bytes that no header may have become `?`.
    pub fn set_header(&mut self, name: &'static str, value: &str) {
        let value = HeaderValue::from_str(value).unwrap_or_else(|_| {
            let visible = value.bytes().map(|byte| match byte {
                b' '..=b'~' => byte,
                _ => b'?',
            });
            HeaderValue::from_bytes(&visible.collect::<Vec<_>>())
                .unwrap_or_else(|_| HeaderValue::from_static(""))
        });
        self.headers.insert(HeaderName::from_static(name), value);
    }

    /// [`Answer::set_header`] in a chain; `name` is in lower case.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Answer {
        self.set_header(name, value);
        self
    }

    /// The body, if it is whole.
    pub fn whole_body(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Whole(bytes) => Some(bytes),
            Body::Stream(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_cannot_break_out_of_its_line() {
        let answer = Answer::ok(StatusCode::OK).with_header("location", "a\r\nset-cookie: x");
        assert_eq!(answer.headers["location"], "a??set-cookie: x");
        assert!(answer.headers.get("set-cookie").is_none());
    }
}
