//! Capabilities of bundle2: the payload of `replycaps`, and quoted once more in the word `bundle2=` of a server's
//! capabilities and of a client's `bundlecaps`.
//!
//! ```text
//! name[=value,value…] \n …       names and values quoted as in a URL
//! ```

use crate::format::quoting::QUOTED;
use percent_encoding::{percent_decode, utf8_percent_encode};
use std::collections::BTreeMap;

/// Names with their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bundle2Capabilities {
    values: BTreeMap<String, Vec<String>>,
}

impl Bundle2Capabilities {
    /// Decodes lines that are quoted as a whole.
    pub(crate) fn decode_quoted(quoted: &[u8]) -> Bundle2Capabilities {
        let lines = unquoted(quoted);
        let lines = lines.lines().filter(|line| !line.is_empty());
        let values = lines.map(|line| {
            let (name, values) = line.split_once('=').unwrap_or((line, ""));
            let values = values.split(',').filter(|value| !value.is_empty());
            let values = values.map(|value| unquoted(value.as_bytes()));
            (unquoted(name.as_bytes()), values.collect())
        });
        Bundle2Capabilities {
            values: values.collect(),
        }
    }

    /// Whether there is a capability of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The values of a capability; `None` if it is absent.
    pub(crate) fn get(&self, name: &str) -> Option<&[String]> {
        self.values.get(name).map(Vec::as_slice)
    }

    /// All capabilities, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        let values = self.values.iter();
        values.map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// The values of a capability; none if it is absent.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.get(name).unwrap_or_default();
        values.iter().map(String::as_str)
    }
}

/// Quotes lines as a whole. Names and values must not need quoting themselves.
pub(crate) fn encode_quoted(lines: &[&str]) -> String {
    utf8_percent_encode(&lines.join("\n"), QUOTED).to_string()
}

fn unquoted(bytes: &[u8]) -> String {
    percent_decode(bytes).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_capabilities_of_a_real_client() {
        let lines = ["HG20", "bookmarks", "changegroup=01,02,03", "phases=heads"];
        let quoted = encode_quoted(&lines);
        let expected = "HG20%0Abookmarks%0Achangegroup%3D01%2C02%2C03%0Aphases%3Dheads";
        assert_eq!(quoted, expected);
        let decoded = Bundle2Capabilities::decode_quoted(expected.as_bytes());
        assert!(decoded.has("bookmarks") && !decoded.has("listkeys"));
        assert!(decoded.values("changegroup").eq(["01", "02", "03"]));
        assert_eq!(decoded.get("bookmarks"), Some(&[][..]));
        assert_eq!(decoded.get("nothing"), None);
        assert!(decoded.values("nothing").next().is_none());
    }

    #[test]
    fn names_and_values_are_unquoted_twice() {
        let decoded = Bundle2Capabilities::decode_quoted(b"a%2525=b%252Cc,d%0A%0A");
        assert!(decoded.values("a%").eq(["b,c", "d"]));
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(
            lines in proptest::collection::btree_map("[a-z:-]{1,9}", proptest::collection::vec("[a-z0-9]{1,5}", 0..4), 0..6),
        ) {
            let texts: Vec<String> = lines.iter().map(|(name, values)| match values.is_empty() {
                true => name.clone(),
                false => format!("{name}={}", values.join(",")),
            }).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let decoded = Bundle2Capabilities::decode_quoted(encode_quoted(&texts).as_bytes());
            prop_assert_eq!(decoded, Bundle2Capabilities { values: lines });
        }

        #[test]
        fn hostile_bytes_are_read_or_passed_over(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let decoded = Bundle2Capabilities::decode_quoted(&bytes);
            prop_assert!(decoded.values.len() <= bytes.len() + 1);
        }
    }
}
