//! How much one engine may use.

use std::time::Duration;

/// Limits of one engine. Passing one is an error, never a panic or an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processor time of one call: one document through all map functions, one reduce, one filter.
    pub time: Duration,
    /// Bytes that the engine's heap may hold.
    pub memory: usize,
    /// Bytes of the calling thread's stack that scripts may use; well under the thread's size.
    pub stack: usize,
}

impl Default for Limits {
    /// The limits of CouchDB's engine (5 s, 64 MiB) and a quarter of a thread's usual stack.
    fn default() -> Self {
        Limits {
            time: Duration::from_secs(5),
            memory: 64 << 20,
            stack: 512 << 10,
        }
    }
}
