//! The argument `bundlecaps` of `getbundle`: capabilities of the client.
//!
//! Words with commas between; `bundle2=` has the capabilities of bundle2.

use crate::format::part::capabilities::Bundle2Capabilities;

/// The client's bundle2 capabilities; `None` if it reads only bundle10.
pub(crate) fn parse(bundlecaps: &[u8]) -> Option<Bundle2Capabilities> {
    let words = || bundlecaps.split(|&b| b == b',');
    if !words().any(|word| word.starts_with(b"HG2")) {
        return None;
    }
    let quoted = words().find_map(|word| word.strip_prefix(b"bundle2="));
    Some(Bundle2Capabilities::decode_quoted(
        quoted.unwrap_or_default(),
    ))
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
        assert!(caps.has("bookmarks") && caps.has("stream") && !caps.has("listkeys"));
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
