//! Commands that show how a repository is stored.

pub(crate) mod debugapplystreamclonebundle;
pub(crate) mod debugbundle;
pub(crate) mod debugcreatestreamclonebundle;
pub(crate) mod debugdata;
pub(crate) mod debugdeltachain;
pub(crate) mod debugformat;
pub(crate) mod debugindex;
pub(crate) mod debugrequires;
pub(crate) mod debugrevlog;
pub(crate) mod debugupgraderepo;
pub(crate) mod revlogs;
