//! Updates with local changes.

mod cases;
mod copy_modes;
mod forced;
mod markers;
mod programs;
pub mod random;
mod tags;
mod texts;
