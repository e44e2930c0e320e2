//! Commands that talk to other repositories or to bundles.

pub(crate) mod bundle;
pub(crate) mod clone;
pub(crate) mod exchanged;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod paths;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod unbundle;
