//! One side of a replication: a database by its URL.

use crate::ReplicateError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use url::Url;
use varve_json::{Object, Value};

/// Name and password of an endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Name.
    pub user: String,
    /// Password.
    pub password: String,
}

impl std::fmt::Debug for Login {
    /// Passwords are in no log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Login({:?})", self.user)
    }
}

/// A database by its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Without name and password, with a slash at its end unless it has a query.
    pub url: Url,
    /// Name and password from the URL, from `auth.basic`, or from an `Authorization` header, in this order.
    pub login: Option<Login>,
    /// Further headers of each request, sorted by name; of a repeated name the last one.
    pub headers: Vec<(String, String)>,
    /// The URL of a proxy.
    pub proxy: Option<Url>,
}

impl Endpoint {
    /// Reads the text of a URL, which may have a name and a password.
    ///
    /// # Errors
    /// [`ReplicateError::Url`] for another protocol than `protocols` have, or without a host.
    pub fn from_url(text: &str, protocols: &[String]) -> Result<Endpoint, ReplicateError> {
        Endpoint::parse(Some(&Value::from(text)), None, protocols)
    }

    /// Reads the text of a URL, or `{"url": …, "headers": {…}, "auth": {"basic": {…}}}`.
    ///
    /// # Errors
    /// [`ReplicateError::NoEndpoint`], [`ReplicateError::LocalEndpoint`], [`ReplicateError::Url`],
    /// [`ReplicateError::Header`].
    pub(super) fn parse(
        value: Option<&Value>,
        proxy: Option<Url>,
        protocols: &[String],
    ) -> Result<Endpoint, ReplicateError> {
        let (text, members) = match value {
            None | Some(Value::Null) => return Err(ReplicateError::NoEndpoint),
            Some(Value::String(text)) => (text.as_str(), None),
            Some(Value::Object(members)) => {
                let text = members.get("url").and_then(Value::as_str);
                (text.unwrap_or_default(), Some(members))
            }
            Some(_) => return Err(ReplicateError::NoEndpoint),
        };
        if members.is_none() && !text.contains("://") {
            return Err(ReplicateError::LocalEndpoint);
        }
        let mut url = parse_url(text, "endpoint", protocols)?;
        let mut login = take_login(&mut url);
        let mut headers = Vec::new();
        if let Some(members) = members {
            headers = read_headers(members)?;
            login = login.or_else(|| basic_member(members));
        }
        let authorization = headers.iter().position(|(name, value)| {
            name.eq_ignore_ascii_case("authorization") && basic_header(value).is_some()
        });
        if let Some(at) = authorization {
            let (_, value) = headers.remove(at);
            login = login.or_else(|| basic_header(&value));
        }
        if url.query().is_none() && !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Endpoint {
            url,
            login,
            headers,
            proxy,
        })
    }

    /// The URL as answers and logs show it: without a password.
    pub fn shown(&self) -> &str {
        self.url.as_str()
    }

    /// The port, unless it is the usual one of the protocol or CouchDB's own for HTTP.
    pub(super) fn unusual_port(&self) -> Option<u16> {
        let port = self.url.port()?;
        (self.url.scheme() != "http" || port != COUCHDB_PORT).then_some(port)
    }
}

/// CouchDB's port.
const COUCHDB_PORT: u16 = 5984;

/// Reads a URL with a host and an allowed protocol.
pub(super) fn parse_url(
    text: &str,
    role: &'static str,
    protocols: &[String],
) -> Result<Url, ReplicateError> {
    let refused = || ReplicateError::Url { role };
    let url = Url::parse(text).map_err(|_| refused())?;
    let allowed = protocols.iter().any(|protocol| protocol == url.scheme());
    match allowed && url.has_host() {
        true => Ok(url),
        false => Err(refused()),
    }
}

/// Moves name and password out of a URL.
fn take_login(url: &mut Url) -> Option<Login> {
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let login = Login {
        user: plain(url.username()),
        password: plain(url.password().unwrap_or_default()),
    };
    let has_login = !login.user.is_empty() || url.password().is_some();
    // A URL with a host can lose both.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    has_login.then_some(login)
}

/// `auth.basic` of an endpoint.
fn basic_member(members: &Object) -> Option<Login> {
    let basic = members.get("auth")?.get("basic")?;
    let text = |name: &str| basic.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Login {
        user: text("username")?,
        password: text("password")?,
    })
}

