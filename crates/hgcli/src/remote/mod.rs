//! Other repositories: their names, the ways to them, and what comes from them.

pub mod arrivals;
pub mod outgoing;
pub mod paths;
pub mod peers;
pub mod servers;
pub mod target;

pub(crate) use peers::Source;
