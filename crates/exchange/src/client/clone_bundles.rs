//! Choice of a clone bundle: those that the client cannot use are rejected, the others sorted by the attributes that
//! the user prefers.

use crate::format::bundlespec::{BundleSpec, BundleSpecError, BundleType, SpecDefaults};
use crate::format::clone_bundle_manifest::{CloneBundleManifest, EntryAttributes, INLINE};
use varve_config::hgrc;

/// Beginnings of URLs that the client can fetch.
const SCHEMES: [&str; 3] = ["http://", "https://", INLINE];

/// Limits of the client that chooses.
#[derive(Clone, Debug, Default)]
pub struct BundlePreferences {
    /// Whether only stream bundles are wanted.
    pub streamed: bool,
    /// Bytes of memory of this machine, if known.
    pub memory: Option<u64>,
}

/// A bundle of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it is fetched.
    pub url: String,
    /// Attributes of the manifest, and `COMPRESSION` and `VERSION` from its bundlespec.
    pub attributes: EntryAttributes,
}

/// The bundles of a manifest that can be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// In the order of the manifest.
    pub usable: Vec<Candidate>,
    /// Why others were rejected, in Mercurial's wording.
    pub rejected: Vec<String>,
}

impl Candidates {
    /// Checks every entry of a manifest.
    pub fn of(manifest: &CloneBundleManifest, preferences: &BundlePreferences) -> Candidates {
        let mut found = Candidates::default();
        for (url, attributes) in manifest.entries() {
            let mut candidate = Candidate { url, attributes };
            match candidate.rejection(preferences) {
                Some(reason) => found.rejected.push(reason),
                None => found.usable.push(candidate),
            }
        }
        found
    }

    /// Sorts bundles with the first of these attributes to the front, then those with the second, and so on.
    pub fn sort_by(&mut self, preferred: &[(String, String)]) {
        self.usable.sort_by_cached_key(|candidate| {
            let lacks = |(key, value): &(String, String)| candidate.value(key) != Some(value);
            preferred.iter().map(lacks).collect::<Vec<bool>>()
        });
    }
}

impl Candidate {
    /// The last value of an attribute.
    pub fn value(&self, key: &str) -> Option<&str> {
        let mut pairs = self.attributes.iter().rev();
        pairs.find_map(|(name, value)| (name == key).then_some(value.as_str()))
    }

    /// Why the bundle cannot be used.
    fn rejection(&mut self, preferences: &BundlePreferences) -> Option<String> {
        let because = |url: &str, words: &str| Some(format!("filtering {url} {words}"));
        let url = self.url.clone();
        if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
            return because(&url, "because not a supported clonebundle scheme");
        }
        match self.value("BUNDLESPEC").map(str::to_owned) {
            Some(text) => match strict(&text) {
                Err(Refusal::NoSpec(words)) => return Some(words),
                Err(Refusal::Unsupported(words)) => {
                    return because(&url, &format!("because unsupported bundle spec: {words}"));
                }
                Ok(spec) => {
                    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
                    let engine = spec.setting().engine.name();
                    self.attributes.push(pair("COMPRESSION", engine));
                    self.attributes.push(pair("VERSION", spec.kind().name()));
                    if preferences.streamed && !is_of_files(&spec) {
                        return because(&url, "because it is not a stream clonebundle");
                    }
                }
            },
            None if preferences.streamed => {
                return because(&url, "because cannot determine if a stream clone bundle");
            }
            None => {}
        }
        let memory = self.value("REQUIREDRAM")?;
        let Some(needed) = hgrc::bytes(memory.as_bytes()) else {
            return because(&url, "due to a bad REQUIREDRAM attribute");
        };
        let two_thirds = preferences.memory? / 3 * 2;
        (needed > two_thirds)
            .then(|| format!("filtering {url} as it needs more than 2/3 of system memory"))
    }
}

/// Why a bundlespec is not good enough.
enum Refusal {
    NoSpec(String),
    Unsupported(String),
}

/// Reads a bundlespec that says both, engine and type.
fn strict(text: &str) -> Result<BundleSpec, Refusal> {
    let head = text.split(';').next().unwrap_or_default();
    if !head.contains('-') {
        let words =
            format!("invalid bundle specification; must be prefixed with compression: {text}");
        return Err(Refusal::NoSpec(words));
    }
    BundleSpec::parse(
        text,
        SpecDefaults {
            general_delta: true,
        },
    )
    .map_err(|error| match error {
        BundleSpecError::NoValue(_) | BundleSpecError::NoBoolean { .. } => {
            Refusal::NoSpec(error.to_string())
        }
        other => Refusal::Unsupported(other.to_string()),
    })
}

/// Whether such a bundle holds the files of a store.
fn is_of_files(spec: &BundleSpec) -> bool {
    let stream = spec.contents().stream.as_deref();
    spec.kind() == BundleType::Packed1 || stream == Some("v2")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"ftp://h/1 BUNDLESPEC=gzip-v2\n\
        http://h/2 BUNDLESPEC=v2\n\
        http://h/3 BUNDLESPEC=gzip-v9\n\
        http://h/4 BUNDLESPEC=gzip-v2 site=far\n\
        http://h/5 BUNDLESPEC=none-v2;stream=v2;requirements%3Drevlogv1 site=near\n\
        http://h/6\n\
        http://h/7 BUNDLESPEC=zstd-v2 REQUIREDRAM=2GB site=near\n\
        peer-bundle-cache://8 BUNDLESPEC=none-packed1\n";

    fn found(preferences: &BundlePreferences, preferred: &[(&str, &str)]) -> (String, Vec<String>) {
        let mut found = Candidates::of(&CloneBundleManifest::new(LIST.to_vec()), preferences);
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        found.sort_by(&preferred.iter().map(pair).collect::<Vec<_>>());
        let last = |it: &Candidate| it.url.chars().last().unwrap_or_default();
        (found.usable.iter().map(last).collect(), found.rejected)
    }

    #[test]
    fn what_cannot_be_used_is_rejected() {
        let (usable, why) = found(&BundlePreferences::default(), &[]);
        assert_eq!(usable, "45678");
        assert_eq!(
            why[1],
            "invalid bundle specification; must be prefixed with compression: v2"
        );
        let unsupported = "filtering http://h/3 because unsupported bundle spec: \
                           v9 is not a recognized bundle version";
        assert_eq!(why[2], unsupported);
        let small = BundlePreferences {
            streamed: false,
            memory: Some(1 << 30),
        };
        assert_eq!(found(&small, &[]).0, "4568");
        let streamed = BundlePreferences {
            streamed: true,
            memory: None,
        };
        assert_eq!(found(&streamed, &[]).0, "58");
    }

    #[test]
    fn what_is_preferred_comes_first_and_else_the_order_stays() {
        let order = |preferred: &[(&str, &str)]| found(&BundlePreferences::default(), preferred).0;
        assert_eq!(order(&[("site", "near")]), "57468");
        assert_eq!(order(&[("site", "near"), ("COMPRESSION", "zstd")]), "75468");
        assert_eq!(order(&[("VERSION", "packed1"), ("none", "x")]), "84567");
    }
}
