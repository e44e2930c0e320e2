//! Ctrl-C and the other signals that ask a program to end.
//!
//! A command that may have changed something is asked to stop, and ends at the next point where
//! nothing is half done. One that only reads ends at once, and so does every command at the second
//! signal; a clone that is not whole is removed first.

use crate::ui::failure_kind::{ExitCodes, FailureKind};
use crate::ui::incomplete::IncompleteClone;
use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use varve_base::Interrupt;

/// Flags shared by the signal handler and the command.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Whether there may be something to finish or to take back.
    writes: Arc<Mutex<bool>>,
    /// The signal that came, or 0.
    came: Arc<AtomicI32>,
    /// Whether SIGHUP has another meaning for the command, which handles it by itself.
    leaves_hangup: Arc<AtomicBool>,
    /// The clone that is being made; it goes before a second signal ends the program.
    pub clone: IncompleteClone,
}

impl Guard {
    /// From now on a signal lets the command end at a sound point.
    pub fn writes(&self) {
        *self.writes.lock() = true;
    }

    /// From now on SIGHUP neither stops the command nor ends the program.
    pub fn leave_hangup(&self) {
        self.leaves_hangup.store(true, Ordering::SeqCst);
    }

    fn leaves(&self, signal: i32) -> bool {
        signal == SIGHUP && self.leaves_hangup.load(Ordering::SeqCst)
    }

    /// The words for the signal that ended the command, if one came.
    pub fn words(&self) -> Option<&'static str> {
        match self.came.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(words(signal)),
        }
    }
}

fn words(signal: i32) -> &'static str {
    if signal == SIGINT {
        "interrupted!"
    } else {
        "killed!"
    }
}

/// Raises `stop` when a signal comes. Signals that were ignored when the program began stay so.
/// Where the system refuses, signals end the program as they always did.
pub fn watch(stop: Interrupt, guard: Guard, codes: ExitCodes) {
    let ignored = ignored_signals();
    let wanted = [SIGINT, SIGTERM, SIGHUP];
    let wanted: Vec<i32> = wanted
        .into_iter()
        .filter(|signal| ignored >> (signal - 1) & 1 == 0)
        .collect();
    let Ok(mut signals) = Signals::new(&wanted) else {
        return;
    };
    let wait = move || {
        for signal in signals.forever() {
            if guard.leaves(signal) {
                continue;
            }
            let is_second = guard.came.swap(signal, Ordering::SeqCst) != 0;
            stop.raise();
            // Held until the end, so that no command begins to write meanwhile.
            let writes = guard.writes.lock();
            if is_second || !*writes {
                guard.clone.remove_then(|| {
                    // Nothing is left to do if even standard error is gone.
                    let _ = writeln!(io::stderr(), "{}", words(signal));
                    let code = FailureKind::Interrupted.exit_code(codes);
                    std::process::exit(i32::from(code))
                });
            }
        }
    };
    // Without the thread the flag is never raised, and the command runs to its end.
    let _ = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait);
}

/// One bit for each signal that this program was started to ignore.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
