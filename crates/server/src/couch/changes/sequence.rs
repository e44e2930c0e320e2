//! Update sequences as clients see them: `12-6f3a9c0d41b2e857`.
//!
//! The number counts the database's updates; the part behind it names the database's incarnation, so that a checkpoint
//! taken from a database that was since deleted and made anew is dirty. Clients keep these as opaque text. A plain
//! number is accepted too.

use crate::Failure;

/// Where a feed begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Changes after this update; 0 is the beginning.
    Update(u64),
    /// The same, given as a plain number: nothing tells of which incarnation.
    Number(u64),
    /// Only changes after the request.
    Now,
}

/// Appends the sequence with its quotes.
pub fn write_sequence(update: u64, incarnation: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    write_number(update, out);
    out.push(b'-');
    out.extend_from_slice(incarnation.as_bytes());
    out.push(b'"');
}

/// Appends a number in decimal, without going through the formatting machinery.
pub fn write_number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Parses a client's `since`: `now`, a number, or a sequence (in quotes or not).
///
/// A sequence of another incarnation means nothing here, nor does one that CouchDB gave before its databases were
/// imported: the feed begins at the start.
///
/// # Errors
/// 400 if it is none of these.
pub fn parse_since(text: &str, incarnation: &str) -> Result<Since, Failure> {
    let text = text.trim_matches('"');
    if text == "now" {
        return Ok(Since::Now);
    }
    let (number, of) = match text.split_once('-') {
        Some((number, of)) => (number, Some(of)),
        None => (text, None),
    };
    let all_digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = |of: &str| !of.is_empty() && of.bytes().all(|byte| byte.is_ascii_hexdigit());
    let update = number.parse().ok().filter(|_| all_digits);
    match (update, of) {
        (Some(update), None) => Ok(Since::Number(update)),
        (Some(update), Some(of)) if of == incarnation => Ok(Since::Update(update)),
        (Some(_), Some(of)) if hexadecimal(of) || is_of_couchdb(of) => Ok(Since::Update(0)),
        _ => Err(malformed()),
    }
}

/// 400 for a sequence that was never given here.
pub fn malformed() -> Failure {
    Failure::bad_request("Malformed sequence supplied in 'since' parameter.")
}

/// Returns whether this is the opaque part of a sequence of CouchDB: the base64 of an external term, for URLs.
fn is_of_couchdb(opaque: &str) -> bool {
    // Those of a version, and of the tag of a compressed term or of a list.
    const TERM_STARTS: [&str; 2] = ["g1", "g2"];
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte);
    let is_term = TERM_STARTS.iter().any(|start| opaque.starts_with(start));
    is_term && opaque.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for update in [0, 7, 10, 4096, u64::MAX] {
            let mut text = Vec::new();
            write_sequence(update, "00ff12ab", &mut text);
            let text = String::from_utf8(text).unwrap();
            assert_eq!(
                parse_since(&text, "00ff12ab").unwrap(),
                Since::Update(update)
            );
        }
    }

    #[test]
    fn sequences_of_couchdb_begin_anew() {
        for text in [
            "476-g1AAAACOeJzLYWBgYMpgTmHgLUpNdjA0MtczAELDHJBwHguQZGgAUv-BICuDOYmBgVEkFyjGnpiabGxhkIquDQ",
            "0-g2wAAAABaANkAA1yZWNAMTI3LjAuMC4xbAAAAAJhAG4EAP____9qYQBq",
        ] {
            assert_eq!(parse_since(text, "ab").unwrap(), Since::Update(0), "{text}");
        }
        for text in ["5-g1AA/A", "5-g3AA", "x-g1AA", "5-G1AA"] {
            assert!(parse_since(text, "ab").is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_accepted_and_other_incarnations_begin_anew() {
        assert_eq!(parse_since("17", "ab").unwrap(), Since::Number(17));
        assert_eq!(parse_since("17-cd", "ab").unwrap(), Since::Update(0));
        assert_eq!(parse_since("now", "ab").unwrap(), Since::Now);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "garbage",
            "",
            "-",
            "1-",
            "x-ab",
            "1-zz",
            "+1",
            "99999999999999999999999",
        ] {
            assert_eq!(
                parse_since(text, "ab").unwrap_err().status(),
                400,
                "{text:?}"
            );
        }
    }
}
