//! `[chttpd_auth]`: cookies, and how passwords are stored.

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
    })
}

fn known_prf(setting: &Setting) -> Result<String, ConfigError> {
    match setting.value.as_str() {
        known @ ("sha" | "sha224" | "sha256" | "sha384" | "sha512") => Ok(known.to_owned()),
        _ => Err(setting.refuse("sha, sha224, sha256, sha384 or sha512")),
    }
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
