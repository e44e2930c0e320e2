//! The measuring core of all benches: warm-up, interleaved rounds, median and range, paired comparison, and a
//! description of the machine.

mod context;
mod machine;
mod paired;
mod rounds;
mod samples;
mod scratch;

pub use context::{context_memory, stream_memory};
pub use machine::Machine;
pub use paired::{Comparison, compare, indistinct};
pub use rounds::{Interleaved, Rounds, Task, processor_seconds, timed};
pub use samples::Samples;
pub use scratch::ScratchDirectory;
