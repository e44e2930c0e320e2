//! One side of a replication: a database by its URL.

use crate::ReplicateError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
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
    /// Headers by which the user of [`AskedServer`] is known. They change with each session, so they are no part of a
    /// replication's identity.
    pub proof: Vec<(String, String)>,
    /// The URL of a proxy.
    pub proxy: Option<Url>,
}

/// The server that was asked to replicate: names without a URL are those of its databases.
#[derive(Clone, Debug)]
pub struct AskedServer {
    /// The URL of its root, with a slash at the end.
    pub url: Url,
    /// `Authorization` and `Cookie` of the request, as far as it has them.
    pub proof: Vec<(String, String)>,
}

/// Characters that are escaped in the name of a database, the slash among them.
const IN_NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

impl AskedServer {
    fn url_of(&self, name: &str) -> String {
        format!("{}{}", self.url, utf8_percent_encode(name, IN_NAME))
    }
}

impl Endpoint {
    /// Reads the text of a URL, which may have a name and a password.
    ///
    /// # Errors
    /// [`ReplicateError::Url`] for another protocol than `protocols` have, or without a host.
    pub fn from_url(text: &str, protocols: &[String]) -> Result<Endpoint, ReplicateError> {
        Endpoint::parse(Some(&Value::from(text)), None, protocols, None)
    }

    /// Reads the text of a URL, or `{"url": …, "headers": {…}, "auth": {"basic": {…}}}`. In place of a URL may stand the
    /// name of a database of `here`; unless it comes with a login of its own, it is used with the rights of the user who asked.
    ///
    /// # Errors
    /// [`ReplicateError::NoEndpoint`], [`ReplicateError::LocalEndpoint`], [`ReplicateError::Url`],
    /// [`ReplicateError::Header`].
    pub(super) fn parse(
        value: Option<&Value>,
        proxy: Option<Url>,
        protocols: &[String],
        here: Option<&AskedServer>,
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
        let here = here.filter(|_| !text.is_empty() && !text.contains("://"));
        if here.is_none() && members.is_none() && !text.contains("://") {
            return Err(ReplicateError::LocalEndpoint);
        }
        let named = here.map(|here| here.url_of(text));
        let mut url = parse_url(named.as_deref().unwrap_or(text), "endpoint", protocols)?;
        let mut login = take_login(&mut url);
        let mut headers = Vec::new();
        if let Some(members) = members {
            headers = read_headers(members)?;
            login = login.or_else(|| basic_member(members));
        }
        let by_header = take_basic(&mut headers);
        login = login.or(by_header);
        let mut proof = Vec::new();
        if let Some(here) = here.filter(|_| login.is_none() && !headers.iter().any(is_proof)) {
            proof.clone_from(&here.proof);
            login = take_basic(&mut proof);
        }
        if url.query().is_none() && !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Endpoint {
            url,
            login,
            headers,
            proof,
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

/// Removes `Authorization` from headers if it has a name and a password.
fn take_basic(headers: &mut Vec<(String, String)>) -> Option<Login> {
    let found = headers.iter().enumerate().find_map(|(at, (name, value))| {
        let is_named = name.eq_ignore_ascii_case("authorization");
        basic_header(value)
            .filter(|_| is_named)
            .map(|login| (at, login))
    });
    let (at, login) = found?;
    headers.remove(at);
    Some(login)
}

/// True if a header tells who sends a request.
fn is_proof((name, _): &(String, String)) -> bool {
    ["authorization", "cookie"]
        .iter()
        .any(|proof| name.eq_ignore_ascii_case(proof))
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
        Endpoint::parse(Some(&value), None, &protocols, None)
    }

    fn named(text: &str, proof: &[(&str, &str)]) -> Endpoint {
        let value = varve_json::parse(text.as_bytes()).unwrap();
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let here = AskedServer {
            url: Url::parse("http://127.0.0.1:6201/").unwrap(),
            proof: proof.iter().map(owned).collect(),
        };
        Endpoint::parse(Some(&value), None, &["http".to_owned()], Some(&here)).unwrap()
    }

    #[test]
    fn names_are_databases_of_the_asked_server_with_the_rights_of_its_user() {
        let basic = ("authorization", "Basic YWRhOnM6Y3JldA==");
        let found = named(r#""a/b+c""#, &[basic, ("cookie", "AuthSession=x")]);
        assert_eq!(found.shown(), "http://127.0.0.1:6201/a%2Fb%2Bc/");
        assert_eq!(found.login.unwrap().user, "ada");
        assert_eq!(
            found.proof,
            [("cookie".to_owned(), "AuthSession=x".to_owned())]
        );
        let bearer = named(r#"{"url":"notes"}"#, &[("authorization", "Bearer t")]);
        assert_eq!((bearer.login, bearer.proof.len()), (None, 1));
        assert_eq!(bearer.url.as_str(), "http://127.0.0.1:6201/notes/");
    }

    #[test]
    fn a_login_beside_a_name_counts_alone_and_urls_get_none_of_the_user() {
        let basic = ("authorization", "Basic YWRhOnM6Y3JldA==");
        for text in [
            r#"{"url":"notes","auth":{"basic":{"username":"eve","password":"p"}}}"#,
            r#"{"url":"notes","headers":{"Authorization":"Basic ZXZlOnA="}}"#,
        ] {
            let found = named(text, &[basic, ("cookie", "AuthSession=x")]);
            assert_eq!(
                (found.login.unwrap().user.as_str(), found.proof.len()),
                ("eve", 0)
            );
        }
        let cookie = named(
            r#"{"url":"notes","headers":{"Cookie":"AuthSession=y"}}"#,
            &[basic],
        );
        assert_eq!((cookie.login, cookie.proof.len()), (None, 0));
        let elsewhere = named(r#""http://h/notes""#, &[basic]);
        assert_eq!((elsewhere.login, elsewhere.proof.len()), (None, 0));
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
