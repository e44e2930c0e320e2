//! The signals that stop a server.

use crate::ServerError;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit code of a process that did not wait for its running answers.
const AT_ONCE: i32 = 1;

/// Ctrl-C and SIGTERM, which are caught for as long as the process runs.
#[derive(Debug)]
pub struct StopSignal {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignal {
    /// Must be called inside a runtime. The second signal ends the process in its handler, whatever hangs then.
    pub(super) fn catch() -> Result<StopSignal, ServerError> {
        let failed = |source: io::Error| ServerError::Signals { source };
        let came = Arc::new(AtomicBool::new(false));
        for number in [SIGINT, SIGTERM] {
            // In this order the first signal finds the flag unset.
            flag::register_conditional_shutdown(number, AT_ONCE, Arc::clone(&came))
                .map_err(failed)?;
            flag::register(number, Arc::clone(&came)).map_err(failed)?;
        }
        Ok(StopSignal {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    /// Completes when a signal comes.
    pub async fn wait(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}
