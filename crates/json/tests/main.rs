//! Recorded answers of CouchDB 3.5.0, met byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recorded;
