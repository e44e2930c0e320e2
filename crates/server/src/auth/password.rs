//! Stored passwords in CouchDB's spelling, so that an `[admins]` section and the documents of users can
//! move either way.
//!
//! ```text
//! -pbkdf2:sha256-DERIVED,SALT,ITERATIONS     derived key of 32 bytes in hexadecimal
//! -pbkdf2-DERIVED,SALT,ITERATIONS            the older form with SHA-1, 20 bytes
//!
//! {"password_scheme": "pbkdf2", "pbkdf2_prf": PRF, "derived_key": …, "salt": …, "iterations": …}
//! {"password_scheme": "simple", "password_sha": SHA-1 of password and salt, "salt": …}
//! ```
//! The salt is used as the text that stands there. PRF is `sha`, also where there is none, or `sha224` to
//! `sha512`.

use crate::auth::prf::Prf;
use crate::{Failure, ServerError};
use sha1::Sha1;
use sha2::Digest;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use varve_config::{PasswordScheme, Settings};
use varve_json::{Object, Value};

const SHA256_PREFIX: &str = "-pbkdf2:sha256-";
const SHA1_PREFIX: &str = "-pbkdf2-";
const SHA256_LEN: usize = 32;
const SHA1_LEN: usize = 20;
/// Bytes of new salts, before they are written in hexadecimal.
const SALT_LEN: usize = 16;

/// Members of a user's document that a new password replaces.
const PASSWORD_MEMBERS: [&str; 8] = [
    "password",
    "preserve_salt",
    "password_scheme",
    "password_sha",
    "pbkdf2_prf",
    "salt",
    "iterations",
    "derived_key",
];
/// Longest derived key, in bytes.
const LONGEST_KEY: usize = 64;
/// More rounds than this are not waited for, whatever a document says.
pub(crate) const MOST_ITERATIONS: u32 = 10_000_000;

/// How a password becomes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Pbkdf2(Prf, u32),
    /// SHA-1 of password and salt, as in old documents.
    Simple,
}

/// How new passwords of users are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashing {
    scheme: PasswordScheme,
    prf: Prf,
    iterations: u32,
}

impl Hashing {
    /// As the settings say.
    pub(crate) fn of(settings: &Settings) -> Hashing {
        Hashing {
            scheme: settings.passwords.scheme,
            prf: Prf::named(&settings.sessions.prf).unwrap_or(Prf::Sha256),
            iterations: settings.sessions.iterations,
        }
    }
}

/// A password's derived key. Each request with a login has a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    scheme: Scheme,
    derived: Arc<[u8]>,
    salt: Arc<str>,
}

impl Stored {
    /// Reads one of the two forms of `[admins]`; `None` means that the text is a plain password.
    pub(crate) fn parse(text: &str) -> Option<Stored> {
        let (rest, prf) = if let Some(rest) = text.strip_prefix(SHA256_PREFIX) {
            (rest, Prf::Sha256)
        } else {
            (text.strip_prefix(SHA1_PREFIX)?, Prf::Sha1)
        };
        let mut parts = rest.splitn(3, ',');
        let derived = from_hex(parts.next()?)?;
        let salt = parts.next()?.into();
        let iterations = parts.next()?.trim().parse().ok().filter(|&n| n > 0)?;
        (derived.len() == prf.length()).then_some(Stored {
            scheme: Scheme::Pbkdf2(prf, iterations),
            derived: derived.into(),
            salt,
        })
    }

    /// Reads the password fields of a user's document; `None` if it allows no login.
    pub(crate) fn of_document(document: &Object) -> Option<Stored> {
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        let salt = text("salt")?.into();
        let (scheme, derived) = match text("password_scheme") {
            Some("pbkdf2") => {
                let prf = text("pbkdf2_prf").map_or(Some(Prf::Sha1), Prf::named)?;
                let iterations = document.get("iterations").and_then(Value::as_u64)?;
                let iterations = u32::try_from(iterations).ok();
                let iterations = iterations.filter(|n| (1..=MOST_ITERATIONS).contains(n))?;
                (Scheme::Pbkdf2(prf, iterations), text("derived_key")?)
            }
            Some("simple") | None => (Scheme::Simple, text("password_sha")?),
            Some(_) => return None,
        };
        let derived = from_hex(derived)?;
        (SHA1_LEN..=LONGEST_KEY)
            .contains(&derived.len())
            .then_some(Stored {
                scheme,
                derived: derived.into(),
                salt,
            })
    }

