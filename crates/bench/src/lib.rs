//! The measuring library behind `varve bench`: costs and gains of a compression setting on the user's own data, and how
//! fast its revlogs are read and written.

pub mod advice;
pub mod bundle;
pub mod codec;
pub mod database;
mod error;
pub mod load;
pub mod measuring;
pub mod report;
pub mod repository;
pub mod revlog;
mod spread;

pub use error::BenchError;
pub use spread::Spread;
