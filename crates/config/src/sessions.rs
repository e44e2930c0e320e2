//! `[chttpd_auth]`: cookies, how passwords are stored, and which ways to log in there are.

use crate::setting::or;
use crate::{ConfigError, Ini, Setting};
use std::time::Duration;

/// `[chttpd_auth]`, by its older name `[couch_httpd_auth]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// `timeout`: how long a cookie is good without being used; default 600 s.
    pub timeout: Duration,
    /// `secret`: key of the cookies' signatures; made at the first start.
    pub secret: Option<String>,
    /// `iterations` of PBKDF2 for new hashes; default 600,000.
    pub iterations: u32,
    /// `pbkdf2_prf` of new hashes of users; default `sha256`.
    pub prf: String,
    /// `allow_persistent_cookies`: whether browsers keep the cookie when they close; default true.
    pub persistent: bool,
    /// `same_site`: whether requests that pages of other sites make carry the cookie; default `lax`.
    pub same_site: SameSite,
    /// `cookie_domain`: the cookie is sent to all hosts below this name; default none.
    pub domain: Option<String>,
    /// `hash_algorithms` of cookies and of tokens from a proxy; new cookies get the first; default `sha256, sha`.
    pub hash_algorithms: Vec<HashAlgorithm>,
    /// `[chttpd] authentication_handlers`, in the order in which they are asked; default cookie, then basic.
    pub handlers: Vec<LoginHandler>,
    /// Logins that a proxy vouches for.
    pub proxy: ProxyLogin,
}

/// The hash function of a signature with a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashAlgorithm {
    /// `sha`: SHA-1.
    Sha1,
    /// `sha224`.
    Sha224,
    /// `sha256`.
    Sha256,
    /// `sha384`.
    Sha384,
    /// `sha512`.
    Sha512,
}

/// A way to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginHandler {
    /// The cookie of a session.
    Cookie,
    /// `Authorization: Basic`.
    Default,
    /// Headers of a proxy.
    Proxy,
    /// `Authorization: Bearer` with a JSON Web Token.
    Jwt,
}

impl LoginHandler {
    const ALL: [LoginHandler; 4] = [
        LoginHandler::Cookie,
        LoginHandler::Default,
        LoginHandler::Proxy,
        LoginHandler::Jwt,
    ];

    /// Its name in answers; the setting's is this one followed by `_authentication_handler`.
    pub fn name(self) -> &'static str {
        match self {
            LoginHandler::Cookie => "cookie",
            LoginHandler::Default => "default",
            LoginHandler::Proxy => "proxy",
            LoginHandler::Jwt => "jwt",
        }
    }

    fn named(name: &str) -> Option<LoginHandler> {
        let short = name.strip_suffix("_authentication_handler")?;
        LoginHandler::ALL
            .into_iter()
            .find(|handler| handler.name() == short)
    }
}

/// The headers in which a proxy names a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyLogin {
    /// `proxy_use_secret`: whether the name needs a token made with `secret`; default false.
    pub use_secret: bool,
    /// `x_auth_username`: header of the name.
    pub username: String,
    /// `x_auth_roles`: header of the roles, between commas.
    pub roles: String,
    /// `x_auth_token`: header of the token.
    pub token: String,
}

/// The attribute `SameSite` of the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// No request from another site carries it.
    Strict,
    /// Only following a link carries it.
    Lax,
    /// All requests carry it; browsers take it under TLS only.
    None,
}

/// # Errors
/// The first value that is not of its type.
pub(crate) fn read(ini: &Ini) -> Result<Sessions, ConfigError> {
    let auth = |key| {
        let newer = ini.get("chttpd_auth", key);
        newer.or_else(|| ini.get("couch_httpd_auth", key))
    };
    let iterations = or(auth("iterations"), |s| s.number(1..=10_000_000), 600_000)?;
    Ok(Sessions {
        timeout: or(auth("timeout"), Setting::seconds, Duration::from_secs(600))?,
        secret: auth("secret").map(|setting| setting.value.clone()),
        iterations: u32::try_from(iterations).unwrap_or(u32::MAX),
        prf: or(auth("pbkdf2_prf"), known_prf, "sha256".to_owned())?,
        persistent: or(auth("allow_persistent_cookies"), Setting::boolean, true)?,
        same_site: or(auth("same_site"), same_site, SameSite::Lax)?,
        domain: auth("cookie_domain").map(domain).transpose()?,
        hash_algorithms: or(
            auth("hash_algorithms"),
            hash_algorithms,
            vec![HashAlgorithm::Sha256, HashAlgorithm::Sha1],
        )?,
        handlers: or(
            ini.get("chttpd", "authentication_handlers"),
            handlers,
            vec![LoginHandler::Cookie, LoginHandler::Default],
        )?,
        proxy: ProxyLogin {
            use_secret: or(auth("proxy_use_secret"), Setting::boolean, false)?,
            username: header(auth("x_auth_username"), "X-Auth-CouchDB-UserName")?,
            roles: header(auth("x_auth_roles"), "X-Auth-CouchDB-Roles")?,
            token: header(auth("x_auth_token"), "X-Auth-CouchDB-Token")?,
        },
    })
}

