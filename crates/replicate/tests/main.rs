//! Tests of the crate as its users call it.

mod couch_encoder;
mod damaged;
mod exported;
mod mutated;
mod recorded;
mod speed;
