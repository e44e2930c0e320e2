//! The caller's view of a move under way.

use crate::Finding;
use varve_base::{Interrupt, Progress};

/// Hears of a move while it goes on.
#[derive(Clone, Copy)]
pub struct Watch<'w> {
    /// Receives the counts.
    pub progress: &'w dyn Progress,
    /// Ends the move; the database that is being made is not there then.
    pub stop: &'w Interrupt,
    /// Told of each part that is left out, on any thread.
    pub report: &'w (dyn Fn(Finding) + Sync),
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watch({:?})", self.stop)
    }
}
