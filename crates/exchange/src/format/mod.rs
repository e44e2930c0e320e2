//! Byte formats of the exchange: a server's output is a client's input, and the other way round.

pub(crate) mod batch;
pub mod bundle;
pub mod bundle20;
pub mod bundlespec;
pub mod changegroup;
pub mod clone_bundle_manifest;
pub(crate) mod commands;
pub mod input;
pub mod limits;
pub(crate) mod marker_keys;
pub mod media_types;
pub mod packed;
pub mod part;
pub(crate) mod quoting;
pub mod stream;
