//! Other processes: servers and programs that are measured from outside.

mod local_server;
mod program;
mod server;

pub(crate) use local_server::LocalServer;
pub use program::{Program, find_program};
pub(crate) use program::{Words, words};
pub(crate) use server::{ServerProcess, local_port};

use crate::BenchError;
use std::time::Duration;
use varve_base::Interrupt;

/// The outcome of work by another process, or the interrupt. Ctrl-C reaches the other process too, and perhaps earlier
/// than this one, so that a failure waits a tenth of a second for the interrupt.
///
/// # Errors
/// [`BenchError::Interrupted`] in the place of a failure; else that of the work.
pub(crate) fn or_interrupted<T>(
    done: Result<T, BenchError>,
    interrupt: &Interrupt,
) -> Result<T, BenchError> {
    let mut waits = 10;
    while done.is_err() && waits > 0 {
        interrupt.check()?;
        std::thread::sleep(Duration::from_millis(10));
        waits -= 1;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_that_ends_another_process_first_is_an_interrupt() {
        let interrupt = Interrupt::default();
        let failed = || Err::<(), _>(BenchError::Nothing);
        assert!(matches!(
            or_interrupted(failed(), &interrupt),
            Err(BenchError::Nothing)
        ));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                interrupt.raise();
            });
            let found = or_interrupted(failed(), &interrupt);
            assert!(matches!(found, Err(BenchError::Interrupted(_))));
        });
        assert!(or_interrupted(Ok(()), &interrupt).is_ok());
    }
}
