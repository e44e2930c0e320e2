//! Mercurial's list of clone bundles, `hg help -e clonebundles`:
//!
//! ```text
//! URL [KEY=VALUE]… LF       keys and values escaped as in URLs
//! ```

use percent_encoding::percent_decode;

/// Path of the manifest, below the repository.
pub(crate) const PATH: &str = ".hg/clonebundles.manifest";

/// Scheme of bundles that clients request by a command of the wire protocol.
pub const INLINE: &str = "peer-bundle-cache://";

/// Prefix of the names of bundles that Varve made.
pub(crate) const OWN: &str = "varve-";
/// Suffix of their names.
pub(crate) const BUNDLE_ENDING: &str = ".hg";
/// Suffix of the file with their heads.
pub(crate) const HEADS_ENDING: &str = ".heads";

/// One line for each bundle: a URL, then attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneBundleManifest {
    text: Vec<u8>,
}

/// Keys and values of one line, unescaped; of equal keys the last one counts.
pub type EntryAttributes = Vec<(String, String)>;

impl CloneBundleManifest {
    /// A manifest as it is in a file, or as a server sends it.
    pub fn new(text: Vec<u8>) -> CloneBundleManifest {
        CloneBundleManifest { text }
    }

    /// All lines, as they stand in the file.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let lines = self.text.split(|byte| *byte == b'\n');
        lines.filter(|line| !line.is_empty())
    }

    /// URLs with their attributes. A word without an equals sign has an empty value.
    pub fn entries(&self) -> impl Iterator<Item = (String, EntryAttributes)> {
        let text = |bytes: &[u8]| {
            let bytes: Vec<u8> = percent_decode(bytes).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        self.lines().filter_map(move |line| {
            let mut words = line.split(|byte| byte.is_ascii_whitespace());
            let url = words.next().filter(|url| !url.is_empty())?;
            let pairs = words.filter(|word| !word.is_empty()).map(|word| {
                let equals = word.iter().position(|byte| *byte == b'=');
                let (key, value) = word.split_at(equals.unwrap_or(word.len()));
                (text(key), text(value.get(1..).unwrap_or_default()))
            });
            Some((String::from_utf8_lossy(url).into_owned(), pairs.collect()))
        })
    }

    /// Names of the bundles that clients request by a command.
    fn inline_names(&self) -> impl Iterator<Item = &[u8]> {
        let names = self.lines().map(inline_name);
        names.flatten()
    }

    /// Whether the server may send the bundle of this name.
    pub fn lists(&self, name: &str) -> bool {
        self.inline_names().any(|listed| listed == name.as_bytes())
    }

    /// The common prefix of the bundles' names, and the number of changesets in each; `None` if any line is not
    /// Varve's.
    pub(crate) fn own_id(&self) -> Option<(&str, usize)> {
        let mut ids = self.lines().map(|line| own_id(inline_name(line)?));
        let first = ids.next()??;
        ids.all(|id| id == Some(first)).then_some(first)
    }

    /// Whether Varve wrote all of it.
    pub fn is_own(&self) -> bool {
        self.own_id().is_some()
    }

    /// The manifest for clients that fetch Varve's bundles from below the URL `at`. A manifest of another program stays
    /// as it is.
    pub fn located(&self, at: Option<&str>) -> Vec<u8> {
        let Some(at) = at.filter(|_| self.is_own()) else {
            return self.text.clone();
        };
        let needs_name = if at.starts_with("https:") {
            " REQUIRESNI=true"
        } else {
            ""
        };
        let mut out = Vec::new();
        for line in self.lines() {
            let rest = line.get(INLINE.len()..).unwrap_or_default();
            out.extend_from_slice(format!("{at}/").as_bytes());
            out.extend_from_slice(rest);
            out.extend_from_slice(needs_name.as_bytes());
            out.push(b'\n');
        }
        out
    }

    /// The manifest for clients that do not know [`INLINE`]: without such lines, and with an empty line after each as
    /// Mercurial has it.
    pub fn without_inline(&self) -> Vec<u8> {
        let lines = self.text.split_inclusive(|byte| *byte == b'\n');
        let kept = lines.filter(|line| !line.starts_with(INLINE.as_bytes()));
        kept.flat_map(|line| [line, b"\n"])
            .flatten()
            .copied()
            .collect()
    }
}

/// The name of a bundle that clients request by a command.
fn inline_name(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_prefix(INLINE.as_bytes())?;
    name.split(|byte| byte.is_ascii_whitespace()).next()
}

/// `varve-COUNT-HASH` at the beginning of a name, with COUNT.
fn own_id(name: &[u8]) -> Option<(&str, usize)> {
    let name = std::str::from_utf8(name).ok()?;
    let behind = name.strip_prefix(OWN)?;
    let (count, rest) = behind.split_once('-')?;
    let (hash, _) = rest.split_once('-')?;
    let len = OWN.len() + count.len() + 1 + hash.len();
    Some((name.get(..len)?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &[u8] = b"peer-bundle-cache://varve-7-0a0b-zstd-v2.hg BUNDLESPEC=zstd-v2\n\
                          peer-bundle-cache://varve-7-0a0b-stream-v2.hg BUNDLESPEC=none-v2;stream=v2\n";

    fn of(text: &[u8]) -> CloneBundleManifest {
        CloneBundleManifest::new(text.to_vec())
    }

    #[test]
    fn own_lists_are_known_by_every_line() {
        assert_eq!(of(OURS).own_id(), Some(("varve-7-0a0b", 7)));
        assert!(of(OURS).lists("varve-7-0a0b-zstd-v2.hg"));
        let mixed = [OURS, b"http://h/x BUNDLESPEC=gzip-v2\n"].concat();
        let other = [OURS, b"peer-bundle-cache://varve-8-0a0b-zstd-v2.hg\n"].concat();
        for text in [&mixed[..], &other, b"", b"\n", b"peer-bundle-cache://x\n"] {
            assert!(!of(text).is_own(), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn own_bundles_get_urls_and_others_stay() {
        let told = of(OURS).located(Some("https://h/hg/r/bundle-cache"));
        let first = b"https://h/hg/r/bundle-cache/varve-7-0a0b-zstd-v2.hg BUNDLESPEC=zstd-v2 REQUIRESNI=true\n";
        assert!(told.starts_with(first), "{}", told.escape_ascii());
        let plain = of(OURS).located(Some("http://h"));
        assert!(plain.ends_with(b"stream=v2\n"));
        assert_eq!(of(OURS).located(None), OURS);
        let other = b"peer-bundle-cache://mine\nhttp://h/x\n";
        assert_eq!(of(other).located(Some("http://h")), other);
        assert_eq!(of(other).without_inline(), b"http://h/x\n\n");
    }

    #[test]
    fn a_line_is_a_url_and_pairs() {
        let text = b"http://h/a BUNDLESPEC=gzip-v2 b=x%20y\n\n  \nhttp://h/c word\n";
        let entries: Vec<_> = of(text).entries().collect();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].1[1], ("b".to_owned(), "x y".to_owned()));
        assert_eq!(entries[1].1, [("word".to_owned(), String::new())]);
    }
}
