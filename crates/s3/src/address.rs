//! Addresses: `s3://BUCKET/PREFIX`.

use crate::error::S3Error;
use std::fmt;

const SCHEME: &str = "s3://";
/// S3's limit of keys is 1,024 bytes, of which the longest key of shared storage takes 700.
const LONGEST_PREFIX: usize = 256;

/// A bucket, and the beginning of the keys of one store in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Address {
    pub(crate) bucket: String,
    /// Without slashes around it; empty for a store that has the bucket for itself.
    pub(crate) prefix: String,
}

impl S3Address {
    /// True if the text has the scheme of S3.
    pub fn has_scheme(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Reads `s3://BUCKET/PREFIX`; the prefix may be left out, and may end with a slash.
    ///
    /// # Errors
    /// [`S3Error::Address`]
    pub fn parse(text: &str) -> Result<S3Address, S3Error> {
        let refused = |reason| S3Error::Address {
            address: text.to_owned(),
            reason,
        };
        let rest = text.strip_prefix(SCHEME);
        let rest = rest.ok_or_else(|| refused("it must be s3://BUCKET/PREFIX"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_bucket(bucket) {
            return Err(refused(
                "a bucket has 3 to 63 characters of a-z, 0-9, '.', '-' and '_', with a letter or digit at both ends",
            ));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if !prefix.is_empty() && !prefix.split('/').all(is_part) {
            return Err(refused(
                "a prefix has parts of letters, digits, '_', '-', '+' and '.' with one '/' between them, which do not begin with '.'",
            ));
        }
        if prefix.len() > LONGEST_PREFIX {
            return Err(refused("a prefix has at most 256 characters"));
        }
        Ok(S3Address {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    /// The object's whole key in the bucket.
    pub(crate) fn key_in_bucket(&self, key: &str) -> String {
        match self.prefix.as_str() {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        }
    }

    /// The object's key in the store; `None` for those of others.
    pub(crate) fn key_in_store<'a>(&self, key: &'a str) -> Option<&'a str> {
        match self.prefix.as_str() {
            "" => Some(key),
            prefix => key.strip_prefix(prefix)?.strip_prefix('/'),
        }
    }
}

impl fmt::Display for S3Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        write!(out, "{SCHEME}{}{slash}{}", self.bucket, self.prefix)
    }
}

/// Some servers other than S3 allow `_`.
fn is_bucket(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.first().copied().is_some_and(is_inner)
        && bytes.last().copied().is_some_and(is_inner)
        && bytes
            .iter()
            .all(|&byte| is_inner(byte) || b".-_".contains(&byte))
        && !text.contains("..")
}

fn is_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte);
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, bucket, prefix, shown) in [
            ("s3://abc", "abc", "", "s3://abc"),
            ("s3://abc/", "abc", "", "s3://abc"),
            ("s3://a-b.c/x/y+1/", "a-b.c", "x/y+1", "s3://a-b.c/x/y+1"),
        ] {
            let address = S3Address::parse(text).unwrap();
            assert_eq!(
                (address.bucket.as_str(), address.prefix.as_str()),
                (bucket, prefix)
            );
            assert_eq!(address.to_string(), shown);
        }
    }

    #[test]
    fn other_texts_are_no_addresses() {
        for text in [
            "",
            "s3:/abc",
            "S3://abc",
            "s3://",
            "s3://ab",
            "s3:///x",
            "s3://Abc",
            "s3://a..b",
            "s3://-ab",
            "s3://abc//x",
            "s3://abc/../x",
            "s3://abc/x//y",
            "s3://abc/.x",
            "s3://abc/x y",
            "s3://abc/x?y",
            "s3://user@abc/x",
            "s3://abc/%41",
        ] {
            assert!(S3Address::parse(text).is_err(), "{text}");
        }
        let long = format!("s3://abc/{}", "x".repeat(LONGEST_PREFIX + 1));
        assert!(S3Address::parse(&long).is_err());
    }

    #[test]
    fn keys_of_a_bucket_and_of_a_store() {
        let store = S3Address::parse("s3://abc/x/y").unwrap();
        assert_eq!(store.key_in_bucket("a/log/1"), "x/y/a/log/1");
        assert_eq!(store.key_in_store("x/y/a/log/1"), Some("a/log/1"));
        assert_eq!(store.key_in_store("x/ya/log/1"), None);
        let whole = S3Address::parse("s3://abc").unwrap();
        assert_eq!(whole.key_in_bucket("a"), "a");
        assert_eq!(whole.key_in_store("a"), Some("a"));
    }
}
