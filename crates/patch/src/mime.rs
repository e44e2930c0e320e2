//! Mail messages: headers, and parts within parts.

use crate::lines::{Lines, trim_end};
use crate::transfer;
use std::borrow::Cow;

/// Parts are not looked for deeper than this.
const MAX_DEPTH: usize = 16;

/// Types of parts that may hold a patch or a description.
pub(crate) fn is_text(content_type: &[u8]) -> bool {
    let known = [&b"text/plain"[..], b"text/x-diff", b"text/x-patch"];
    known.contains(&content_type)
}

/// Names and values in their order.
type Headers<'a> = Vec<(&'a [u8], &'a [u8])>;

/// A message or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MailMessage<'a> {
    /// Names and values; values with the line ends within them, but without the one at the end.
    headers: Headers<'a>,
    body: MailBody<'a>,
    /// The type of a part that names none.
    default_type: &'static [u8],
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MailBody<'a> {
    Text(&'a [u8]),
    Parts(Vec<MailMessage<'a>>),
}

impl<'a> MailMessage<'a> {
    pub(crate) fn parse(text: &'a [u8]) -> MailMessage<'a> {
        parse(text, b"text/plain", 0)
    }

    pub(crate) fn is_multipart(&self) -> bool {
        matches!(self.body, MailBody::Parts(_))
    }

    /// The first header of this name.
    pub(crate) fn header(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value)
    }

    pub(crate) fn headers(&self) -> &[(&'a [u8], &'a [u8])] {
        &self.headers
    }

    /// The type without its parameters, in lower case.
    pub(crate) fn content_type(&self) -> Vec<u8> {
        let Some(value) = self.header(b"content-type") else {
            return self.default_type.to_vec();
        };
        let name = value.split(|byte| *byte == b';').next();
        let name = name.unwrap_or_default().trim_ascii().to_ascii_lowercase();
        match name.iter().filter(|byte| **byte == b'/').count() {
            1 => name,
            _ => b"text/plain".to_vec(),
        }
    }

    fn boundary(&self) -> Option<Vec<u8>> {
        let value = self.header(b"content-type")?;
        let parameters = parameters(value).into_iter();
        let mut found = parameters.filter(|(name, _)| name.eq_ignore_ascii_case(b"boundary"));
        let (_, boundary) = found.next()?;
        Some(boundary.trim_ascii_end().to_vec())
    }

    /// The body without its encoding for the transfer.
    pub(crate) fn decoded_body(&self) -> Cow<'a, [u8]> {
        let MailBody::Text(body) = self.body else {
            return Cow::Borrowed(b"");
        };
        let encoding = self.header(b"content-transfer-encoding");
        let encoding = encoding.unwrap_or_default().trim_ascii();
        transfer::decode(&encoding.to_ascii_lowercase(), body)
    }

    /// Calls `visit` with this message, then all parts of it in their order.
    pub(crate) fn walk<'m>(&'m self, visit: &mut dyn FnMut(&'m MailMessage<'a>)) {
        let mut waiting = vec![self];
        while let Some(message) = waiting.pop() {
            visit(message);
            if let MailBody::Parts(parts) = &message.body {
                waiting.extend(parts.iter().rev());
            }
        }
    }

    /// The message as text, with LF at the ends of its lines.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in &self.headers {
            out.extend_from_slice(&[name, &b": "[..]].concat());
            push_with_lf(value, &mut out);
            out.push(b'\n');
        }
        out.push(b'\n');
        if let MailBody::Text(body) = self.body {
            push_with_lf(body, &mut out);
        }
        out
    }
}

fn push_with_lf(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\r', rest) {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\n');
        rest = &rest[at + 1..];
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    }
    out.extend_from_slice(rest);
}

fn parse<'a>(text: &'a [u8], default_type: &'static [u8], depth: usize) -> MailMessage<'a> {
    let (headers, body) = read_headers(text);
    let mut message = MailMessage {
        headers,
        body: MailBody::Text(body),
        default_type,
    };
    if depth >= MAX_DEPTH {
        return message;
    }
    let content_type = message.content_type();
    if content_type.starts_with(b"message/") {
        message.body = MailBody::Parts(vec![parse(body, b"text/plain", depth + 1)]);
    } else if content_type.starts_with(b"multipart/")
        && let Some(boundary) = message.boundary()
        && let Some(parts) = cut(body, &boundary)
    {
        let of_parts: &[u8] = match &content_type[..] {
            b"multipart/digest" => b"message/rfc822",
            _ => b"text/plain",
        };
        let parts = parts.into_iter();
        let parts = parts.map(|part| parse(part, of_parts, depth + 1)).collect();
        message.body = MailBody::Parts(parts);
    }
    message
}

