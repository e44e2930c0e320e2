//! Ctrl-C and the other signals that ask a program to end.
//!
//! A command that may have changed something is asked to stop, and ends at the next point where
//! nothing is half done. One that only reads ends at once, and so does every command at the second
//! signal; a clone that is not whole is removed first.

use crate::ui::failure_kind::{ExitCodes, FailureKind};
use crate::ui::incomplete::IncompleteClone;
use crate::ui::screen;
use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use varve_base::Interrupt;

/// Flags shared by the signal handler and the command.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Whether there may be something to finish or to take back.
    writes: Arc<Mutex<bool>>,
    /// The signal that came, or 0.
    came: Arc<AtomicI32>,
    /// Signals that have another meaning for the command, or none: it handles them by itself.
    left: Arc<Mutex<Vec<i32>>>,
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
        self.left.lock().push(SIGHUP);
    }

    /// From now on Ctrl-C neither stops the command nor ends the program.
    pub fn leave_interrupt(&self) {
        self.left.lock().push(SIGINT);
    }

    fn leaves(&self, signal: i32) -> bool {
        self.left.lock().contains(&signal)
    }

    /// Whether [`Guard::writes`] was called.
    pub(crate) fn may_have_written(&self) -> bool {
        *self.writes.lock()
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

/// The call that signals are about.
#[derive(Clone, Debug)]
pub(crate) struct WatchedCall {
    /// Raised when a signal comes.
    pub(crate) stop: Interrupt,
    pub(crate) guard: Guard,
    pub(crate) codes: ExitCodes,
    /// Whether the program outlives the call: the first signal ends no call at once then, but only raises `stop`.
    pub(crate) is_of_client: bool,
}

/// Leads signals to the call that runs; clones share it.
#[derive(Clone, Debug, Default)]
pub struct SignalWatcher(Arc<Mutex<Option<WatchedCall>>>);

impl SignalWatcher {
    /// Signals are about `call` from now on; gives the call that they were about before. Signals that were ignored when
    /// the program began stay so. Where the system refuses, signals end the program as they always did.
    pub(crate) fn watch(&self, call: WatchedCall) -> Option<WatchedCall> {
        let before = self.0.lock().replace(call);
        if before.is_none() {
            start(self.clone());
        }
        before
    }

    /// The call that runs.
    pub(crate) fn current(&self) -> Option<WatchedCall> {
        self.0.lock().clone()
    }

    /// Whether a signal has come for the call that runs.
    pub fn is_raised(&self) -> bool {
        let current = self.0.lock();
        current.as_ref().is_some_and(|call| call.stop.is_raised())
    }

    fn on_signal(&self, signal: i32) {
        let Some(call) = self.0.lock().clone() else {
            return;
        };
        let guard = &call.guard;
        if guard.leaves(signal) {
            return;
        }
        let is_second = guard.came.swap(signal, Ordering::SeqCst) != 0;
        call.stop.raise();
        // Held until the end, so that no command begins to write meanwhile.
        let writes = guard.writes.lock();
        if is_second || !*writes && !call.is_of_client {
            guard.clone.remove_then(|| {
                screen::restore_terminal();
                // Nothing is left to do if even standard error is gone.
                let _ = writeln!(io::stderr(), "{}", words(signal));
                let code = FailureKind::Interrupted.exit_code(call.codes);
                std::process::exit(i32::from(code))
            });
        }
    }
}

/// Starts the thread that signals wake.
fn start(watcher: SignalWatcher) {
    let wanted = [SIGINT, SIGTERM, SIGHUP];
    let wanted: Vec<i32> = wanted
        .into_iter()
        .filter(|signal| !is_ignored(*signal))
        .collect();
    let Ok(mut signals) = Signals::new(&wanted) else {
        return;
    };
    let wait = move || {
        for signal in signals.forever() {
            watcher.on_signal(signal);
        }
    };
    // Without the thread the flag is never raised, and the command runs to its end.
    let _ = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait);
}

/// True if the caller of this program has a signal ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    ignored_signals() >> (signal - 1) & 1 != 0
}

/// One bit for each signal that this program was started to ignore.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
