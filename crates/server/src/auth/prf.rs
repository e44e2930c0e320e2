//! Hash functions that passwords are stored by.

use hmac::Hmac;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// The hash function below PBKDF2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prf {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Prf {
    /// Names in documents and settings, and bytes of the keys.
    pub(super) const NAMES: [(&'static str, Prf, usize); 5] = [
        ("sha", Prf::Sha1, 20),
        ("sha224", Prf::Sha224, 28),
        ("sha256", Prf::Sha256, 32),
        ("sha384", Prf::Sha384, 48),
        ("sha512", Prf::Sha512, 64),
    ];

    /// The function that a document or a setting names.
    pub(crate) fn named(name: &str) -> Option<Prf> {
        let mut known = Prf::NAMES.iter();
        known.find(|known| known.0 == name).map(|known| known.1)
    }

    /// How long its results are, in bytes.
    pub(super) fn length(self) -> usize {
        let mut known = Prf::NAMES.iter();
        known
            .find(|known| known.1 == self)
            .map_or(0, |known| known.2)
    }

    pub(super) fn derive(
        self,
        password: &str,
        salt: &str,
        iterations: u32,
        key: &mut [u8],
    ) -> bool {
        let derive = match self {
            Prf::Sha1 => pbkdf2::pbkdf2::<Hmac<Sha1>>,
            Prf::Sha224 => pbkdf2::pbkdf2::<Hmac<Sha224>>,
            Prf::Sha256 => pbkdf2::pbkdf2::<Hmac<Sha256>>,
            Prf::Sha384 => pbkdf2::pbkdf2::<Hmac<Sha384>>,
            Prf::Sha512 => pbkdf2::pbkdf2::<Hmac<Sha512>>,
        };
        // HMAC takes keys of any length, so this does not fail.
        derive(password.as_bytes(), salt.as_bytes(), iterations, key).is_ok()
    }
}
