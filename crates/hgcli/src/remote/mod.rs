//! Other repositories: their names, the ways to them, and data from them.

pub(crate) mod bundle_output;
pub(crate) mod discovery;
pub(crate) mod download;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod paths;
pub(crate) mod peers;
pub(crate) mod queried;
pub mod servers;

pub(crate) use peers::PeerAddress;
