//! Arguments as a form, cut into headers `X-HgArg-1`, `X-HgArg-2` and so on.

use crate::client::peer::PeerArgs;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Characters that a form does not escape, besides letters and digits.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'_')
    .remove(b'.')
    .remove(b'-')
    .remove(b'~');

/// `name=value` with `&` between, by name.
pub(super) fn encode(args: PeerArgs<'_>) -> String {
    let mut pairs: Vec<&(&str, Vec<u8>)> = args.iter().collect();
    pairs.sort_by_key(|(name, _)| *name);
    let encoded = pairs.into_iter().map(|(name, value)| {
        // A form has pluses for blanks.
        let value = percent_encode(value, PLAIN).to_string().replace("%20", "+");
        format!("{}={value}", percent_encode(name.as_bytes(), PLAIN))
    });
    encoded.collect::<Vec<_>>().join("&")
}

/// Headers of at most `limit` bytes, name and separator included.
pub(super) fn headers(encoded: &str, limit: usize) -> Vec<(String, String)> {
    const AROUND: usize = "X-HgArg-1000: \r\n".len();
    let room = limit.saturating_sub(AROUND).max(1);
    let pieces = encoded.as_bytes().chunks(room);
    let named = (1..).zip(pieces).map(|(number, piece)| {
        let value = String::from_utf8_lossy(piece).into_owned();
        (format!("X-HgArg-{number}"), value)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_cut_into_headers() {
        let args = [("key", b"a b&\xff".to_vec()), ("all", b"1".to_vec())];
        let encoded = encode(&args);
        assert_eq!(encoded, "all=1&key=a+b%26%FF");
        let headers = headers(&encoded, 16 + 10);
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["X-HgArg-1", "X-HgArg-2"]);
        let together: String = headers.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(together, encoded);
    }
}
