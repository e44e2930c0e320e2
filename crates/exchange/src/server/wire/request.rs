//! A wire request as it arrives over HTTP: arguments out of headers, query and body.

use super::media::ClientMedia;
use crate::ExchangeError;
pub use crate::format::batch::Args;
use percent_encoding::percent_decode;
use std::collections::BTreeMap;

/// Bytes of encoded arguments that are read; about 100,000 nodes.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 4 << 20;

/// Arguments of one request; real commands have at most a dozen.
pub(crate) const MAX_ARGUMENTS: usize = 1000;

/// One command with its arguments, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireRequest {
    /// Name of the command, such as `getbundle`.
    pub command: String,
    /// Decoded arguments, without `cmd`.
    pub args: Args,
    /// Which forms of answer the client reads.
    pub accepts: ClientMedia,
}

impl WireRequest {
    /// Decodes a request. Headers come as pairs in any order and any case of letters, with all
    /// other headers of the request between them; `query` is the text behind `?`; `body` may
    /// be empty, and is only looked at if the headers say that it holds arguments.
    ///
    /// # Errors
    /// [`ExchangeError::TooLong`] and [`ExchangeError::BadRequest`].
    pub fn parse<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        query: &[u8],
        body: &[u8],
    ) -> Result<Self, ExchangeError> {
        let split = HgHeaders::split(headers)?;
        let mut request = WireRequest {
            accepts: ClientMedia::parse(&split.media.concat()),
            ..WireRequest::default()
        };
        let posted = posted_arguments(split.post, body)?;
        for encoded in [query, &split.arguments.concat(), posted] {
            decode_form(encoded, &mut request.args)?;
        }
        if let Some(at) = request.args.iter().position(|(key, _)| key == b"cmd") {
            let (_, name) = request.args.remove(at);
            request.command = String::from_utf8_lossy(&name).into_owned();
        }
        Ok(request)
    }

    /// The value of an argument.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.args.iter().find(|(key, _)| key == name.as_bytes());
        found.map(|(_, value)| &value[..])
    }

    /// The value of an argument that the command cannot do without.
    pub(crate) fn need(&self, name: &'static str) -> Result<&[u8], ExchangeError> {
        self.get(name)
            .ok_or_else(|| ExchangeError::MissingArgument {
                command: self.command.clone(),
                name,
            })
    }

    /// An argument that is 0 or 1; absent is 0.
    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, ExchangeError> {
        match self.get(name) {
            None | Some(b"0" | b"") => Ok(false),
            Some(b"1") => Ok(true),
            Some(_) => Err(self.bad(name, "0 or 1")),
        }
    }

    /// An argument that is a list of nodes in hex with blanks between; `None` if absent.
    pub(crate) fn nodes(&self, name: &'static str) -> Result<Option<Vec<[u8; 20]>>, ExchangeError> {
        let Some(list) = self.get(name) else {
            return Ok(None);
        };
        let words = list.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let nodes: Option<Vec<_>> = words.map(node_from_hex).collect();
        nodes
            .map(Some)
            .ok_or_else(|| self.bad(name, "a list of nodes of 40 hex digits each"))
    }

    pub(crate) fn bad(&self, name: &'static str, expected: &'static str) -> ExchangeError {
        ExchangeError::BadArgument {
            command: self.command.clone(),
            name,
            expected,
        }
    }
}

/// The 20 bytes of 40 hex digits.
pub(crate) fn node_from_hex(hex: &[u8]) -> Option<[u8; 20]> {
    let digits: &[u8; 40] = hex.try_into().ok()?;
    let (pairs, _) = digits.as_chunks::<2>();
    let mut node = [0; 20];
    for (byte, [high, low]) in node.iter_mut().zip(pairs) {
        let high = char::from(*high).to_digit(16)?;
        let low = char::from(*low).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(node)
}

/// Mercurial's own headers, numbered lines in order.
#[derive(Default)]
struct HgHeaders<'a> {
    arguments: Vec<&'a [u8]>,
    media: Vec<&'a [u8]>,
    post: Option<&'a [u8]>,
}

impl<'a> HgHeaders<'a> {
    fn split(
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, ExchangeError> {
        let mut arguments = BTreeMap::new();
        let mut media = BTreeMap::new();
        let mut post = None;
        let mut total = 0;
        for (name, value) in headers {
            let lower = name.to_ascii_lowercase();
            if let Some(number) = numbered(&lower, "x-hgarg-") {
                arguments.insert(number, value);
            } else if let Some(number) = numbered(&lower, "x-hgproto-") {
                media.insert(number, value);
            } else if lower == "x-hgargs-post" {
                post = Some(value);
            } else {
                continue;
            }
            total += value.len();
            check_length("headers", total)?;
        }
        Ok(HgHeaders {
            arguments: in_sequence(&arguments),
            media: in_sequence(&media),
            post,
        })
    }
}

fn numbered(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// Lines 1, 2, 3 … up to the first gap.
fn in_sequence<'a>(lines: &BTreeMap<u32, &'a [u8]>) -> Vec<&'a [u8]> {
    (1..).map_while(|n| lines.get(&n).copied()).collect()
}

fn check_length(what: &'static str, found: usize) -> Result<(), ExchangeError> {
    if found > MAX_ARGUMENT_BYTES {
        let limit = MAX_ARGUMENT_BYTES;
        return Err(ExchangeError::TooLong { what, found, limit });
    }
    Ok(())
}

