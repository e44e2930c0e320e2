//! Which clone bundle a client takes: those that it cannot use are passed over, the others sorted by
//! what its user prefers.

use crate::format::bundlespec::{BundleSpec, BundleSpecError, BundleType, Habits};
use crate::format::clone_bundle_manifest::{INLINE, Manifest, Parameters};
use varve_config::hgrc;

/// Where bundles may lie.
const SCHEMES: [&str; 3] = ["http://", "https://", INLINE];

/// What a client can take, and wants.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Only the files of a store.
    pub streamed: bool,
    /// Bytes of memory that this machine has, if that is known.
    pub memory: Option<u64>,
}

/// A bundle that can be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it lies.
    pub url: String,
    /// What the list says about it, with `COMPRESSION` and `VERSION` out of its bundlespec.
    pub parameters: Parameters,
}

/// What can be taken of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// In the list's order.
    pub usable: Vec<Candidate>,
    /// Why others cannot be taken, in Mercurial's words.
    pub passed_over: Vec<String>,
}

impl Candidates {
    /// Goes through a list.
    pub fn of(manifest: &Manifest, wishes: &Wishes) -> Candidates {
        let mut found = Candidates::default();
        for (url, parameters) in manifest.entries() {
            let mut candidate = Candidate { url, parameters };
            match candidate.obstacle(wishes) {
                Some(reason) => found.passed_over.push(reason),
                None => found.usable.push(candidate),
            }
        }
        found
    }

    /// Puts in front what has the first of these keys and values, then the second, and so on.
    pub fn prefer(&mut self, preferred: &[(String, String)]) {
        self.usable.sort_by_cached_key(|candidate| {
            let lacks = |(key, value): &(String, String)| candidate.value(key) != Some(value);
            preferred.iter().map(lacks).collect::<Vec<bool>>()
        });
    }
}

impl Candidate {
    /// What the list says under a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        let mut pairs = self.parameters.iter().rev();
        pairs.find_map(|(name, value)| (name == key).then_some(value.as_str()))
    }

    /// Why the bundle cannot be taken.
    fn obstacle(&mut self, wishes: &Wishes) -> Option<String> {
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
                    self.parameters.push(pair("COMPRESSION", engine));
                    self.parameters.push(pair("VERSION", spec.kind().name()));
                    if wishes.streamed && !is_of_files(&spec) {
                        return because(&url, "because it is not a stream clonebundle");
                    }
                }
            },
            None if wishes.streamed => {
                return because(&url, "because cannot determine if a stream clone bundle");
            }
            None => {}
        }
        let memory = self.value("REQUIREDRAM")?;
        let Some(needed) = hgrc::bytes(memory.as_bytes()) else {
            return because(&url, "due to a bad REQUIREDRAM attribute");
        };
        let two_thirds = wishes.memory? / 3 * 2;
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
        Habits {
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

    fn found(wishes: &Wishes, preferred: &[(&str, &str)]) -> (String, Vec<String>) {
        let mut found = Candidates::of(&Manifest::new(LIST.to_vec()), wishes);
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        found.prefer(&preferred.iter().map(pair).collect::<Vec<_>>());
        let last = |it: &Candidate| it.url.chars().last().unwrap_or_default();
        (found.usable.iter().map(last).collect(), found.passed_over)
    }

    #[test]
    fn what_cannot_be_used_is_passed_over() {
        let (usable, why) = found(&Wishes::default(), &[]);
        assert_eq!(usable, "45678");
        assert_eq!(
            why[1],
            "invalid bundle specification; must be prefixed with compression: v2"
        );
        let unsupported = "filtering http://h/3 because unsupported bundle spec: \
                           v9 is not a recognized bundle version";
        assert_eq!(why[2], unsupported);
        let small = Wishes {
            streamed: false,
            memory: Some(1 << 30),
        };
        assert_eq!(found(&small, &[]).0, "4568");
        let streamed = Wishes {
            streamed: true,
            memory: None,
        };
        assert_eq!(found(&streamed, &[]).0, "58");
    }

    #[test]
    fn what_is_preferred_comes_first_and_else_the_order_stays() {
        let order = |preferred: &[(&str, &str)]| found(&Wishes::default(), preferred).0;
        assert_eq!(order(&[("site", "near")]), "57468");
        assert_eq!(order(&[("site", "near"), ("COMPRESSION", "zstd")]), "75468");
        assert_eq!(order(&[("VERSION", "packed1"), ("none", "x")]), "84567");
    }
}
