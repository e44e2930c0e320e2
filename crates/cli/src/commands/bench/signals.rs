//! Ctrl-C during a measurement: the first prints what is there, the second ends the program at once.

use crate::error::{CliError, INTERRUPTED};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use varve_base::Interrupt;

/// Raises `interrupt` at the first signal.
pub(crate) fn catch(interrupt: &Interrupt) -> Result<(), CliError> {
    let came = Arc::new(AtomicBool::new(false));
    for number in [SIGINT, SIGTERM] {
        // In this order the first signal finds the flag unset.
        flag::register_conditional_shutdown(number, i32::from(INTERRUPTED), Arc::clone(&came))?;
        flag::register(number, Arc::clone(&came))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let interrupt = interrupt.clone();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if signals.forever().next().is_some() {
                interrupt.raise();
            }
        })?;
    Ok(())
}
