//! Tests of the crate as its users call it.

mod recorded;