/// Tuples such as `{chttpd_auth, cookie_authentication_handler}` between commas.
fn handlers(setting: &Setting) -> Result<Vec<LoginHandler>, ConfigError> {
    const EXPECTED: &str = "a list of {chttpd_auth, NAME}, where NAME is cookie_authentication_handler, \
                            default_authentication_handler, proxy_authentication_handler or \
                            jwt_authentication_handler";
    let tuples = setting.value.split_inclusive('}').map(str::trim);
    let tuples = tuples.filter(|tuple| !tuple.is_empty());
    let read = tuples.map(|tuple| {
        let tuple = tuple.trim_start_matches(',').trim_start();
        let inside = tuple.strip_prefix('{')?.strip_suffix('}')?;
        let (module, name) = inside.split_once(',')?;
        let is_couchdbs = ["chttpd_auth", "couch_httpd_auth"].contains(&module.trim());
        is_couchdbs.then(|| LoginHandler::named(name.trim()))?
    });
    let read: Option<Vec<_>> = read.collect();
    let read = read.filter(|handlers| !handlers.is_empty());
    read.ok_or_else(|| setting.refuse(EXPECTED))
}

fn header(setting: Option<&Setting>, usual: &str) -> Result<String, ConfigError> {
    let is_name = |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        !text.is_empty() && text.chars().all(fits)
    };
    match setting {
        Some(setting) if !is_name(&setting.value) => Err(setting.refuse("the name of a header")),
        Some(setting) => Ok(setting.value.clone()),
        None => Ok(usual.to_owned()),
    }
}

fn known_prf(setting: &Setting) -> Result<String, ConfigError> {
    match setting.value.as_str() {
        known @ ("sha" | "sha224" | "sha256" | "sha384" | "sha512") => Ok(known.to_owned()),
        _ => Err(setting.refuse("sha, sha224, sha256, sha384 or sha512")),
    }
}

fn hash_algorithms(setting: &Setting) -> Result<Vec<HashAlgorithm>, ConfigError> {
    let names = setting.list();
    let named = names.iter().map(|name| match name.as_str() {
        "sha" => Some(HashAlgorithm::Sha1),
        "sha224" => Some(HashAlgorithm::Sha224),
        "sha256" => Some(HashAlgorithm::Sha256),
        "sha384" => Some(HashAlgorithm::Sha384),
        "sha512" => Some(HashAlgorithm::Sha512),
        _ => None,
    });
    let named: Option<Vec<_>> = named.collect();
    let named = named.filter(|named| !named.is_empty());
    named.ok_or_else(|| setting.refuse("a list of sha, sha224, sha256, sha384 and sha512"))
}

fn same_site(setting: &Setting) -> Result<SameSite, ConfigError> {
    match setting.value.to_ascii_lowercase().as_str() {
        "strict" => Ok(SameSite::Strict),
        "lax" => Ok(SameSite::Lax),
        "none" => Ok(SameSite::None),
        _ => Err(setting.refuse("strict, lax or none")),
    }
}

/// A name that cannot end the attribute in which it stands.
fn domain(setting: &Setting) -> Result<String, ConfigError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-.:".contains(c);
    match setting.value.chars().all(fits) {
        true => Ok(setting.value.clone()),
        false => Err(setting.refuse("a domain name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn sessions(text: &str) -> Result<Sessions, String> {
        let ini = Ini::parse(Path::new("varve.ini"), &format!("[chttpd_auth]\n{text}")).unwrap();
        read(&ini).map_err(|error| error.to_string())
    }

    #[test]
    fn the_ways_to_log_in_are_asked_in_the_order_given() {
        let handlers = |text: &str| {
            let text = format!("[chttpd]\nauthentication_handlers = {text}");
            let ini = Ini::parse(Path::new("varve.ini"), &text).unwrap();
            read(&ini)
                .map(|sessions| sessions.handlers)
                .map_err(|error| error.to_string())
        };
        let both = "{chttpd_auth, proxy_authentication_handler},{couch_httpd_auth,cookie_authentication_handler}";
        assert_eq!(
            handlers(both),
            Ok(vec![LoginHandler::Proxy, LoginHandler::Cookie])
        );
        let usual = vec![LoginHandler::Cookie, LoginHandler::Default];
        assert_eq!(sessions("").unwrap().handlers, usual);
        for wrong in [
            "{chttpd_auth, null_authentication_handler}",
            "{other, cookie_authentication_handler}",
            "cookie",
            "{chttpd_auth, cookie_authentication_handler} x",
        ] {
            let told = handlers(wrong).unwrap_err();
            assert!(told.contains("{chttpd_auth, NAME}"), "{told}");
        }
        assert!(sessions("x_auth_roles = a b").is_err());
        let algorithms = sessions("hash_algorithms = sha512,sha").unwrap();
        let expected = [HashAlgorithm::Sha512, HashAlgorithm::Sha1];
        assert_eq!(algorithms.hash_algorithms, expected);
        assert!(sessions("hash_algorithms = md5").is_err());
    }

    #[test]
    fn cookies_stay_on_their_site_unless_the_settings_say_otherwise() {
        let same_site = |text: &str| sessions(text).map(|sessions| sessions.same_site);
        assert_eq!(same_site(""), Ok(SameSite::Lax));
        assert_eq!(same_site("same_site = Strict"), Ok(SameSite::Strict));
        assert_eq!(same_site("same_site = none"), Ok(SameSite::None));
        let told = same_site("same_site = any").unwrap_err();
        assert!(
            told.ends_with("same_site must be strict, lax or none, not \"any\""),
            "{told}"
        );
        let domain = sessions("cookie_domain = .example.com").unwrap().domain;
        assert_eq!(domain.as_deref(), Some(".example.com"));
        assert!(sessions("cookie_domain = a;b").is_err());
    }
}
