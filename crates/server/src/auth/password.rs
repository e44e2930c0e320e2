//! Stored passwords in CouchDB's spelling, so that an `[admins]` section can move either way.
//!
//! ```text
//! -pbkdf2:sha256-DERIVED,SALT,ITERATIONS     derived key of 32 bytes in hexadecimal
//! -pbkdf2-DERIVED,SALT,ITERATIONS            the older form with SHA-1, 20 bytes
//! ```
//! The salt is used as the text that stands there.

use crate::ServerError;
use hmac::Hmac;
use sha1::Sha1;
use sha2::Sha256;
use subtle::ConstantTimeEq;

const SHA256_PREFIX: &str = "-pbkdf2:sha256-";
const SHA1_PREFIX: &str = "-pbkdf2-";
const SHA256_LEN: usize = 32;
const SHA1_LEN: usize = 20;
/// Bytes of new salts, before they are written in hexadecimal.
const SALT_LEN: usize = 16;

/// A password's derived key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    derived: Vec<u8>,
    salt: String,
    iterations: u32,
}

impl Stored {
    /// Reads one of the two forms; `None` means that the text is a plain password.
    pub(crate) fn parse(text: &str) -> Option<Stored> {
        let (rest, len) = if let Some(rest) = text.strip_prefix(SHA256_PREFIX) {
            (rest, SHA256_LEN)
        } else {
            (text.strip_prefix(SHA1_PREFIX)?, SHA1_LEN)
        };
        let mut parts = rest.splitn(3, ',');
        let derived = from_hex(parts.next()?)?;
        let salt = parts.next()?.to_owned();
        let iterations = parts.next()?.trim().parse().ok().filter(|&n| n > 0)?;
        (derived.len() == len).then_some(Stored {
            derived,
            salt,
            iterations,
        })
    }

    /// Whether this is the password. Takes as long as the iterations ask for: never on a thread
    /// that serves others.
    pub(crate) fn verify(&self, password: &str) -> bool {
        let mut derived = vec![0; self.derived.len()];
        let derive = if derived.len() == SHA1_LEN {
            pbkdf2::pbkdf2::<Hmac<Sha1>>
        } else {
            pbkdf2::pbkdf2::<Hmac<Sha256>>
        };
        let done = derive(
            password.as_bytes(),
            self.salt.as_bytes(),
            self.iterations,
            &mut derived,
        );
        done.is_ok() && bool::from(derived.ct_eq(&self.derived))
    }

    /// The salt, which also goes into the signatures of this user's cookies, so that a new
    /// password ends their sessions.
    pub(crate) fn salt(&self) -> &str {
        &self.salt
    }
}

/// The stored form of a new password.
///
/// # Errors
/// [`ServerError::Random`].
pub(crate) fn hash(password: &str, iterations: u32) -> Result<String, ServerError> {
    let salt = random_hex(SALT_LEN)?;
    let mut derived = [0; SHA256_LEN];
    // HMAC takes keys of any length, so this cannot fail.
    let _ = pbkdf2::pbkdf2::<Hmac<Sha256>>(
        password.as_bytes(),
        salt.as_bytes(),
        iterations,
        &mut derived,
    );
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
