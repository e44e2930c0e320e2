//! Multipart bodies: `multipart/related` as clients send it, `multipart/mixed` as answers have it.

use crate::Failure;

/// Parts of one body; a document has at most that many attachments on the way in.
const MOST_PARTS: usize = 10_000;

/// One part: its headers with names in lower case, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Names in lower case, values trimmed.
    pub headers: Vec<(String, String)>,
    /// Without the line end before the next boundary.
    pub body: &'a [u8],
}

impl Part<'_> {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The `boundary` parameter of a content type.
pub fn boundary_of(content_type: &str) -> Option<&str> {
    let at = content_type.find("boundary=")?;
    let value = &content_type[at + "boundary=".len()..];
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split(';').next()?.trim(),
    };
    (!value.is_empty()).then_some(value)
}

/// Puts parts of a content type and bytes each into a `multipart/mixed` body; returns its content
/// type and the body.
pub fn mixed<'p>(parts: impl Iterator<Item = (&'p str, Vec<u8>)>) -> (String, Vec<u8>) {
    let parts: Vec<_> = parts.collect();
    let boundary = free_boundary(parts.iter().map(|(_, body)| body.as_slice()));
    let mut whole = format!("--{boundary}").into_bytes();
    for (content_type, body) in &parts {
        whole.extend_from_slice(format!("\r\nContent-Type: {content_type}\r\n\r\n").as_bytes());
        whole.extend_from_slice(body);
        whole.extend_from_slice(format!("\r\n--{boundary}").as_bytes());
    }
    whole.extend_from_slice(b"--");
    (format!("multipart/mixed; boundary=\"{boundary}\""), whole)
}

/// A boundary that none of the bodies has.
fn free_boundary<'b>(bodies: impl Iterator<Item = &'b [u8]> + Clone) -> String {
    let mut number = 0u32;
    loop {
        let boundary = format!("varve-{number:08x}");
        let bytes = boundary.as_bytes();
        let used = |body: &[u8]| body.windows(bytes.len()).any(|window| window == bytes);
        if !bodies.clone().any(used) {
            return boundary;
        }
        number += 1;
    }
}

/// Splits a body at its boundary.
///
/// # Errors
/// 400 if the body does not begin, go on and end with the boundary.
pub fn split<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Part<'a>>, Failure> {
    let damaged = || Failure::bad_request("the multipart body does not follow its boundary");
    let delimiter = format!("\r\n--{boundary}");
    let mut rest = body
        .strip_prefix(&delimiter.as_bytes()[2..])
        .or_else(|| after(body, delimiter.as_bytes()).map(|(_, rest)| rest))
        .ok_or_else(damaged)?;
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        let part = rest.strip_prefix(b"\r\n").ok_or_else(damaged)?;
        // The delimiter's own line end may be the one that ends the part's headers.
        let (part, next) = after(part, delimiter.as_bytes()).ok_or_else(damaged)?;
        if parts.len() == MOST_PARTS {
            return Err(Failure::bad_request(
                "the multipart body has too many parts",
            ));
        }
        parts.push(part_of(part).ok_or_else(damaged)?);
        rest = next;
    }
    Ok(parts)
}

fn part_of(bytes: &[u8]) -> Option<Part<'_>> {
    let (head, body) = match bytes.strip_prefix(b"\r\n") {
        Some(body) => (&b""[..], body),
        None => after(bytes, b"\r\n\r\n")?,
    };
    let head = std::str::from_utf8(head).ok()?;
    let headers = head.split("\r\n").filter(|line| !line.is_empty());
    let headers = headers.map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(Part {
        headers: headers.collect::<Option<_>>()?,
        body,
    })
}

/// What stands before and behind the first `mark`.
fn after<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes
        .windows(mark.len())
        .position(|window| window == mark)?;
    Some((&bytes[..at], &bytes[at + mark.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"--b1\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--b1\r\n\
                          \r\nplain\r\n\r\n--b1\r\nX-A: 1\r\nX-B:2\r\n\r\n\r\n--b1--";

    #[test]
    fn parts_keep_their_bytes_and_headers() {
        let parts = split(BODY, "b1").unwrap();
        let bodies: Vec<&[u8]> = parts.iter().map(|part| part.body).collect();
        assert_eq!(bodies, [&b"{\"a\":1}"[..], b"plain\r\n", b""]);
        assert_eq!(parts[0].header("content-type"), Some("application/json"));
        assert_eq!(parts[1].headers, []);
        assert_eq!(parts[2].header("x-b"), Some("2"));
    }

    #[test]
    fn what_is_put_together_comes_apart() {
        let bodies: [&[u8]; 3] = [b"{}", b"--varve-00000000", b""];
        let (content_type, body) = mixed(bodies.iter().map(|body| ("a/b", body.to_vec())));
        assert_eq!(boundary_of(&content_type), Some("varve-00000001"));
        let parts = split(&body, "varve-00000001").unwrap();
        assert!(parts.iter().map(|part| part.body).eq(bodies));
        assert_eq!(parts[2].header("content-type"), Some("a/b"));
    }

    #[test]
    fn a_cut_body_is_refused_and_never_panics() {
        for end in 0..BODY.len() - 2 {
            assert!(split(&BODY[..end], "b1").is_err(), "cut at {end}");
        }
        assert!(split(BODY, "other").is_err());
    }

    #[test]
    fn boundaries_come_quoted_or_not() {
        assert_eq!(
            boundary_of("multipart/related; boundary=\"a b\"; x=1"),
            Some("a b")
        );
        assert_eq!(
            boundary_of("multipart/related;boundary=ab; x=1"),
            Some("ab")
        );
        assert_eq!(boundary_of("multipart/related"), None);
        assert_eq!(boundary_of("multipart/related; boundary="), None);
    }
}