fn basic_header(value: &str) -> Option<Login> {
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let plain = STANDARD.decode(encoded.trim()).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let (user, password) = plain.split_once(':')?;
    Some(Login {
        user: user.to_owned(),
        password: password.to_owned(),
    })
}

/// Headers by which a connection tells where a request ends: those are not the user's to set.
const OF_THE_CONNECTION: [&str; 6] = [
    "connection",
    "content-length",
    "expect",
    "te",
    "transfer-encoding",
    "upgrade",
];

fn read_headers(members: &Object) -> Result<Vec<(String, String)>, ReplicateError> {
    let members = match members.get("headers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(members)) => members,
        Some(_) => {
            return Err(ReplicateError::Parameter {
                name: "headers",
                expected: "an object",
            });
        }
    };
    let mut headers = Vec::with_capacity(members.len());
    for (name, value) in members.iter() {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let fits = |text: &&str| {
            text.bytes()
                .all(|byte| byte == b'\t' || !byte.is_ascii_control())
        };
        let value = value.as_str().filter(fits);
        let is_free = |name: &str| {
            !OF_THE_CONNECTION
                .iter()
                .any(|own| name.eq_ignore_ascii_case(own))
        };
        match value {
            Some(value) if !name.is_empty() && name.bytes().all(is_token) && is_free(name) => {
                headers.push((name.to_owned(), value.to_owned()));
            }
            _ => {
                return Err(ReplicateError::Header {
                    name: name.to_owned(),
                });
            }
        }
    }
    headers.sort();
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Result<Endpoint, ReplicateError> {
        let value = varve_json::parse(text.as_bytes()).unwrap();
        let protocols = ["http", "https"].map(str::to_owned);
        Endpoint::parse(Some(&value), None, &protocols)
    }

    #[test]
    fn a_login_is_found_wherever_it_stands_and_is_no_part_of_the_url() {
        for text in [
            r#""http://ada:s%3Acret@db.test:81/notes""#,
            r#"{"url":"http://db.test:81/notes","auth":{"basic":{"username":"ada","password":"s:cret"}}}"#,
            r#"{"url":"http://db.test:81/notes/","headers":{"authorization":"Basic YWRhOnM6Y3JldA=="}}"#,
        ] {
            let found = endpoint(text).unwrap();
            assert_eq!(found.shown(), "http://db.test:81/notes/", "{text}");
            let login = found.login.unwrap();
            assert_eq!(
                (&*login.user, &*login.password),
                ("ada", "s:cret"),
                "{text}"
            );
            assert!(found.headers.is_empty(), "{text}");
            assert!(!format!("{login:?}").contains("cret"));
        }
        let token = r#"{"url":"https://h/d?x=1","headers":{"Authorization":"Bearer a","A":"b"}}"#;
        let found = endpoint(token).unwrap();
        assert_eq!(found.shown(), "https://h/d?x=1");
        assert_eq!((found.login, found.headers.len()), (None, 2));
    }

    #[test]
    fn endpoints_that_are_none_are_refused_in_the_peers_words() {
        for (text, reason) in [
            (r#""notes""#, "local_endpoints_not_supported"),
            (r#""ftp://h/notes""#, "endpoint has an invalid url"),
            (r#"{"url":"notes"}"#, "endpoint has an invalid url"),
            (r#"{"url":1}"#, "endpoint has an invalid url"),
            ("null", "Missing replicator database"),
            ("[1]", "Missing replicator database"),
            (
                r#"{"url":"http://h/d","headers":{"a b":"c"}}"#,
                "invalid header \"a b\"",
            ),
            (
                r#"{"url":"http://h/d","headers":{"a":"c\nd"}}"#,
                "invalid header \"a\"",
            ),
            (
                r#"{"url":"http://h/d","headers":{"Content-Length":"7"}}"#,
                "invalid header \"Content-Length\"",
            ),
        ] {
            assert_eq!(endpoint(text).unwrap_err().to_string(), reason, "{text}");
        }
    }

    #[test]
    fn usual_ports_do_not_count() {
        let port = |text: &str| endpoint(&format!("\"{text}\"")).unwrap().unusual_port();
        assert_eq!(port("http://h/d"), None);
        assert_eq!(port("http://h:5984/d"), None);
        assert_eq!(port("https://h:5984/d"), Some(5984));
        assert_eq!(port("https://h:443/d"), None);
        assert_eq!(port("http://h:81/d"), Some(81));
    }
}
