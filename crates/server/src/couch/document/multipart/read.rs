//! Parts of a body, one after the other. Never more than a share of it is in memory.

use crate::Failure;
use std::io::{self, Read};

/// Parts of one body.
const MOST_PARTS: usize = 10_000;
/// Bytes of the headers of one part.
const LONGEST_HEAD: usize = 64 << 10;
/// Bytes that are read at once.
const SHARE: usize = 64 << 10;

/// The headers of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The value of a header, whose name is given in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn parse(head: &[u8]) -> Option<Headers> {
        let head = std::str::from_utf8(head).ok()?;
        let lines = head.split("\r\n").filter(|line| !line.is_empty());
        let lines = lines.map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        });
        Some(Headers(lines.collect::<Option<_>>()?))
    }
}

/// Where the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the text before the first boundary, or in a part.
    Body,
    /// Right behind a boundary.
    Boundary,
    /// Behind the last boundary.
    End,
}

/// Reads a multipart body.
#[derive(Debug)]
pub struct Parts<R> {
    from: R,
    /// Line end, two dashes, boundary.
    delimiter: Vec<u8>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are done with.
    done: usize,
    at: At,
    count: usize,
}

impl<R: Read> Parts<R> {
    /// The parts of a body with this boundary.
    pub fn new(from: R, boundary: &str) -> Self {
        Parts {
            from,
            delimiter: format!("\r\n--{boundary}").into_bytes(),
            // The first boundary may come without a line end before it.
            buffer: b"\r\n".to_vec(),
            done: 0,
            at: At::Body,
            count: 0,
        }
    }

    /// The headers of the next part, behind which [`Parts::body`] reads it; `None` behind the
    /// last. The unread rest of the part before is passed over.
    ///
    /// # Errors
    /// 400 if the body does not go on and end with the boundary, or has too many parts; as the
    /// body's reader.
    pub fn next(&mut self) -> Result<Option<Headers>, Failure> {
        if self.at == At::Body {
            self.body(&mut |_| Ok(()))?;
        }
        if self.at == At::End || self.starts_with(b"--")? {
            self.at = At::End;
            return Ok(None);
        }
        while self.starts_with(b" ")? || self.starts_with(b"\t")? {
            self.done += 1;
        }
        if !self.starts_with(b"\r\n")? {
            return Err(damaged());
        }
        self.done += 2;
        self.count += 1;
        if self.count > MOST_PARTS {
            return Err(Failure::bad_request(
                "the multipart body has too many parts",
            ));
        }
        self.head().map(Some)
    }

    fn head(&mut self) -> Result<Headers, Failure> {
        self.at = At::Body;
        if self.starts_with(b"\r\n")? {
            self.done += 2;
            return Ok(Headers::default());
        }
        let len = loop {
            let rest = &self.buffer[self.done..];
            if let Some(len) = find(rest, b"\r\n\r\n") {
                break len;
            }
            if rest.len() > LONGEST_HEAD || !self.fill()? {
                return Err(damaged());
            }
        };
        let headers = Headers::parse(&self.buffer[self.done..self.done + len]);
        self.done += len + 4;
        headers.ok_or_else(damaged)
    }

    /// Calls `visit` with the bytes of the part that [`Parts::next`] has come to, some at a time.
    ///
    /// # Errors
    /// As [`Parts::next`]; an error of `visit`.
    pub fn body(
        &mut self,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while self.at == At::Body {
            let rest = &self.buffer[self.done..];
            if let Some(len) = find(rest, &self.delimiter) {
                if len > 0 {
                    visit(&rest[..len])?;
                }
                self.done += len + self.delimiter.len();
                self.at = At::Boundary;
                return Ok(());
            }
            // The end may be the beginning of the delimiter.
            let len = (rest.len() + 1).saturating_sub(self.delimiter.len());
            if len > 0 {
                visit(&rest[..len])?;
                self.done += len;
            }
            if !self.fill()? {
                return Err(damaged());
            }
        }
        Ok(())
    }

