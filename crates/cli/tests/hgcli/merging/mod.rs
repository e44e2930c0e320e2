//! Updates with local changes.

mod cases;
mod random;
mod texts;
