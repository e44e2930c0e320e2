//! The results that the scripts of `bench/` keep, drawn over time and against peers.

mod page;
mod ratios;
mod read;

pub use page::{page, pictures};
pub use read::{KeptResult, ResultFile, read};
