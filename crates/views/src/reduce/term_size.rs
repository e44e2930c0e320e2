//! The length of rows and results in the form of Erlang's external terms, by which CouchDB's built-in `_sum` decides
//! whether its results shrink.

use super::read_value;
use varve_json::Value;
use varve_json::term::TermWriter;

/// The byte in front of a term that stands on its own.
const VERSION: usize = 1;
/// A list's tag and count, and its end.
const LIST: usize = 6;
/// A string's tag and length.
const STRING: usize = 5;
/// A list without items.
const EMPTY_LIST: usize = 1;
/// A tuple's tag and count.
const TUPLE: usize = 2;

/// Bytes of the term of a value, without a version.
fn of(value: &Value) -> usize {
    let mut tuple = TermWriter::tuple();
    tuple.value(value);
    tuple.finish(&[]).len() - TUPLE
}

/// Bytes of a result.
pub(super) fn of_result(value: &Value) -> usize {
    VERSION + of(value)
}

/// Bytes of rows: for each the JSON texts of its key and its value, and the length of its document's id.
pub(super) fn of_rows<'a>(rows: impl Iterator<Item = (&'a [u8], usize, &'a [u8])>) -> usize {
    let row = |(key, id, value): (&[u8], usize, &[u8])| {
        let key_and_id = LIST + of(&read_value(key)) + STRING + id;
        LIST + key_and_id + of(&read_value(value))
    };
    VERSION + LIST + rows.map(row).sum::<usize>()
}

/// Bytes of results that are reduced again, given as JSON texts: rows without keys.
pub(super) fn of_results<'a>(results: impl Iterator<Item = &'a [u8]>) -> usize {
    let row = |result| LIST + EMPTY_LIST + of(&read_value(result));
    VERSION + LIST + results.map(row).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths that Erlang's `erlang:external_size` has for these terms.
    #[test]
    fn terms_have_the_lengths_of_erlang() {
        for (json, bytes) in [
            ("1", 3),
            ("1000", 6),
            ("0.5", 10),
            (r#""abc""#, 9),
            ("null", 8),
            ("[]", 2),
            ("[1,2]", 6),
            ("[1,1000]", 14),
            (r#"{"a":1}"#, 19),
        ] {
            assert_eq!(of_result(&read_value(json.as_bytes())), bytes, "{json}");
        }
        let rows = [(&b"null"[..], 2, &b"1"[..])].into_iter();
        assert_eq!(of_rows(rows), 1 + 6 + 6 + (6 + 7 + 7) + 2);
        let results = [&b"1"[..]].into_iter();
        assert_eq!(of_results(results), 1 + 6 + 6 + 1 + 2);
    }
}
