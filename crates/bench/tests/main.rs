//! Tests of the measuring library from outside.
#![allow(clippy::unwrap_used, reason = "a test may")]

mod advice;
mod bundle;
mod codec;
mod database;
mod load;
mod repository;
mod revlog;
mod stream;
