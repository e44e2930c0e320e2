//! Capabilities of a server: words, some with values.

use crate::format::part::capabilities::Bundle2Capabilities;
use std::collections::BTreeMap;

/// The answer to `capabilities`, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerCapabilities {
    words: BTreeMap<String, String>,
    bundle2: Bundle2Capabilities,
}

impl PeerCapabilities {
    /// Reads words with blanks between; the value of `bundle2` is a quoted list of lines.
    pub fn parse(answer: &[u8]) -> PeerCapabilities {
        let answer = String::from_utf8_lossy(answer);
        let words = answer.split_ascii_whitespace().map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            (name.to_owned(), value.to_owned())
        });
        let words: BTreeMap<String, String> = words.collect();
        let quoted = words.get("bundle2").map_or("", String::as_str);
        PeerCapabilities {
            bundle2: Bundle2Capabilities::decode_quoted(quoted.as_bytes()),
            words,
        }
    }

    /// Whether the server has a capability.
    pub fn has(&self, name: &str) -> bool {
        self.words.contains_key(name)
    }

    /// What stands behind the equals sign; nothing if the capability is absent.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    /// What a client must know to take the files of the store; `None` if they are not to be had.
    pub fn streamed(&self) -> Option<Vec<&str>> {
        let kinds = self.bundle2("stream")?;
        let needs = match self.has("stream") {
            true => "",
            false => self.value("streamreqs")?,
        };
        let needs = needs.split(',').filter(|name| !name.is_empty());
        kinds
            .iter()
            .any(|kind| kind == "v2")
            .then(|| needs.collect())
    }

    /// The values of a bundle2 capability; `None` if it is absent.
    pub fn bundle2(&self, name: &str) -> Option<&[String]> {
        self.bundle2.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_of_a_real_server() {
        let caps = PeerCapabilities::parse(
            b"batch branchmap bundle2=HG20%0Abookmarks%0Achangegroup%3D01%2C02%2C03%0Astream%3Dv2 \
              httpheader=1024 unbundle=HG10GZ,HG10BZ,HG10UN",
        );
        assert!(caps.has("batch") && !caps.has("changegroupsubset"));
        assert_eq!(caps.value("httpheader"), Some("1024"));
        let versions = caps.bundle2("changegroup").unwrap();
        assert_eq!(versions, ["01", "02", "03"]);
        assert_eq!(caps.bundle2("bookmarks"), Some(&[][..]));
        assert_eq!(caps.bundle2("phases"), None);
        assert_eq!(PeerCapabilities::parse(b""), PeerCapabilities::default());
    }
}
