//! Users for whom a proxy vouches, by headers:
//!
//! ```text
//! X-Auth-CouchDB-UserName: NAME
//! X-Auth-CouchDB-Roles: ROLE,ROLE
//! X-Auth-CouchDB-Token: HMAC of NAME in hexadecimal; key: the server's secret
//! ```

use crate::UserContext;
use hmac::{Hmac, KeyInit, Mac};
use hyper::header::HeaderMap;
use sha1::Sha1;
use sha2::Sha256;
use std::fmt::Write;
use subtle::ConstantTimeEq;
use varve_config::ProxyLogin;

/// The user whom the headers name; `None` without a name, and if a token is needed and is not the right one.
pub(super) fn user(headers: &HeaderMap, proxy: &ProxyLogin, secret: &str) -> Option<UserContext> {
    // Two values may be one of the proxy and one of its client: neither is believed.
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(value)
    };
    let name = only(&proxy.username).filter(|name| !name.is_empty())?;
    if proxy.use_secret && !is_token(only(&proxy.token)?, name, secret) {
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

/// By either hash function that CouchDB accepts unless it is told otherwise.
fn is_token(given: &str, name: &str, secret: &str) -> bool {
    let (key, name) = (secret.as_bytes(), name.as_bytes());
    let sha256 = Hmac::<Sha256>::new_from_slice(key).map(|mac| hex(&signed(mac, name)));
    let sha1 = Hmac::<Sha1>::new_from_slice(key).map(|mac| hex(&signed(mac, name)));
    let expected = [sha256.ok(), sha1.ok()];
    let is_it = |token: &String| bool::from(token.as_bytes().ct_eq(given.as_bytes()));
    expected.iter().flatten().any(is_it)
}

fn signed<M: Mac>(mac: M, name: &[u8]) -> Vec<u8> {
    mac.chain_update(name).finalize().into_bytes().to_vec()
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

    const NAME: (&str, &str) = ("x-auth-couchdb-username", "ada");
    const ROLES: (&str, &str) = ("x-auth-couchdb-roles", "crew,,cook");

    #[test]
    fn a_name_counts_once_and_with_its_token_where_one_is_needed() {
        let found = user(&headers(&[NAME, ROLES]), &proxy(false), "key").unwrap();
        assert_eq!((found.name.as_deref(), found.roles.len()), (Some("ada"), 2));
        assert!(user(&headers(&[ROLES]), &proxy(false), "key").is_none());
        assert!(user(&headers(&[NAME, NAME]), &proxy(false), "key").is_none());
        assert!(user(&headers(&[NAME]), &proxy(true), "key").is_none());
        let token = "x-auth-couchdb-token";
        assert!(user(&headers(&[NAME, (token, "00")]), &proxy(true), "key").is_none());
        for (right, secret) in [(SHA256, "key"), (SHA1, "key")] {
            let given = headers(&[NAME, (token, right)]);
            assert!(user(&given, &proxy(true), secret).is_some(), "{right}");
            assert!(user(&given, &proxy(true), "other").is_none(), "{right}");
        }
    }

    const SHA256: &str = "708a727d2475357eaacc4f88c80d7eec3218ce0cabcf2694f6fecd080545cc6f";
    const SHA1: &str = "ebd050bdab28244b3d42c994c9c06dad86bfa26f";
}
