//! The measuring library behind `varve bench`: what a choice of compression costs and gives on
//! the user's own data.

pub mod codec;
mod error;
mod spread;

pub use error::BenchError;
pub use spread::Spread;
