//! URLs of repositories, and the logins in them.

use crate::ExchangeError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// A name with its password. It is not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The password; `None` if it is still to be asked for.
    pub password: Option<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Login")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// The value of the header `Authorization`; `None` without a password.
    pub(super) fn header(&self) -> Option<String> {
        let password = self.password.as_deref()?;
        let both = format!("{}:{password}", self.user);
        Some(format!("Basic {}", BASE64_STANDARD.encode(both)))
    }
}

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    bare: String,
    /// With its question mark; repositories have none.
    query: String,
    shown: String,
    is_near: bool,
}

impl Address {
    /// Takes name and password out of a URL.
    pub(super) fn parse(url: &str) -> Result<(Address, Option<Login>), ExchangeError> {
        let wrong = |reason: &str| ExchangeError::BadAddress {
            url: url.to_owned(),
            reason: reason.to_owned(),
        };
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| wrong("it has no scheme"))?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        let decoded = |part: &str| {
            percent_decode(part.as_bytes())
                .decode_utf8_lossy()
                .into_owned()
        };
        let login = login.map(|login| match login.split_once(':') {
            Some((user, password)) => Login {
                user: decoded(user),
                password: Some(decoded(password)),
            },
            None => Login {
                user: decoded(login),
                password: None,
            },
        });
        let user = login.as_ref().map(|login| match login.password {
            Some(_) => format!("{}:***@", login.user),
            None => format!("{}@", login.user),
        });
        let address = Address {
            bare: format!("{scheme}://{host}{path}"),
            query: query.to_owned(),
            shown: format!("{scheme}://{}{host}{path}", user.unwrap_or_default()),
            is_near: is_this_machine(host),
        };
        Ok((address, login))
    }

    /// Without name and password.
    pub(super) fn bare(&self) -> &str {
        &self.bare
    }

    /// Whether it names this machine.
    pub(super) fn is_near(&self) -> bool {
        self.is_near
    }

    /// The part of the URL behind the path.
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    /// With stars for the password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
}

/// Whether a host, with its port if it has one, is the loopback by its name or number.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let number = name.parse::<IpAddr>();
    name == "localhost" || number.is_ok_and(|number| number.is_loopback())
}

/// The system's own words, without the number.
pub(super) fn words_of(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    let text = &text[..end];
    let looked_up = text.strip_prefix("failed to lookup address information: ");
    looked_up.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        for (host, is_near) in [
            ("localhost", true),
            ("localhost:8000", true),
            ("127.0.0.1:80", true),
            ("127.1.2.3", true),
            ("[::1]:80", true),
            ("[::2]", false),
            ("192.168.0.1", false),
            ("localhost.example.org", false),
            ("example.org:127", false),
        ] {
            assert_eq!(is_this_machine(host), is_near, "{host}");
        }
    }

    #[test]
    fn passwords_leave_the_address() {
        let (address, login) = Address::parse("http://me:p%40ss@host:80/a/b?x#y").unwrap();
        let login = login.unwrap();
        assert_eq!(address.bare(), "http://host:80/a/b");
        assert_eq!(address.shown(), "http://me:***@host:80/a/b");
        assert_eq!(
            (login.user.as_str(), login.password.as_deref()),
            ("me", Some("p@ss"))
        );
        assert_eq!(login.header().unwrap(), "Basic bWU6cEBzcw==");
        assert!(!format!("{login:?}").contains("ss"));
        let (address, login) = Address::parse("https://me@host").unwrap();
        assert_eq!(address.shown(), "https://me@host");
        assert_eq!(login.unwrap().header(), None);
        assert!(Address::parse("http:///x").is_err() && Address::parse("x").is_err());
    }
}
