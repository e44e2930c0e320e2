//! The operations: `PutObject`, `GetObject`, `HeadObject`, `DeleteObject` and `ListObjectsV2`.

use super::connection::Request;
use super::{ACCESS_KEY, BUCKET, BucketState};
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Bound;

/// Time of all objects in listings.
const MODIFIED: &str = "2025-08-01T12:00:00.000Z";

/// An answer of HTTP.
pub(super) struct Answer {
    pub status: u16,
    pub range: Option<String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn of(status: u16, body: Vec<u8>) -> Answer {
        Answer {
            status,
            range: None,
            body,
        }
    }

    pub fn error(status: u16, code: &str) -> Answer {
        let body = format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>on purpose</Message></Error>"
        );
        Answer::of(status, body.into_bytes())
    }
}

/// Does what a request asks.
pub(super) fn answer(state: &mut BucketState, request: &Request) -> Answer {
    let signature = request.header("authorization");
    let is_known = signature.contains(&format!("Credential={ACCESS_KEY}/"));
    if !signature.starts_with("AWS4-HMAC-SHA256 ") || !is_known {
        return Answer::error(403, "InvalidAccessKeyId");
    }
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let path = decode(path.trim_start_matches('/'));
    let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
    if bucket != BUCKET {
        return Answer::error(404, "NoSuchBucket");
    }
    match (request.method.as_str(), key) {
        ("GET", "") => list(state, &parameters(query)),
        ("PUT", _) => put(state, request, key),
        ("GET" | "HEAD", _) => get(state, request, key),
        ("DELETE", _) => {
            state.objects.remove(key);
            Answer::of(204, Vec::new())
        }
        _ => Answer::error(405, "MethodNotAllowed"),
    }
}

fn put(state: &mut BucketState, request: &Request, key: &str) -> Answer {
    let is_conditional = request.header("if-none-match") == "*";
    if is_conditional && state.heeds_conditions && state.objects.contains_key(key) {
        return Answer::error(412, "PreconditionFailed");
    }
    let bytes = request.body.as_slice().into();
    state.objects.insert(key.to_owned(), bytes);
    Answer::of(200, Vec::new())
}

fn get(state: &BucketState, request: &Request, key: &str) -> Answer {
    let Some(bytes) = state.objects.get(key) else {
        return Answer::error(404, "NoSuchKey");
    };
    let range = request.header("range").strip_prefix("bytes=");
    let Some((from, to)) = range.and_then(|it| it.split_once('-')) else {
        return Answer::of(200, bytes.to_vec());
    };
    let from: usize = from.parse().unwrap_or(0);
    let to = to
        .parse()
        .unwrap_or(usize::MAX)
        .min(bytes.len().saturating_sub(1));
    let Some(part) = bytes.get(from..=to) else {
        return Answer::error(416, "InvalidRange");
    };
    Answer {
        range: Some(format!("bytes {from}-{to}/{}", bytes.len())),
        ..Answer::of(206, part.to_vec())
    }
}

/// A token is the last key of the page before.
fn list(state: &BucketState, query: &HashMap<String, String>) -> Answer {
    let prefix = query.get("prefix").map_or("", String::as_str);
    let most = query.get("max-keys").and_then(|it| it.parse().ok());
    let most = most.unwrap_or(usize::MAX).min(state.page_length);
    let after = query
        .get("continuation-token")
        .map_or(Bound::Unbounded, |token| Bound::Excluded(token.clone()));
    let later = state.objects.range((after, Bound::Unbounded));
    let mut later = later.filter(|(key, _)| key.starts_with(prefix)).peekable();
    let (mut contents, mut last, mut count) = (String::new(), "", 0);
    while count < most
        && let Some((key, bytes)) = later.next()
    {
        let length = bytes.len();
        let _ = write!(
            contents,
            "<Contents><Key>{key}</Key><LastModified>{MODIFIED}</LastModified><ETag>&quot;etag&quot;</ETag><Size>{length}</Size></Contents>"
        );
        (last, count) = (key, count + 1);
    }
    let token = match later.peek() {
        Some(_) => format!("<NextContinuationToken>{last}</NextContinuationToken>"),
        None => String::new(),
    };
    let is_truncated = later.peek().is_some();
    let body = format!(
        "<?xml version=\"1.0\"?><ListBucketResult><Name>{BUCKET}</Name><Prefix>{prefix}</Prefix><KeyCount>{count}</KeyCount>\
         <MaxKeys>{most}</MaxKeys><IsTruncated>{is_truncated}</IsTruncated>{token}{contents}</ListBucketResult>"
    );
    Answer::of(200, body.into_bytes())
}

fn parameters(query: &str) -> HashMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

/// Resolves `%41`.
fn decode(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let [byte, tail @ ..] = rest {
        let escaped = tail
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, escaped) {
            (b'%', Some(value)) => {
                out.push(value);
                rest = &tail[2..];
            }
            _ => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
