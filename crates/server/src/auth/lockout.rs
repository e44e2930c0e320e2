//! Counts of failed logins, per user and address: past a threshold further logins are refused for a while, also with
//! the right password.
//!
//! As in CouchDB, a new password starts a new count, and the time begins with the first failure. Names that no user has
//! are counted too, so that a refusal does not tell which names there are.

use crate::runtime::network_of;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;
use varve_config::{Lockout, LockoutMode};

/// CouchDB's text for a refused login.
pub(super) const LOCKED: &str =
    "Account is temporarily locked due to multiple authentication failures";

/// A user and the network of a client. Neither is kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LockoutKey([u8; 32]);

impl LockoutKey {
    pub(super) fn new(client: IpAddr, name: &str, salt: &str) -> LockoutKey {
        let network = network_of(client).to_string();
        let mut hash = Sha256::new();
        // The lengths keep ("ab", "c") and ("a", "bc") apart.
        for part in [network.as_str(), name, salt] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        LockoutKey(hash.finalize().into())
    }
}

/// Failed logins of one user from one network.
#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    first: Instant,
}

/// Failed logins that are remembered, a bounded number.
#[derive(Debug, Default)]
pub(super) struct FailedLogins(Mutex<HashMap<LockoutKey, Failures>>);

impl FailedLogins {
    /// Whether none is remembered, as on most servers at most times.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Whether logins with this key are refused at this time.
    pub(super) fn is_locked(&self, key: &LockoutKey, settings: &Lockout, now: Instant) -> bool {
        let failures = self.0.lock().get(key).copied();
        settings.mode == LockoutMode::Enforce
            && failures.is_some_and(|failures| {
                failures.count >= settings.threshold && !is_over(&failures, settings, now)
            })
    }

    /// Returns whether this failure is the one that reaches the threshold.
    pub(super) fn note(&self, key: LockoutKey, settings: &Lockout, now: Instant) -> bool {
        if settings.mode == LockoutMode::Off {
            return false;
        }
        let mut all = self.0.lock();
        if all
            .get(&key)
            .is_none_or(|found| is_over(found, settings, now))
        {
            make_room(&mut all, settings, now);
            let (count, first) = (0, now);
            all.insert(key, Failures { count, first });
        }
        all.get_mut(&key).is_some_and(|failures| {
            failures.count = failures.count.saturating_add(1);
            failures.count == settings.threshold
        })
    }
}

fn is_over(failures: &Failures, settings: &Lockout, now: Instant) -> bool {
    now.saturating_duration_since(failures.first) >= settings.lifetime
}

/// Forgets expired failures, and the oldest ones if there are still too many.
fn make_room(all: &mut HashMap<LockoutKey, Failures>, settings: &Lockout, now: Instant) {
    if all.len() < settings.most {
        return;
    }
    all.retain(|_, failures| !is_over(failures, settings, now));
    while all.len() >= settings.most {
        let oldest = all.iter().min_by_key(|(_, failures)| failures.first);
        let Some(oldest) = oldest.map(|(key, _)| *key) else {
            return;
        };
        all.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn settings(mode: LockoutMode) -> Lockout {
        Lockout {
            mode,
            threshold: 2,
            most: 3,
            lifetime: Duration::from_secs(10),
        }
    }

    fn key(name: &str) -> LockoutKey {
        LockoutKey::new(ADDRESS, name, "salt")
    }

    #[test]
    fn the_threshold_locks_until_the_time_since_the_first_failure_is_over() {
        let (failed, enforced) = (FailedLogins::default(), settings(LockoutMode::Enforce));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!failed.note(key("ada"), &enforced, at(0)));
        assert!(!failed.is_locked(&key("ada"), &enforced, at(0)));
        assert!(failed.note(key("ada"), &enforced, at(9)));
        assert!(!failed.note(key("ada"), &enforced, at(9)));
        assert!(failed.is_locked(&key("ada"), &enforced, at(9)));
        assert!(!failed.is_locked(&key("bob"), &enforced, at(9)));
        let elsewhere = LockoutKey::new([10, 0, 0, 1].into(), "ada", "salt");
        assert!(!failed.is_locked(&elsewhere, &enforced, at(9)));
        let changed = LockoutKey::new(ADDRESS, "ada", "other salt");
        assert!(!failed.is_locked(&changed, &enforced, at(9)));
        assert!(!failed.is_locked(&key("ada"), &settings(LockoutMode::Warn), at(9)));
        assert!(!failed.is_locked(&key("ada"), &enforced, at(10)));
        assert!(!failed.note(key("ada"), &enforced, at(10)));
        assert!(!failed.is_locked(&key("ada"), &enforced, at(10)));
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_failures_are_forgotten() {
        let (failed, enforced) = (FailedLogins::default(), settings(LockoutMode::Enforce));
        let start = Instant::now();
        for number in 0..100_u64 {
            let now = start + Duration::from_millis(number);
            let name = number.to_string();
            failed.note(key(&name), &enforced, now);
            failed.note(key(&name), &enforced, now);
        }
        assert_eq!(failed.0.lock().len(), 3);
        let now = start + Duration::from_millis(100);
        assert!(failed.is_locked(&key("97"), &enforced, now));
        assert!(!failed.is_locked(&key("96"), &enforced, now));
        let off = FailedLogins::default();
        off.note(key("ada"), &settings(LockoutMode::Off), now);
        assert!(off.0.lock().is_empty());
    }
}
