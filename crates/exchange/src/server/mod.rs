//! The side that is asked: wire commands, pushes, clone bundles.

pub mod clone_bundles;
pub mod stdio;
pub mod unbundle;
pub mod wire;