/// Reads lines `NAME: VALUE` up to an empty line or one that is none.
fn read_headers(text: &[u8]) -> (Headers<'_>, &[u8]) {
    let mut headers = Headers::new();
    let mut read = 0;
    let mut is_first = true;
    for line in Lines::new(text) {
        if matches!(line, b"\n" | b"\r\n") {
            return (headers, &text[read + line.len()..]);
        }
        let colon = memchr::memchr(b':', line);
        let name = colon.map(|at| &line[..at]);
        let is_name = |name: &&[u8]| name.iter().all(|byte| matches!(byte, b'!'..=b'~'));
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            // A continuation of nothing is skipped.
            if let Some((_, value)) = headers.last_mut() {
                let begin = value.as_ptr().addr() - text.as_ptr().addr();
                *value = trim_end(&text[begin..read + line.len()]);
            }
        } else if let Some(name) = name.filter(is_name) {
            if !name.is_empty() {
                let value = &line[name.len() + 1..];
                let blanks = value.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
                headers.push((name, trim_end(&value[blanks.count()..])));
            }
        } else if !(is_first && line.starts_with(b"From ")) {
            break;
        }
        is_first = false;
        read += line.len();
    }
    (headers, &text[read..])
}

/// The parts between lines `--BOUNDARY`, up to `--BOUNDARY--`; `None` if no such line is there.
fn cut<'a>(body: &'a [u8], boundary: &[u8]) -> Option<Vec<&'a [u8]>> {
    let mut parts = Vec::new();
    let mut begin = None;
    let mut read = 0;
    for line in Lines::new(body) {
        let at = read;
        read += line.len();
        let rest = line.strip_prefix(b"--");
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix(boundary)) else {
            continue;
        };
        let (is_last, rest) = match rest.strip_prefix(b"--") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        if !rest.trim_ascii().is_empty() {
            continue;
        }
        if let Some(begin) = begin {
            // The line end before the boundary belongs to it.
            let part = &body[begin..at.max(begin)];
            let part = part.strip_suffix(b"\n").unwrap_or(part);
            parts.push(part.strip_suffix(b"\r").unwrap_or(part));
        }
        begin = Some(read);
        if is_last {
            return Some(parts);
        }
    }
    parts.push(&body[begin?..]);
    Some(parts)
}

/// Parameters `; NAME=VALUE` of a header, whose values may stand in quotation marks.
fn parameters(value: &[u8]) -> Vec<(&[u8], Vec<u8>)> {
    let mut out = Vec::new();
    let mut rest = value;
    while let Some(at) = memchr::memchr(b';', rest) {
        rest = rest[at + 1..].trim_ascii_start();
        let Some(equals) = rest.iter().position(|byte| matches!(byte, b'=' | b';')) else {
            break;
        };
        if rest[equals] == b';' {
            rest = &rest[equals..];
            continue;
        }
        let name = rest[..equals].trim_ascii();
        rest = rest[equals + 1..].trim_ascii_start();
        let (text, behind) = parameter_value(rest);
        out.push((name, text));
        rest = behind;
    }
    out
}

fn parameter_value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        let end = memchr::memchr(b';', text).unwrap_or(text.len());
        return (text[..end].trim_ascii().to_vec(), &text[end..]);
    };
    let mut out = Vec::new();
    let mut bytes = quoted.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return (out, &quoted[at + 1..]),
            b'\\' => out.extend(bytes.next().map(|(_, byte)| *byte)),
            other => out.push(*other),
        }
    }
    (out, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let text = b"From x\nSubject: a\n  b\nX:c\r\n\r\nbody";
        let mail = MailMessage::parse(text);
        assert_eq!(mail.header(b"subject"), Some(&b"a\n  b"[..]));
        assert_eq!(mail.header(b"x"), Some(&b"c"[..]));
        assert_eq!(&*mail.decoded_body(), b"body");
        let plain = MailMessage::parse(b"no header\nX: y\n");
        assert!(plain.headers().is_empty());
        assert_eq!(&*plain.decoded_body(), b"no header\nX: y\n");
    }

    #[test]
    fn parts_may_have_parts() {
        let text =
            b"Content-Type: Multipart/Mixed; a=\"x;y\";\n boundary=\"o u\\\"t\"\n\n--o u\"t\n\
            Content-Type: message/rfc822\n\nContent-Type: text/x-patch\n\none\n\n--o u\"t\n\
            Content-Type: multipart/mixed; boundary=in\n\n--in\n\ntwo\n--in--\n--o u\"t--\n";
        let mail = MailMessage::parse(text);
        let mut seen = Vec::new();
        mail.walk(&mut |part| {
            if !part.is_multipart() {
                seen.push((part.content_type(), part.decoded_body().into_owned()));
            }
        });
        let expected = [
            (b"text/x-patch".to_vec(), b"one\n".to_vec()),
            (b"text/plain".to_vec(), b"two".to_vec()),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn depth_is_bounded() {
        let text = b"Content-Type: message/rfc822\n\n".repeat(100_000);
        let mut count = 0;
        MailMessage::parse(&text).walk(&mut |_| count += 1);
        assert_eq!(count, MAX_DEPTH + 1);
    }
}
