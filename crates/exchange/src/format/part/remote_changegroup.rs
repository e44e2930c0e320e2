//! `remote-changegroup`: a bundle10 at a URL.
//!
//! ```text
//! url            http or https
//! size           bytes of the bundle
//! digests        names of digests, separated by blanks; may be left out
//! digest:NAME    each of them in hexadecimal
//! ```
//! All parameters are mandatory ones; there is no payload.

use super::PartHeader;
use crate::ExchangeError;

/// Parameters that are understood.
pub(super) const PARAMETERS: &[&str] = &[
    "url",
    "size",
    "digests",
    "digest:md5",
    "digest:sha1",
    "digest:sha512",
];

const SCHEMES: [&str; 2] = ["http", "https"];

/// Parameters of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteChangegroup {
    pub(crate) url: String,
    /// Bytes; a negative number is read, and then never right.
    pub(crate) size: i64,
    /// Name and hex digits. Whether a name is known is not checked here.
    pub(crate) digests: Vec<(String, String)>,
}

/// # Errors
/// [`ExchangeError::RemoteChangegroup`].
pub(crate) fn decode(header: &PartHeader) -> Result<RemoteChangegroup, ExchangeError> {
    let wrong = |reason: String| ExchangeError::RemoteChangegroup(reason);
    let need = |name: &str| {
        let missing = || wrong(format!(": missing \"{name}\" param"));
        header.text(name).ok_or_else(missing)
    };
    let url = need("url")?;
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    if !SCHEMES.contains(&scheme) {
        return Err(wrong(format!(" does not support {scheme} urls")));
    }
    let size = need("size")?.trim().parse();
    let size = size.map_err(|_| wrong(": invalid value for param \"size\"".to_owned()))?;
    let names = header.text("digests").unwrap_or_default();
    let digest = |name: &str| Ok((name.to_owned(), need(&format!("digest:{name}"))?));
    let digests: Result<_, ExchangeError> = names.split_whitespace().map(digest).collect();
    Ok(RemoteChangegroup {
        digests: digests?,
        size,
        url,
    })
}

#[cfg(test)]
mod tests {
    use super::super::PartType;
    use super::*;

    fn whole() -> PartHeader {
        PartHeader::mandatory(PartType::RemoteChangegroup)
            .with("url", "https://h/b")
            .with("size", " 12 ")
    }

    #[test]
    fn url_size_and_digests() {
        let header = whole()
            .with("digests", "md5 sha1")
            .with("digest:md5", "0a")
            .with("digest:sha1", "0b");
        assert!(header.check_mandatory(PARAMETERS).is_ok());
        let digests =
            [("md5", "0a"), ("sha1", "0b")].map(|(name, hex)| (name.to_owned(), hex.to_owned()));
        let expected = RemoteChangegroup {
            url: "https://h/b".to_owned(),
            size: 12,
            digests: digests.to_vec(),
        };
        assert_eq!(decode(&header).unwrap(), expected);
        assert_eq!(decode(&whole()).unwrap().digests, []);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let bare = PartHeader::mandatory(PartType::RemoteChangegroup);
        for (header, words) in [
            (bare.clone(), "remote-changegroup: missing \"url\" param"),
            (
                bare.clone().with("url", "http://h"),
                "remote-changegroup: missing \"size\" param",
            ),
            (
                bare.clone().with("url", "file:///etc/passwd"),
                "remote-changegroup does not support file urls",
            ),
            (
                bare.with("url", "/etc/passwd"),
                "remote-changegroup does not support  urls",
            ),
            (
                whole().with("size", "x"),
                "remote-changegroup: invalid value for param \"size\"",
            ),
            (
                whole().with("digests", "md5"),
                "remote-changegroup: missing \"digest:md5\" param",
            ),
        ] {
            assert_eq!(decode(&header).unwrap_err().to_string(), words);
        }
    }
}
