//! A password that is checked in the queue of checks.

use crate::Failure;
use crate::auth::lockout::{FailedLogins, LOCKED, LockoutKey};
use crate::auth::password::Stored;
use crate::auth::queue::Outcome;
use std::sync::Arc;
use std::time::Instant;
use varve_config::Lockout;

/// One name and password. Guesses are checked one after the other, and each is counted before the next one is checked:
/// so of many that wait together no more are answered than the threshold allows.
pub(super) struct Guess {
    pub(super) failed: Arc<FailedLogins>,
    pub(super) settings: Lockout,
    /// `None` where it is not known where the request comes from: it is not counted then.
    pub(super) attempt: Option<LockoutKey>,
    /// The password that is right; for unknown names, one that none is.
    pub(super) stored: Stored,
    /// The password whose check takes the longest.
    pub(super) slowest: Stored,
    pub(super) password: String,
    /// Whether there is a user of that name.
    pub(super) is_known: bool,
}

impl Guess {
    /// Returns whether the guess is right; `on_threshold` gets the number of failures when this one reaches the threshold.
    ///
    /// # Errors
    /// 403, also for a right guess, once too many have failed.
    pub(super) fn check(self, on_threshold: impl FnOnce(u32)) -> Outcome {
        let settings = &self.settings;
        let is_locked = |attempt| self.failed.is_locked(attempt, settings, Instant::now());
        if self.attempt.as_ref().is_some_and(is_locked) {
            return Err(Failure::forbidden(LOCKED));
        }
        if self.stored.verify_slowly(&self.password, &self.slowest) && self.is_known {
            return Ok(true);
        }
        if let Some(attempt) = self.attempt
            && self.failed.note(attempt, settings, Instant::now())
        {
            on_threshold(settings.threshold);
        }
        Ok(false)
    }
}
