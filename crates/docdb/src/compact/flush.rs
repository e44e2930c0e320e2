//! Making a long copy durable bit by bit.
//!
//! One sync at the end would have the disk write everything at once, and commits of others would
//! wait for that.

use crate::DocdbError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use varve_btree::TreeFile;

/// The copy is synced when it has grown by so many bytes.
const STEP: u64 = 32 << 20;
/// How often its length is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Does the work that fills `file` while another thread syncs it.
pub(super) fn while_flushing<T>(
    file: &TreeFile,
    work: impl FnOnce() -> Result<T, DocdbError>,
) -> Result<T, DocdbError> {
    std::thread::scope(|scope| {
        let (working, has_ended) = channel::<()>();
        let flushing = scope.spawn(move || flush(file, &has_ended));
        let done = work();
        drop(working);
        match flushing.join() {
            // The loss of a failed sync is not reported a second time.
            Ok(flushed) => flushed.and(done),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn flush(file: &TreeFile, has_ended: &Receiver<()>) -> Result<(), DocdbError> {
    let mut flushed = 0;
    while has_ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let len = file.appended()?;
        if len >= flushed + STEP {
            file.flush()?;
            flushed = len;
        }
    }
    Ok(())
}
