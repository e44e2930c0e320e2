//! What a client can read, from the `bundlecaps` argument of `getbundle`.
//!
//! Words with commas between; `bundle2=` holds, quoted once more, lines `name` or `name=a,b`.

use percent_encoding::percent_decode;
use std::collections::BTreeMap;

/// A client's bundle2 capabilities; `None` inside [`parse`] if it reads only bundle1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BundleCaps {
    values: BTreeMap<String, Vec<String>>,
}

/// Reads the argument.
pub(crate) fn parse(bundlecaps: &[u8]) -> Option<BundleCaps> {
    let words = || bundlecaps.split(|&b| b == b',');
    if !words().any(|word| word.starts_with(b"HG2")) {
        return None;
    }
    let mut caps = BundleCaps::default();
    let blob = words().find_map(|word| word.strip_prefix(b"bundle2="));
    let lines = unquoted(blob.unwrap_or_default());
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let (name, values) = line.split_once('=').unwrap_or((line, ""));
        let values = values.split(',').filter(|value| !value.is_empty());
        let values = values.map(|value| unquoted(value.as_bytes())).collect();
        caps.values.insert(unquoted(name.as_bytes()), values);
    }
    Some(caps)
}

fn unquoted(bytes: &[u8]) -> String {
    percent_decode(bytes).decode_utf8_lossy().into_owned()
}

impl BundleCaps {
    /// Whether the client knows parts or features of this name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The values of a capability; none if it is absent.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values
            .get(name)
            .into_iter()
            .flatten()
            .map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_of_a_real_client() {
        let caps = parse(
            b"HG20,bundle2=HG20%0Abookmarks%0Achangegroup%3D01%2C02%2C03%0Aphases%3Dheads%0A\
              stream%3Dv2",
        );
        let caps = caps.unwrap();
        assert!(caps.knows("bookmarks") && caps.knows("stream") && !caps.knows("listkeys"));
        assert!(caps.values("changegroup").eq(["01", "02", "03"]));
        assert!(caps.values("nothing").next().is_none());
    }

    #[test]
    fn old_clients_have_none() {
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"HG10,HG10GZ"), None);
        assert_eq!(
            parse(b"\xff%,HG20,bundle2=%"),
            Some(parse(b"HG20,bundle2=%25").unwrap())
        );
    }
}