/// The front of the body that holds arguments, if a header says so.
fn posted_arguments<'a>(post: Option<&[u8]>, body: &'a [u8]) -> Result<&'a [u8], ExchangeError> {
    let Some(post) = post else {
        return Ok(&[]);
    };
    let text = String::from_utf8_lossy(post);
    let bad = |reason: String| ExchangeError::BadRequest {
        what: "header X-HgArgs-Post",
        reason,
    };
    let len: usize = text
        .trim()
        .parse()
        .map_err(|_| bad(format!("{text:?} is not a length")))?;
    check_length("body", len)?;
    body.get(..len)
        .ok_or_else(|| bad(format!("{len} bytes said, {} bytes came", body.len())))
}

/// Decodes `key=value&…` with `+` for blanks and `%XX`, as HTML forms are sent.
fn decode_form(encoded: &[u8], args: &mut Args) -> Result<(), ExchangeError> {
    check_length("arguments", encoded.len())?;
    for pair in encoded.split(|&b| b == b'&').filter(|p| !p.is_empty()) {
        if args.len() == MAX_ARGUMENTS {
            return Err(ExchangeError::BadRequest {
                what: "list of arguments",
                reason: format!("it has more than {MAX_ARGUMENTS}"),
            });
        }
        let equals = pair.iter().position(|&b| b == b'=');
        let (key, value) = match equals {
            Some(at) => (&pair[..at], &pair[at + 1..]),
            None => (pair, &[][..]),
        };
        args.push((form_decoded(key), form_decoded(value)));
    }
    Ok(())
}

fn form_decoded(encoded: &[u8]) -> Vec<u8> {
    let blanks: Vec<u8> = encoded
        .iter()
        .map(|&b| if b == b'+' { b' ' } else { b })
        .collect();
    percent_decode(&blanks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(headers: &[(&str, &[u8])], query: &str, body: &[u8]) -> WireRequest {
        WireRequest::parse(headers.iter().copied(), query.as_bytes(), body).unwrap()
    }

    #[test]
    fn headers_of_a_real_batch() {
        let headers: [(&str, &[u8]); 4] = [
            ("Vary", b"X-HgArg-1,X-HgProto-1"),
            ("X-HgArg-1", b"cmds=heads+%3Bknown+nodes%3D"),
            (
                "x-hgproto-1",
                b"0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull",
            ),
            ("Accept", b"application/mercurial-0.1"),
        ];
        let request = parse(&headers, "cmd=batch", b"");
        assert_eq!(request.command, "batch");
        assert_eq!(request.get("cmds"), Some(&b"heads ;known nodes="[..]));
        assert_eq!(request.args.len(), 1);
        assert_eq!(request.accepts, ClientMedia::parse(headers[2].1));
    }

    #[test]
    fn long_arguments_are_put_together_in_order() {
        let headers: [(&str, &[u8]); 4] = [
            ("X-HgArg-10", b"j"),
            ("X-HgArg-2", b"b%2"),
            ("X-HgArg-1", b"key=a"),
            ("X-HgArg-3", b"0c"),
        ];
        let request = parse(&headers, "cmd=lookup", b"");
        assert_eq!(
            request.get("key"),
            Some(&b"ab c"[..]),
            "10 comes after a gap"
        );
    }

    #[test]
    fn query_headers_and_body_add_up() {
        let headers: [(&str, &[u8]); 2] = [("X-HgArgs-Post", b"4"), ("X-HgArg-1", b"y=2")];
        let request = parse(&headers, "cmd=heads&x=1&e", b"z=3+payload");
        let expected: Args = [("x", "1"), ("e", ""), ("y", "2"), ("z", "3 ")]
            .map(|(k, v)| (k.into(), v.into()))
            .into();
        assert_eq!(request.args[..3], expected[..3]);
        assert_eq!(request.args[3], (b"z".to_vec(), b"3 ".to_vec()));
    }

    #[test]
    fn typed_arguments() {
        let zeros = "0".repeat(40);
        let request = parse(
            &[],
            &format!("cmd=x&common={zeros}+{zeros}&cg=1&p=2&n=12"),
            b"",
        );
        assert_eq!(request.nodes("common").unwrap().unwrap(), [[0; 20]; 2]);
        assert_eq!(request.nodes("heads").unwrap(), None);
        assert!(request.nodes("n").is_err());
        assert!(request.flag("cg").unwrap());
        assert!(!request.flag("stream").unwrap());
        assert!(request.flag("p").is_err());
        assert!(request.need("key").is_err());
    }

    #[test]
    fn too_much_is_refused() {
        let long = vec![b'a'; MAX_ARGUMENT_BYTES + 1];
        let refused = WireRequest::parse([("X-HgArg-1", &long[..])], b"cmd=x", b"");
        assert!(matches!(refused, Err(ExchangeError::TooLong { .. })));
        let many = b"a&".repeat(MAX_ARGUMENTS + 1);
        assert!(WireRequest::parse([], &many, b"").is_err());
        for post in [&b"5"[..], b"-1", b"x", b"99999999999999999999"] {
            assert!(WireRequest::parse([("X-HgArgs-Post", post)], b"cmd=x", b"abcd").is_err());
        }
    }
}
