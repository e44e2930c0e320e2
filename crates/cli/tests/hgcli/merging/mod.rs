//! Updates with local changes.

mod cases;
mod programs;
pub mod random;
mod texts;
