//! Logins that were right before, so that basic login does not derive a key for every request.

use crate::ServerError;
use crate::auth::password::{Stored, fill_random};
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// Logins that are remembered; past that all are forgotten and cost one derivation again.
const REMEMBERED: usize = 4096;

/// A block of SHA-256, the longest key that HMAC takes as it is.
const KEY_LEN: usize = 64;

/// A set of keyed digests; neither names nor passwords stay in memory. The key is new in every process. A digest
/// includes the stored key of the password, so that it no longer matches once the password is changed.
#[derive(Debug)]
pub(super) struct Verified {
    /// Has taken the key, and nothing else.
    keyed: Hmac<Sha256>,
    digests: Mutex<HashSet<[u8; 32]>>,
    /// How often a login was known, and was not.
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Verified {
    pub(super) fn new() -> Result<Self, ServerError> {
        let mut key = [0; KEY_LEN];
        fill_random(&mut key)?;
        Ok(Verified {
            keyed: Hmac::new(&key.into()),
            digests: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Whether the login was right before.
    pub(super) fn knows(&self, digest: &[u8; 32]) -> bool {
        let is_known = self.digests.lock().contains(digest);
        let counter = if is_known { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        is_known
    }

    /// How often a login was known, and was not, since the start.
    pub(super) fn hits_and_misses(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.hits), count(&self.misses))
    }

    pub(super) fn remember(&self, digest: [u8; 32]) {
        let mut digests = self.digests.lock();
        if digests.len() >= REMEMBERED {
            digests.clear();
        }
        digests.insert(digest);
    }

    /// Tells logins apart.
    pub(super) fn digest(&self, name: &str, password: &str, stored: &Stored) -> [u8; 32] {
        self.mac(b"login", name, stored, password)
    }

    /// Tells upgrades of stored passwords apart, also from all logins.
    pub(super) fn upgrade_digest(&self, name: &str, stored: &Stored) -> [u8; 32] {
        self.mac(b"upgrade", name, stored, "")
    }

    fn mac(&self, kind: &[u8], name: &str, stored: &Stored, password: &str) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        // The lengths keep ("ab", "c") and ("a", "bc") apart.
        for part in [
            kind,
            name.as_bytes(),
            stored.salt().as_bytes(),
            stored.derived(),
        ] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.update(password.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_remembered_is_known() {
        let verified = Verified::new().unwrap();
        let stored = |text: &str| Stored::parse(text).unwrap();
        let old = stored("-pbkdf2-4b007901b765489abead49d926f721d065a429c1,salt,4096");
        let new = stored("-pbkdf2-5b007901b765489abead49d926f721d065a429c1,salt,4096");
        let digest = |name, password, stored| verified.digest(name, password, stored);
        verified.remember(digest("ab", "c", &old));
        assert!(verified.knows(&digest("ab", "c", &old)));
        assert!(!verified.knows(&digest("ab", "c", &new)));
        assert!(!verified.knows(&digest("a", "bc", &old)));
        assert!(!verified.knows(&digest("ab", "d", &old)));
        let other = Verified::new().unwrap();
        assert_ne!(other.digest("ab", "c", &old), digest("ab", "c", &old));
    }
}
