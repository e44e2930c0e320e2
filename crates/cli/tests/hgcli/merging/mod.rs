//! Updates with local changes.

mod cases;
mod forced;
mod markers;
mod programs;
pub mod random;
mod tags;
mod texts;
