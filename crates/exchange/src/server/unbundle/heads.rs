//! The heads that a client saw when it prepared its push, from the argument `heads`: words in
//! hexadecimal with blanks between.
//!
//! ```text
//! force                whatever they are
//! hashed  SHA1         the digest of all heads, sorted and put together
//! HEAD HEAD …          these
//! ```

use crate::ExchangeError;
use crate::server::wire::WireRequest;
use sha1::{Digest, Sha1};
use varve_repo::{Node, RepoView};

/// The argument `heads`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpectedHeads {
    Any,
    Hashed(Vec<u8>),
    These(Vec<Vec<u8>>),
}

impl ExpectedHeads {
    pub(super) fn parse(request: &WireRequest) -> Result<ExpectedHeads, ExchangeError> {
        let text = request.need("heads")?;
        let words = text.split(|byte| *byte == b' ');
        let words: Option<Vec<Vec<u8>>> = words.map(unhex).collect();
        let bad = || request.bad("heads", "a list of words in hexadecimal");
        let mut words = words.ok_or_else(bad)?;
        Ok(match &mut words[..] {
            [word] if word == b"force" => ExpectedHeads::Any,
            [word, digest] if word == b"hashed" => ExpectedHeads::Hashed(std::mem::take(digest)),
            _ => {
                words.sort_unstable();
                ExpectedHeads::These(words)
            }
        })
    }

    /// Whether a repository has just these heads.
    pub(super) fn are_those_of(&self, view: &RepoView) -> bool {
        if *self == ExpectedHeads::Any {
            return true;
        }
        let heads = view.heads().into_iter();
        let mut heads: Vec<Node> = heads.map(|rev| view.changelog().node(rev)).collect();
        if heads.is_empty() {
            heads.push(Node::NULL);
        }
        heads.sort_unstable();
        match self {
            ExpectedHeads::Any => true,
            ExpectedHeads::Hashed(digest) => {
                let mut hasher = Sha1::new();
                heads.iter().for_each(|head| hasher.update(head.0));
                hasher.finalize()[..] == digest[..]
            }
            ExpectedHeads::These(expected) => {
                let found = heads.iter().map(|head| &head.0[..]);
                expected.iter().map(Vec::as_slice).eq(found)
            }
        }
    }
}

/// Reads bytes as the argument, for fuzzing.
pub(crate) fn parse_heads(bytes: &[u8]) {
    let request = WireRequest {
        args: vec![(b"heads".to_vec(), bytes.to_vec())],
        ..WireRequest::default()
    };
    let _ = ExpectedHeads::parse(&request);
}

/// The bytes of pairs of hexadecimal digits.
fn unhex(word: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = word.as_chunks::<2>() else {
        return None;
    };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let bytes = pairs.iter().map(|[high, low]| {
        let byte = digit(*high)? << 4 | digit(*low)?;
        u8::try_from(byte).ok()
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &str) -> Result<ExpectedHeads, ExchangeError> {
        let request = WireRequest {
            args: vec![(b"heads".to_vec(), value.as_bytes().to_vec())],
            ..WireRequest::default()
        };
        ExpectedHeads::parse(&request)
    }

    #[test]
    fn three_forms() {
        assert_eq!(parse("666f726365").unwrap(), ExpectedHeads::Any);
        let hashed = parse("686173686564 0aFF").unwrap();
        assert_eq!(hashed, ExpectedHeads::Hashed(vec![10, 255]));
        let these = parse("02 01").unwrap();
        assert_eq!(these, ExpectedHeads::These(vec![vec![1], vec![2]]));
        for bad in ["1", "xx", "01 2", "\u{e4}\u{e4}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
