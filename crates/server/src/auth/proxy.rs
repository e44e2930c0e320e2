//! Users for whom a proxy vouches, by headers:
//!
//! ```text
//! X-Auth-CouchDB-UserName: NAME
//! X-Auth-CouchDB-Roles: ROLE,ROLE
//! X-Auth-CouchDB-Token: HMAC of NAME in hexadecimal; key: the server's secret
//! ```

use crate::UserContext;
use crate::auth::signature::sign;
use hyper::header::HeaderMap;
use std::fmt::Write;
use subtle::ConstantTimeEq;
use varve_config::{HashAlgorithm, ProxyLogin};

/// The user whom the headers name; `None` without a name, and if a token is needed and is not the right one.
pub(super) fn user(
    headers: &HeaderMap,
    proxy: &ProxyLogin,
    (algorithms, secret): (&[HashAlgorithm], &str),
) -> Option<UserContext> {
    // Two values may be one of the proxy and one of its client: neither is believed.
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(value)
    };
    let name = only(&proxy.username).filter(|name| !name.is_empty())?;
    if proxy.use_secret && !is_token(only(&proxy.token)?, name, algorithms, secret) {
        return None;
    }
    let roles = match headers.contains_key(proxy.roles.as_str()) {
        true => only(&proxy.roles)?,
        false => "",
    };
    let roles = roles.split(',').filter(|role| !role.is_empty());
    Some(UserContext {
        name: Some(name.to_owned()),
        roles: roles.map(str::to_owned).collect(),
    })
}

fn is_token(given: &str, name: &str, algorithms: &[HashAlgorithm], secret: &str) -> bool {
    algorithms.iter().any(|algorithm| {
        let token = hex(&sign(*algorithm, secret.as_bytes(), name.as_bytes()));
        bool::from(token.as_bytes().ct_eq(given.as_bytes()))
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(use_secret: bool) -> ProxyLogin {
        ProxyLogin {
            use_secret,
            username: "X-Auth-CouchDB-UserName".to_owned(),
            roles: "X-Auth-CouchDB-Roles".to_owned(),
            token: "X-Auth-CouchDB-Token".to_owned(),
        }
    }

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    const BOTH: [HashAlgorithm; 2] = [HashAlgorithm::Sha256, HashAlgorithm::Sha1];
    const KEY: (&[HashAlgorithm], &str) = (&BOTH, "key");
    const NAME: (&str, &str) = ("x-auth-couchdb-username", "ada");
    const ROLES: (&str, &str) = ("x-auth-couchdb-roles", "crew,,cook");

    #[test]
    fn a_name_counts_once_and_with_its_token_where_one_is_needed() {
        let found = user(&headers(&[NAME, ROLES]), &proxy(false), KEY).unwrap();
        assert_eq!((found.name.as_deref(), found.roles.len()), (Some("ada"), 2));
        assert!(user(&headers(&[ROLES]), &proxy(false), KEY).is_none());
        assert!(user(&headers(&[NAME, NAME]), &proxy(false), KEY).is_none());
        assert!(user(&headers(&[NAME]), &proxy(true), KEY).is_none());
        let token = "x-auth-couchdb-token";
        assert!(user(&headers(&[NAME, (token, "00")]), &proxy(true), KEY).is_none());
        for (right, secret) in [(SHA256, "key"), (SHA1, "key")] {
            let given = headers(&[NAME, (token, right)]);
            assert!(
                user(&given, &proxy(true), (&BOTH, secret)).is_some(),
                "{right}"
            );
            assert!(
                user(&given, &proxy(true), (&BOTH, "other")).is_none(),
                "{right}"
            );
        }
    }

    const SHA256: &str = "708a727d2475357eaacc4f88c80d7eec3218ce0cabcf2694f6fecd080545cc6f";
    const SHA1: &str = "ebd050bdab28244b3d42c994c9c06dad86bfa26f";
}
