//! One-time codes by time (RFC 6238), which users have besides their passwords, in CouchDB's form:
//!
//! ```text
//! "totp": {"key": BASE32, "algorithm": "sha", "sha256" or "sha512", "length": digits}
//! ```
//! `algorithm` is `sha` and `length` 6 where they are left out. A code changes every 30 s; the one before and the one after
//! are taken too.

use crate::auth::signature::sign;
use subtle::ConstantTimeEq;
use varve_config::HashAlgorithm;
use varve_json::{Object, Value};

/// How long a code is good, in seconds.
const STEP: u64 = 30;
/// Digits of a code; its number has 31 bits.
const LENGTHS: std::ops::RangeInclusive<u64> = 6..=9;

/// The second factor of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecondFactor {
    /// The password is enough.
    None,
    /// A code is needed, too.
    Totp(Totp),
    /// The document says so in a form that is not known: no code is right.
    Unusable,
}

/// Key and form of a user's codes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Totp {
    key: Vec<u8>,
    algorithm: HashAlgorithm,
    length: usize,
}

impl std::fmt::Debug for Totp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is a secret.
        write!(f, "Totp({:?}, {} digits)", self.algorithm, self.length)
    }
}

impl SecondFactor {
    /// Reads the member `totp` of a user's document.
    pub(crate) fn of_document(document: &Object) -> SecondFactor {
        match document.get("totp") {
            None => SecondFactor::None,
            Some(Value::Object(totp)) => {
                Totp::read(totp).map_or(SecondFactor::Unusable, SecondFactor::Totp)
            }
            Some(_) => SecondFactor::Unusable,
        }
    }

    /// Whether a login with this code, or without one, may go on at this time, in seconds since 1970.
    pub(super) fn accepts(&self, token: Option<&str>, now: u64) -> bool {
        match (self, token) {
            (SecondFactor::None, _) => true,
            (SecondFactor::Totp(totp), Some(token)) => totp.accepts(token, now),
            (SecondFactor::Totp(_), None) | (SecondFactor::Unusable, _) => false,
        }
    }
}

impl Totp {
    fn read(totp: &Object) -> Option<Totp> {
        let key = totp.get("key").and_then(Value::as_str)?;
        let key = from_base32(key).filter(|key| !key.is_empty())?;
        let algorithm = match totp.get("algorithm").map(Value::as_str) {
            None | Some(Some("sha")) => HashAlgorithm::Sha1,
            Some(Some("sha256")) => HashAlgorithm::Sha256,
            Some(Some("sha512")) => HashAlgorithm::Sha512,
            Some(_) => return None,
        };
        let length = match totp.get("length") {
            None => 6,
            Some(length) => length.as_u64().filter(|length| LENGTHS.contains(length))?,
        };
        Some(Totp {
            key,
            algorithm,
            length: usize::try_from(length).ok()?,
        })
    }

    fn accepts(&self, token: &str, now: u64) -> bool {
        let step = now / STEP;
        let codes = [step.saturating_sub(1), step, step + 1].map(|step| self.code(step));
        // Each is compared, so that the time does not tell which one was nearly right.
        let right = codes.map(|code| bool::from(code.as_bytes().ct_eq(token.as_bytes())));
        right.contains(&true)
    }

    /// The code of a step (RFC 4226, section 5.3).
    fn code(&self, step: u64) -> String {
        let signed = sign(self.algorithm, &self.key, &step.to_be_bytes());
        let at = usize::from(signed.last().copied().unwrap_or_default() & 0xf);
        let bytes = signed.get(at..).and_then(<[u8]>::first_chunk::<4>);
        let number = u32::from_be_bytes(bytes.copied().unwrap_or_default()) & 0x7fff_ffff;
        let length = self.length;
        let modulus = 10u64.pow(u32::try_from(length).unwrap_or(9));
        format!("{:0length$}", u64::from(number) % modulus)
    }
}

/// Bytes of a text in Base 32 (RFC 4648), in letters of either case, with or without its padding.
fn from_base32(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            number @ b'2'..=b'7' => number - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 & 0xfff | u32::from(digit);
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(json: &str) -> SecondFactor {
        let document = format!("{{\"totp\":{json}}}");
        SecondFactor::of_document(&varve_json::parse_object(document.as_bytes()).unwrap())
    }

    /// The test vectors of RFC 6238, appendix B.
    #[test]
    fn codes_are_those_of_the_standard() {
        let sha = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        let sha256 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA====";
        let sha512 = format!("{}GEZDGNA=", "GEZDGNBVGY3TQOJQ".repeat(6));
        for (algorithm, key, time, code) in [
            ("sha", sha, 59, "94287082"),
            ("sha", sha, 1_111_111_109, "07081804"),
            ("sha", sha, 20_000_000_000, "65353130"),
            ("sha256", sha256, 59, "46119246"),
            ("sha256", sha256, 1_111_111_111, "67062674"),
            ("sha512", sha512.as_str(), 59, "90693936"),
            ("sha512", sha512.as_str(), 2_000_000_000, "38618901"),
        ] {
            let json = format!(r#"{{"key":"{key}","algorithm":"{algorithm}","length":8}}"#);
            let factor = factor(&json);
            let at = |time| factor.accepts(Some(code), time);
            assert!(at(time) && at(time + 30) && at(time - 30), "{json} {code}");
            assert!(!at(time + 90), "{json} {code}");
            assert!(time < 90 || !at(time - 90), "{json} {code}");
        }
        let usual = factor(&format!(r#"{{"key":"{sha}"}}"#));
        assert!(usual.accepts(Some("287082"), 59));
        assert!(!usual.accepts(Some("94287082"), 59));
        assert!(!usual.accepts(None, 59) && !usual.accepts(Some(""), 59));
    }

    #[test]
    fn a_second_factor_in_an_unknown_form_lets_no_one_in() {
        for json in [
            "null",
            "true",
            "{}",
            r#"{"key":""}"#,
            r#"{"key":"1"}"#,
            r#"{"key":"MFRGG","algorithm":"md5"}"#,
            r#"{"key":"MFRGG","algorithm":1}"#,
            r#"{"key":"MFRGG","length":5}"#,
            r#"{"key":"MFRGG","length":10}"#,
        ] {
            assert_eq!(factor(json), SecondFactor::Unusable, "{json}");
            assert!(!factor(json).accepts(None, 0) && !factor(json).accepts(Some(""), 0));
        }
        assert_eq!(
            SecondFactor::of_document(&Object::new()),
            SecondFactor::None
        );
        assert_eq!(from_base32("mzxw6ytb"), Some(b"fooba".to_vec()));
        assert_eq!(from_base32("MZXW6YTBOI======"), Some(b"foobar".to_vec()));
    }
}
