//! The core of Mercurial's expression languages, independent of any repository.
//!
//! Revsets, filesets and templates share one tokenizer and one operator-precedence parser,
//! [`expression`]; each brings its table of operators and its own evaluation. [`patterns`] select
//! files by name, [`fileset`] is the grammar of `set:` patterns, and [`date`] reads and formats
//! dates.

pub mod date;
mod encoding;
pub mod expression;
pub mod fileset;
pub mod fuzzing;
pub mod patterns;
mod suggestion;

pub use encoding::{DecodeFault, Encoding};
pub use suggestion::did_you_mean;
