//! The `AuthSession` cookie.
//!
//! ```text
//! base64url( NAME ":" TIME ":" SIGNATURE )
//!   TIME       seconds since 1970 when it was made, in hexadecimal
//!   SIGNATURE  HMAC of NAME ":" TIME; key: the server's secret, then the user's salt
//! ```
//! A new cookie is signed with the first of `[chttpd_auth] hash_algorithms`, any of them may have signed an older one.

use crate::auth::signature::{length, sign};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use varve_config::{HashAlgorithm, SameSite};

/// Name of the cookie.
pub(crate) const NAME: &str = "AuthSession";

/// Claims of a cookie, not to be trusted before [`Claim::is_signed`] confirms them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The user's name.
    pub(crate) name: String,
    /// When the cookie was made, in seconds since 1970.
    pub(crate) made: u64,
    signed: String,
    signature: Vec<u8>,
    algorithm: HashAlgorithm,
}

/// The cookie's value for a user from now on.
pub(crate) fn make(
    name: &str,
    now: u64,
    (algorithm, secret, salt): (HashAlgorithm, &str, &str),
) -> String {
    let mut plain = format!("{name}:{now:X}").into_bytes();
    let signature = sign(algorithm, &key(secret, salt), &plain);
    plain.push(b':');
    plain.extend_from_slice(&signature);
    URL_SAFE_NO_PAD.encode(plain)
}

impl Claim {
    /// Takes a cookie's value apart that one of the algorithms may have signed; `None` if it is malformed.
    pub(crate) fn parse(value: &str, algorithms: &[HashAlgorithm]) -> Option<Claim> {
        let plain = URL_SAFE_NO_PAD.decode(value.trim_end_matches('=')).ok()?;
        let mut algorithms = algorithms.iter();
        algorithms.find_map(|algorithm| Claim::signed_by(*algorithm, &plain))
    }

    fn signed_by(algorithm: HashAlgorithm, plain: &[u8]) -> Option<Claim> {
        // The signature is binary and may itself hold a colon, so it is taken by its length.
        let colon = plain.len().checked_sub(length(algorithm) + 1)?;
        if plain[colon] != b':' {
            return None;
        }
        let signed = std::str::from_utf8(&plain[..colon]).ok()?;
        let (name, time) = signed.rsplit_once(':')?;
        Some(Claim {
            name: name.to_owned(),
            made: u64::from_str_radix(time, 16).ok()?,
            signed: signed.to_owned(),
            signature: plain[colon + 1..].to_vec(),
            algorithm,
        })
    }

    /// Whether this server signed it for this user.
    pub(crate) fn is_signed(&self, secret: &str, salt: &str) -> bool {
        let right = sign(self.algorithm, &key(secret, salt), self.signed.as_bytes());
        bool::from(right.ct_eq(&self.signature))
    }
}

fn key(secret: &str, salt: &str) -> Vec<u8> {
    [secret.as_bytes(), salt.as_bytes()].concat()
}

/// How browsers treat a cookie.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    /// Seconds for which a browser keeps it when it is closed; `None` lets it forget the cookie then.
    pub(crate) keep: Option<u64>,
    pub(crate) domain: Option<String>,
    pub(crate) same_site: SameSite,
}

/// A `Set-Cookie` header's value. A cookie that comes over TLS is never sent without it.
pub(crate) fn header(value: &str, now: u64, attributes: &Attributes, is_secure: bool) -> String {
    let kept = attributes.keep.map(|seconds| {
        let expires = date(now.saturating_add(seconds));
        format!(" Expires={expires}; Max-Age={seconds};")
    });
    let kept = kept.unwrap_or_default();
    let secure = if is_secure { " Secure;" } else { "" };
    let domain = attributes.domain.as_ref();
    let domain = domain.map_or_else(String::new, |name| format!(" Domain={name};"));
    let same_site = match attributes.same_site {
        SameSite::Strict => "Strict",
        SameSite::Lax => "Lax",
        SameSite::None => "None",
    };
    format!(
        "{NAME}={value}; Version=1;{kept}{secure}{domain} Path=/; HttpOnly; SameSite={same_site}"
    )
}

/// `Fri, 20-Nov-2026 16:57:21 GMT`.
fn date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let weekday = DAYS[usize::try_from(days % 7).unwrap_or(0)];
    let (year, month, day) = civil(days);
    let month = MONTHS[month - 1];
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{weekday}, {day:02}-{month}-{year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    days %= 146_097 * 20; // eight thousand years, so that no clock makes this long
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [HashAlgorithm; 2] = [HashAlgorithm::Sha256, HashAlgorithm::Sha1];

    #[test]
    fn a_cookie_of_couchdb_is_taken_apart() {
        let value = "YWRtOjZCMDA3OTk5OjpZHNFwv9vK7chTvQiwF9kwGQNB5IcITqb0Oykv5yjW";
        let claim = Claim::parse(value, &BOTH).unwrap();
        assert_eq!((claim.name.as_str(), claim.made), ("adm", 0x6b00_7999));
        assert!(!claim.is_signed("secret", "salt"));
    }

    #[test]
    fn only_the_right_key_makes_a_cookie_good() {
        for algorithm in BOTH {
            let value = make("a:b", 0x6b00_7999, (algorithm, "secret", "salt"));
            let claim = Claim::parse(&value, &BOTH).unwrap();
            assert_eq!((claim.name.as_str(), claim.made), ("a:b", 0x6b00_7999));
            assert!(claim.is_signed("secret", "salt"));
            assert!(!claim.is_signed("secret", "other"));
            let other = Claim::parse(&value, &[HashAlgorithm::Sha512]);
            assert_eq!(other, None);
        }
        let value = make("a:b", 0x6b00_7999, (BOTH[0], "secret", "salt"));
        for broken in [
            "",
            "x",
            "%%%",
            "YWRt",
            &value[1..],
            &value[..value.len() - 4],
        ] {
            let good =
                Claim::parse(broken, &BOTH).is_some_and(|claim| claim.is_signed("secret", "salt"));
            assert!(!good, "{broken:?}");
        }
    }

    #[test]
    fn headers_have_couchdbs_form() {
        let mut attributes = Attributes {
            keep: Some(600),
            domain: None,
            same_site: SameSite::Lax,
        };
        assert_eq!(
            header("", 1_795_193_241 - 600, &attributes, false),
            "AuthSession=; Version=1; Expires=Fri, 20-Nov-2026 16:47:21 GMT; Max-Age=600; Path=/; \
             HttpOnly; SameSite=Lax"
        );
        attributes = Attributes {
            keep: None,
            domain: Some("a.test".to_owned()),
            same_site: SameSite::None,
        };
        assert_eq!(
            header("v", 0, &attributes, true),
            "AuthSession=v; Version=1; Secure; Domain=a.test; Path=/; HttpOnly; SameSite=None"
        );
        assert_eq!(date(951_782_400), "Tue, 29-Feb-2000 00:00:00 GMT");
        assert_eq!(date(0), "Thu, 01-Jan-1970 00:00:00 GMT");
    }
}
