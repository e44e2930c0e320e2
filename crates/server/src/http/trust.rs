//! Which proxies are believed, and which names in `Host` a server answers to.
//!
//! A page in a browser may make its own name point to this machine (DNS rebinding); to the browser the server is then
//! a part of that page's site. The name still stands in `Host`. A server that listens on a loopback address has only
//! clients of this machine, so it answers to addresses, to `localhost` and to configured names.

use crate::Failure;
use crate::http::request::authority;
use hyper::Version;
use hyper::header::{HOST, HeaderMap};
use std::net::IpAddr;
use varve_config::Trust;

/// Which proxy headers and host names a listener accepts.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustPolicy {
    trust: Trust,
    /// Whether only known names are answered to.
    checks_host: bool,
}

impl TrustPolicy {
    /// The policy of a listener at this address.
    pub(crate) fn new(trust: &Trust, listening: IpAddr) -> TrustPolicy {
        TrustPolicy {
            trust: trust.clone(),
            checks_host: trust.hosts.is_some() || listening.is_loopback(),
        }
    }

    /// Whether the client is a proxy whose word about its own client counts.
    pub(super) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.trust.proxies.iter().any(|known| known.contains(peer))
    }

    /// Refuses a request without the one `Host` that HTTP/1.1 demands, or for a name that is not this server's.
    ///
    /// # Errors
    /// 400, 403.
    pub(super) fn check_host(&self, version: Version, headers: &HeaderMap) -> Result<(), Failure> {
        let mut given = headers.get_all(HOST).iter();
        let (host, further) = (given.next(), given.next());
        let Some(host) = host.filter(|_| further.is_none()) else {
            return match version == Version::HTTP_10 && further.is_none() {
                true => Ok(()),
                false => Err(Failure::bad_request(
                    "a request needs exactly one Host header",
                )),
            };
        };
        let host = host.to_str().unwrap_or_default();
        match !self.checks_host || self.is_known(&authority(host).0.to_ascii_lowercase()) {
            true => Ok(()),
            false => Err(Failure::forbidden(format!(
                "{host:?} is no name of this server; [chttpd] allowed_hosts lists its names"
            ))),
        }
    }

    fn is_known(&self, host: &str) -> bool {
        let configured = self.trust.hosts.iter().flatten();
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_local = host == "localhost" || host.ends_with(".localhost");
        is_address
            || is_local
            || configured
                .into_iter()
                .any(|name| name == "*" || name == host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::StatusCode;

    fn policy(hosts: Option<&[&str]>, listening: &str) -> TrustPolicy {
        let hosts = hosts.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let proxies = Vec::new();
        TrustPolicy::new(&Trust { proxies, hosts }, listening.parse().unwrap())
    }

    fn check(policy: &TrustPolicy, hosts: &[&str]) -> Option<StatusCode> {
        let hosts = hosts.iter().map(|host| (HOST, host.parse().unwrap()));
        let checked = policy.check_host(Version::HTTP_11, &hosts.collect());
        checked.err().map(|failure| failure.status())
    }

    #[test]
    fn a_loopback_server_has_no_name_of_the_public_dns() {
        let local = policy(None, "127.0.0.1");
        for known in [
            "localhost:5984",
            "127.0.0.1",
            "[::1]:80",
            "[::1]",
            "db.LOCALHOST",
            "10.0.0.1",
        ] {
            assert_eq!(check(&local, &[known]), None, "{known}");
        }
        for untrusted in [
            "evil.example",
            "evil.example:5984",
            "localhost.evil.example",
            "",
        ] {
            assert_eq!(
                check(&local, &[untrusted]),
                Some(StatusCode::FORBIDDEN),
                "{untrusted}"
            );
        }
        assert_eq!(check(&policy(None, "0.0.0.0"), &["any.example"]), None);
        let named = policy(Some(&["db.example"]), "0.0.0.0");
        assert_eq!(check(&named, &["DB.example:80"]), None);
        assert_eq!(check(&named, &["any.example"]), Some(StatusCode::FORBIDDEN));
        assert_eq!(check(&policy(Some(&["*"]), "::1"), &["any.example"]), None);
    }

    #[test]
    fn http_1_1_has_one_host() {
        let open = policy(None, "0.0.0.0");
        assert_eq!(check(&open, &[]), Some(StatusCode::BAD_REQUEST));
        assert_eq!(check(&open, &["a", "b"]), Some(StatusCode::BAD_REQUEST));
        assert!(open.check_host(Version::HTTP_10, &HeaderMap::new()).is_ok());
    }
}
