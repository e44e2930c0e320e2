//! Other repositories: their names, the ways to them, and what comes from them.

pub(crate) mod arrivals;
pub(crate) mod outgoing;
pub(crate) mod paths;
pub(crate) mod peers;
pub mod servers;
pub(crate) mod target;

pub(crate) use peers::Source;
