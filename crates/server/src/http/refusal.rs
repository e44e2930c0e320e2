//! The answer to a connection that is one too many.

use crate::Failure;
use crate::http::{Answer, Body};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Connections that are refused in words at a time; more are closed without any.
const MOST: usize = 64;
/// A refused client has this long to read why.
const LINGER: Duration = Duration::from_secs(2);

/// Counts the connections that are being refused.
static REFUSING: AtomicUsize = AtomicUsize::new(0);

struct Refusing;

impl Drop for Refusing {
    fn drop(&mut self) {
        REFUSING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers 503 with `Retry-After`, whatever is asked, and closes the connection.
///
/// The request that the client sends meanwhile is read: a socket that is closed with unread bytes resets the
/// connection, and the client would never see the answer.
pub(super) fn refuse(mut stream: TcpStream) {
    let refusing = Refusing;
    if REFUSING.fetch_add(1, Ordering::Relaxed) >= MOST {
        return;
    }
    tokio::spawn(async move {
        let _refusing = refusing;
        let _ = timeout(LINGER, async {
            stream.write_all(&message()).await?;
            stream.shutdown().await?;
            let mut unread = [0; 4096];
            while stream.read(&mut unread).await? > 0 {}
            std::io::Result::Ok(())
        })
        .await;
    });
}

fn message() -> Vec<u8> {
    let answer = Answer::from(Failure::overloaded("too many connections"));
    let body = match answer.body {
        Body::Whole(body) => body,
        Body::Stream(..) => Vec::new(),
    };
    let mut head = format!("HTTP/1.1 {}\r\n", answer.status);
    for (name, value) in &answer.headers {
        // Writing to a string cannot fail.
        let _ = write!(head, "{name}: {}\r\n", value.to_str().unwrap_or_default());
    }
    let _ = write!(
        head,
        "connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut message = head.into_bytes();
    message.extend(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_complete_answer() {
        let text = String::from_utf8(message()).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 503 Service Unavailable\r\n"),
            "{text}"
        );
        assert!(text.contains("\r\nretry-after: 1\r\n"), "{text}");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())));
        assert!(
            body.ends_with("\"reason\":\"too many connections\"}\n"),
            "{body}"
        );
    }
}