    /// Makes a document's key from a new password, in the members that CouchDB has for it. A salt that is given is kept:
    /// cookies stay good then.
    ///
    /// # Errors
    /// [`ServerError::Random`].
    pub(crate) fn write(
        document: &mut Object,
        password: &str,
        hashing: &Hashing,
        salt: Option<&str>,
    ) -> Result<(), ServerError> {
        let salt = salt.map_or_else(|| random_hex(SALT_LEN), |salt| Ok(salt.to_owned()))?;
        for member in PASSWORD_MEMBERS {
            document.remove(member);
        }
        match hashing.scheme {
            PasswordScheme::Pbkdf2 => {
                let Hashing {
                    prf, iterations, ..
                } = *hashing;
                let mut derived = vec![0; prf.length()];
                prf.derive(password, &salt, iterations, &mut derived);
                let name = Prf::NAMES.iter().find(|known| known.1 == prf);
                document.insert("password_scheme", "pbkdf2");
                document.insert("pbkdf2_prf", name.map_or("", |known| known.0));
                document.insert("salt", salt);
                document.insert("iterations", u64::from(iterations));
                document.insert("derived_key", to_hex(&derived));
            }
            PasswordScheme::Simple => {
                let hash = Sha1::new().chain_update(password).chain_update(&salt);
                document.insert("password_scheme", "simple");
                document.insert("salt", salt);
                document.insert("password_sha", to_hex(&hash.finalize()));
            }
        }
        Ok(())
    }

    /// Whether a new password would be stored in the same way.
    pub(crate) fn is_by(&self, hashing: &Hashing) -> bool {
        match (self.scheme, hashing.scheme) {
            (Scheme::Simple, PasswordScheme::Simple) => true,
            (Scheme::Pbkdf2(prf, iterations), PasswordScheme::Pbkdf2) => {
                (prf, iterations) == (hashing.prf, hashing.iterations)
            }
            _ => false,
        }
    }

    /// Refuses keys of too few or too many rounds for logins.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn check_iterations(&self, low: u32, high: u32) -> Result<(), Failure> {
        let refused = |how| format!("Iteration count is too {how} for this server");
        match self.scheme {
            Scheme::Pbkdf2(_, n) if n < low => Err(Failure::forbidden(refused("low"))),
            Scheme::Pbkdf2(_, n) if n > high => Err(Failure::forbidden(refused("high"))),
            Scheme::Pbkdf2(..) | Scheme::Simple => Ok(()),
        }
    }

    /// Whether this is the password. Takes as long as the iterations ask for: never on a thread
    /// that serves others.
    pub(crate) fn verify(&self, password: &str) -> bool {
        let mut derived = vec![0; self.derived.len()];
        let is_done = match self.scheme {
            Scheme::Pbkdf2(prf, iterations) => {
                prf.derive(password, &self.salt, iterations, &mut derived)
            }
            Scheme::Simple => {
                let hash = Sha1::new().chain_update(password);
                let hash = hash.chain_update(self.salt.as_bytes());
                derived = hash.finalize().to_vec();
                true
            }
        };
        is_done && bool::from(derived.ct_eq(&self.derived))
    }

    /// A password of no user. Checking against it takes as long as a new hash of these settings.
    ///
    /// # Errors
    /// [`ServerError::Random`].
    pub(crate) fn of_unknown_user(iterations: u32) -> Result<Stored, ServerError> {
        let mut derived = vec![0; SHA256_LEN];
        fill_random(&mut derived)?;
        Ok(Stored {
            scheme: Scheme::Pbkdf2(Prf::Sha256, iterations),
            derived: derived.into(),
            salt: random_hex(SALT_LEN)?.into(),
        })
    }

    /// As [`Stored::verify`]; a wrong password takes no less time than one that is checked against `slowest`.
    pub(crate) fn verify_slowly(&self, password: &str, slowest: &Stored) -> bool {
        let is_right = self.verify(password);
        let missing = slowest.iterations().saturating_sub(self.iterations());
        if !is_right && missing > 0 {
            let mut unused = [0; SHA256_LEN];
            Prf::Sha256.derive(password, &slowest.salt, missing, &mut unused);
            std::hint::black_box(unused);
        }
        is_right
    }

    fn iterations(&self) -> u32 {
        match self.scheme {
            Scheme::Pbkdf2(_, iterations) => iterations,
            Scheme::Simple => 0,
        }
    }

    /// The salt, which also goes into the signatures of this user's cookies, so that a new
    /// password ends their sessions.
    pub(crate) fn salt(&self) -> &str {
        &self.salt
    }

    /// Tells this password from the one before it.
    pub(crate) fn derived(&self) -> &[u8] {
        &self.derived
    }
}

/// The stored form of a new password.
///
/// # Errors
/// [`ServerError::Random`].
pub(crate) fn hash(password: &str, iterations: u32) -> Result<String, ServerError> {
    let salt = random_hex(SALT_LEN)?;
    let mut derived = [0; SHA256_LEN];
    Prf::Sha256.derive(password, &salt, iterations, &mut derived);
    Ok(format!(
        "{SHA256_PREFIX}{},{salt},{iterations}",
        to_hex(&derived)
    ))
}