    /// The whole part, at most `limit` bytes of it.
    ///
    /// # Errors
    /// 413 past the limit; as [`Parts::body`].
    pub fn whole_body(&mut self, limit: u64) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        self.body(&mut |bytes| {
            if (body.len() + bytes.len()) as u64 > limit {
                return Err(Failure::too_large());
            }
            body.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(body)
    }

    fn starts_with(&mut self, text: &[u8]) -> Result<bool, Failure> {
        while self.buffer.len() - self.done < text.len() {
            if !self.fill()? {
                return Err(damaged());
            }
        }
        Ok(self.buffer[self.done..].starts_with(text))
    }

    /// Reads on; returns whether there was more.
    fn fill(&mut self) -> Result<bool, Failure> {
        self.buffer.drain(..self.done);
        self.done = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + SHARE, 0);
        let got = loop {
            match self.from.read(&mut self.buffer[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(before + *got.as_ref().unwrap_or(&0));
        Ok(got? > 0)
    }
}

fn damaged() -> Failure {
    Failure::bad_request("the multipart body does not follow its boundary")
}

/// Where `mark` begins, which is not empty.
fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let rest = &bytes[from..];
        let at = from + rest.iter().position(|byte| *byte == mark[0])?;
        if bytes[at..].starts_with(mark) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// All parts of a body that comes in shares of `len` bytes: for tests and fuzzers.
///
/// # Errors
/// As [`Parts::next`].
pub(crate) fn collect(
    body: &[u8],
    boundary: &str,
    len: usize,
) -> Result<Vec<(Headers, Vec<u8>)>, Failure> {
    struct InShares<'a>(&'a [u8], usize);
    impl Read for InShares<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let len = out.len().min(self.1);
            self.0.read(&mut out[..len])
        }
    }
    let mut parts = Parts::new(InShares(body, len), boundary);
    let mut all = Vec::new();
    while let Some(headers) = parts.next()? {
        all.push((headers, parts.whole_body(u64::MAX)?));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"--b1\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--b1\r\n\
                          \r\nplain\r\n\r\n--b1 \t\r\nX-A: 1\r\nX-B:2\r\n\r\n\r\n--b1--";

    #[test]
    fn parts_keep_their_bytes_and_headers_however_they_arrive() {
        for len in [1, 2, 7, 1000] {
            let parts = collect(BODY, "b1", len).unwrap();
            let bodies: Vec<&[u8]> = parts.iter().map(|(_, body)| &body[..]).collect();
            assert_eq!(bodies, [&b"{\"a\":1}"[..], b"plain\r\n", b""], "{len}");
            assert_eq!(parts[0].0.get("content-type"), Some("application/json"));
            assert_eq!(parts[1].0, Headers::default());
            assert_eq!(parts[2].0.get("x-b"), Some("2"));
        }
    }

    #[test]
    fn what_stands_around_the_parts_and_what_looks_like_a_boundary_does_no_harm() {
        let body = b"before\r\n--b\r\n\r\n\r\n-\r\n--a\r\r\n--b--\r\nbehind\r\n--b\r\n";
        for len in 1..body.len() {
            let parts = collect(body, "b", len).unwrap();
            assert_eq!(parts.len(), 1);
            assert_eq!(parts[0].1, b"\r\n-\r\n--a\r", "{len}");
        }
    }

    #[test]
    fn a_cut_body_is_refused() {
        for end in 0..BODY.len() - 2 {
            assert!(collect(&BODY[..end], "b1", 5).is_err(), "cut at {end}");
        }
        assert!(collect(BODY, "other", 1000).is_err());
    }

    #[test]
    fn parts_and_heads_are_bounded() {
        let many = b"\r\n--b\r\n\r\n".repeat(MOST_PARTS + 1);
        let refused = collect(&many, "b", 1 << 20).unwrap_err();
        assert_eq!(refused.reason, "the multipart body has too many parts");
        let long = [b"--b\r\nX: ", &[b'x'; 200_000][..]].concat();
        assert_eq!(collect(&long, "b", 1 << 20).unwrap_err().status(), 400);
    }
}
