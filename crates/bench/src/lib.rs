//! The measuring library behind `varve bench`: costs and gains of a compression setting on the user's own data, how fast
//! its revlogs are read and written, and how servers and other programs do the same work.

pub mod advice;
pub mod bundle;
pub mod codec;
pub mod commands;
mod couch;
pub mod database;
mod error;
pub mod load;
pub mod measuring;
pub mod processes;
pub mod report;
pub mod repository;
pub mod results;
pub mod revlog;
pub mod stream;

pub use error::BenchError;
