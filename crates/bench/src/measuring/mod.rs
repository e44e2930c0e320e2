//! The measuring core of all benches: warm-up, interleaved rounds, median and range, paired comparison, and a
//! description of the machine.

mod machine;
mod paired;
mod rounds;
mod samples;
mod scratch;

pub use machine::{Machine, PeakMemory};
pub use paired::{Comparison, compare, indistinct};
pub use rounds::{Interleaved, Rounds, Task, timed};
pub use samples::Samples;
pub use scratch::ScratchDirectory;
