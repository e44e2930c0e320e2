//! Logins that were right before, so that basic login does not derive a key for every request.

use super::password::fill_random;
use crate::ServerError;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Logins that are remembered; past that all are forgotten and cost one derivation again.
const REMEMBERED: usize = 4096;

/// A set of keyed digests; neither names nor passwords stay in memory. The key is new in every
/// process, and a changed password needs a new process, so nothing has to be taken out.
#[derive(Debug)]
pub(super) struct Verified {
    key: [u8; 32],
    digests: Mutex<HashSet<[u8; 32]>>,
}

impl Verified {
    pub(super) fn new() -> Result<Self, ServerError> {
        let mut key = [0; 32];
        fill_random(&mut key)?;
        Ok(Verified {
            key,
            digests: Mutex::default(),
        })
    }

    pub(super) fn knows(&self, name: &str, password: &str) -> bool {
        let digest = self.digest(name, password);
        let digests = self.digests.lock();
        let digests = digests.unwrap_or_else(PoisonError::into_inner);
        digest.is_some_and(|digest| digests.contains(&digest))
    }

    pub(super) fn remember(&self, name: &str, password: &str) {
        let digest = self.digest(name, password);
        let digests = self.digests.lock();
        let mut digests = digests.unwrap_or_else(PoisonError::into_inner);
        if digests.len() >= REMEMBERED {
            digests.clear();
        }
        digests.extend(digest);
    }

    fn digest(&self, name: &str, password: &str) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        // The length keeps ("ab", "c") and ("a", "bc") apart.
        mac.update(&(name.len() as u64).to_le_bytes());
        mac.update(name.as_bytes());
        mac.update(password.as_bytes());
        Some(mac.finalize().into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_remembered_is_known() {
        let verified = Verified::new().unwrap();
        verified.remember("ab", "c");
        assert!(verified.knows("ab", "c"));
        assert!(!verified.knows("a", "bc"));
        assert!(!verified.knows("ab", "d"));
        assert!(!Verified::new().unwrap().knows("ab", "c"));
    }
}
