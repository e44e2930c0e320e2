//! Updates with local changes.

mod cases;
pub mod random;
mod texts;
