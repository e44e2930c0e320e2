//! Progress and interruption: a small trait and a flag.
//!
//! Library code names the step and its unit, counts, and checks the flag once per item. It neither
//! draws nor knows the time. The terminal's sink draws a bar; the server's fills `_active_tasks`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Unit of a step's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of data.
    Bytes,
    /// Files, revisions, documents: the step's name says which.
    Items,
}

/// Receives the progress of a long operation.
pub trait Progress: Sync {
    /// Starts a step. `total` is `None` where it cannot be known beforehand.
    fn begin(&self, step: &str, unit: Unit, total: Option<u64>);
    /// Names what the next call of [`Progress::advance`] counts, such as a path.
    fn item(&self, _name: &[u8]) {}
    /// Adds to the running step; with 0 it is shown as it stands.
    fn advance(&self, amount: u64);
    /// Ends the running step.
    fn end(&self) {}
}

/// Progress that is not shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _step: &str, _unit: Unit, _total: Option<u64>) {}
    fn advance(&self, _amount: u64) {}
}

/// The operation was asked to stop and has stopped without damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// A flag that a signal handler or a closed connection sets; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Asks everything that checks this flag to stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Interrupt::raise`] was called.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// To be called once per item of work.
    ///
    /// # Errors
    /// [`Interrupted`] once the flag is raised.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.is_raised() {
            Err(Interrupted)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_is_seen_through_every_clone() {
        let flag = Interrupt::default();
        let seen_by_worker = flag.clone();
        assert_eq!(seen_by_worker.check(), Ok(()));
        flag.raise();
        assert_eq!(seen_by_worker.check(), Err(Interrupted));
    }
}