/// Random bytes in hexadecimal.
///
/// # Errors
/// [`ServerError::Random`].
pub(crate) fn random_hex(bytes: usize) -> Result<String, ServerError> {
    let mut random = vec![0; bytes];
    fill_random(&mut random)?;
    Ok(to_hex(&random))
}

/// Fills a buffer with the system's random bytes.
///
/// # Errors
/// [`ServerError::Random`].
pub(crate) fn fill_random(buffer: &mut [u8]) -> Result<(), ServerError> {
    getrandom::fill(buffer).map_err(|source| ServerError::Random { source })
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks_exact(2);
    pairs
        .map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_of_both_forms_verify() {
        // RFC 6070, and the same inputs with SHA-256.
        let sha1 = "-pbkdf2-4b007901b765489abead49d926f721d065a429c1,salt,4096";
        let sha256 = "-pbkdf2:sha256-c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a,salt,4096";
        for text in [sha1, sha256] {
            let stored = Stored::parse(text).unwrap();
            assert!(stored.verify("password"), "{text}");
            assert!(!stored.verify("Password"), "{text}");
        }
    }

    #[test]
    fn documents_of_all_schemes_verify() {
        let read =
            |text: &str| Stored::of_document(&varve_json::parse_object(text.as_bytes()).unwrap());
        // RFC 6070; SHA-1 of `passwordsalt`.
        for text in [
            r#"{"password_scheme":"pbkdf2","derived_key":"4b007901b765489abead49d926f721d065a429c1","salt":"salt","iterations":4096}"#,
            r#"{"password_scheme":"pbkdf2","pbkdf2_prf":"sha","derived_key":"4b007901b765489abead49d926f721d065a429c1","salt":"salt","iterations":4096}"#,
            r#"{"password_scheme":"simple","password_sha":"c88e9c67041a74e0357befdff93f87dde0904214","salt":"salt"}"#,
            r#"{"password_sha":"c88e9c67041a74e0357befdff93f87dde0904214","salt":"salt"}"#,
        ] {
            let stored = read(text).unwrap();
            assert!(stored.verify("password"), "{text}");
            assert!(!stored.verify("Password"), "{text}");
        }
        for text in [
            "{}",
            r#"{"salt":"s","password_sha":""}"#,
            r#"{"salt":"s","password_scheme":"bcrypt","derived_key":"00"}"#,
            r#"{"salt":"s","password_scheme":"pbkdf2","derived_key":"4b007901b765489abead49d926f721d065a429c1","iterations":99999999999}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        for (name, prf, length) in Prf::NAMES {
            let mut document = Object::new();
            document.insert("password", "secret");
            let hashing = Hashing {
                scheme: PasswordScheme::Pbkdf2,
                prf,
                iterations: 3,
            };
            Stored::write(&mut document, "secret", &hashing, None).unwrap();
            assert!(!document.contains("password"));
            let of = |name: &str| document.get(name).and_then(Value::as_str).unwrap();
            assert_eq!(
                (of("pbkdf2_prf"), of("derived_key").len()),
                (name, 2 * length)
            );
            let stored = Stored::of_document(&document).unwrap();
            assert!(stored.verify("secret") && !stored.verify("secrets"));
            assert!(stored.is_by(&hashing));
            let (salt, simple) = (stored.salt().to_owned(), PasswordScheme::Simple);
            let hashing = Hashing {
                scheme: simple,
                ..hashing
            };
            assert!(!stored.is_by(&hashing));
            Stored::write(&mut document, "secret", &hashing, Some(&salt)).unwrap();
            assert!(!document.contains("derived_key") && !document.contains("iterations"));
            let stored = Stored::of_document(&document).unwrap();
            assert!(stored.verify("secret") && stored.salt() == salt && stored.is_by(&hashing));
        }
    }

    #[test]
    fn what_is_hashed_verifies_and_plain_text_is_no_hash() {
        let text = hash("pässword", 3).unwrap();
        let stored = Stored::parse(&text).unwrap();
        assert!(stored.verify("pässword"));
        assert_eq!(stored.salt().len(), 2 * SALT_LEN);
        assert_ne!(hash("pässword", 3).unwrap(), text, "the salt is new");
        for plain in [
            "secret",
            "",
            "-pbkdf2-",
            "-pbkdf2-00,salt,1",
            "-pbkdf2:sha256-zz,s,1",
        ] {
            assert_eq!(Stored::parse(plain), None, "{plain:?}");
        }
    }
}
