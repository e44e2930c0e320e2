//! Capabilities of a server: words, some with values.

use crate::format::part::capabilities::Bundle2Capabilities;
use std::collections::BTreeMap;
use varve_repo::Requirements;

/// Whether a server streams the files of its store, and this program can read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamSupport {
    /// The files can be requested.
    Supported,
    /// The server does not stream files.
    Disabled,
    /// The files have these requirements, which are unknown here.
    UnknownRequirements(Vec<String>),
}

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

    /// The value behind the equals sign; `None` if the capability is absent, empty if it has no value.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    /// Requirements of the streamed files of the store; `None` if the server does not stream them.
    fn streamed(&self) -> Option<Vec<&str>> {
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

    /// Whether this program can read the store's files as the server streams them.
    pub fn stream_support(&self) -> StreamSupport {
        let Some(needs) = self.streamed() else {
            return StreamSupport::Disabled;
        };
        let is_unknown = |name: &&str| !Requirements::is_streamable(name);
        let unknown = needs.into_iter().filter(is_unknown).map(str::to_owned);
        match unknown.collect::<Vec<_>>() {
            unknown if unknown.is_empty() => StreamSupport::Supported,
            unknown => StreamSupport::UnknownRequirements(unknown),
        }
    }

    /// All capabilities with the values behind their equals signs, empty where there is none; sorted.
    pub fn words(&self) -> impl Iterator<Item = (&str, &str)> {
        let words = self.words.iter();
        words.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All bundle2 capabilities with their values, sorted by name.
    pub fn all_bundle2(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.bundle2.iter()
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
    fn streams_are_supported_if_all_their_requirements_are_known() {
        let support = |words: &str| PeerCapabilities::parse(words.as_bytes()).stream_support();
        let offers = "bundle2=HG20%0Astream%3Dv2";
        assert_eq!(support(""), StreamSupport::Disabled);
        assert_eq!(support(offers), StreamSupport::Disabled);
        assert_eq!(support("streamreqs=revlogv1"), StreamSupport::Disabled);
        assert_eq!(
            support("bundle2=HG20%0Astream%3Dv9 stream"),
            StreamSupport::Disabled
        );
        for known in ["stream", "streamreqs=generaldelta,revlogv1"] {
            let words = format!("{offers} {known}");
            assert_eq!(support(&words), StreamSupport::Supported, "{known}");
        }
        assert_eq!(
            support(&format!("{offers} streamreqs=revlogv1,from-the-future")),
            StreamSupport::UnknownRequirements(vec!["from-the-future".to_owned()])
        );
    }

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
