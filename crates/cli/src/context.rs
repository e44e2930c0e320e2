//! Everything that a command may touch of the outside world.

use std::io::Write;
use varve_base::{Interrupt, Progress};

/// Output, progress and interruption of one command.
pub(crate) struct Context<'a> {
    /// Results; progress, warnings and errors go to standard error.
    pub(crate) out: &'a mut dyn Write,
    /// Progress of long steps.
    pub(crate) progress: &'a dyn Progress,
    /// Raised when the user wants the command to stop.
    pub(crate) stop: &'a Interrupt,
}
