//! What CouchDB 3.5.0 answered, met byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recorded;
