//! Commands that show how a repository is stored, and what of it the program sees.

pub(crate) mod debugancestor;
pub(crate) mod debugapplystreamclonebundle;
pub(crate) mod debugbundle;
pub(crate) mod debugcreatestreamclonebundle;
pub(crate) mod debugdata;
pub(crate) mod debugdate;
pub(crate) mod debugdeltachain;
pub(crate) mod debugdirstate;
pub(crate) mod debugformat;
pub(crate) mod debugindex;
pub(crate) mod debugnamecomplete;
pub(crate) mod debugpathcopies;
pub(crate) mod debugpickmergetool;
pub(crate) mod debugrename;
pub(crate) mod debugrequires;
pub(crate) mod debugrevlog;
pub(crate) mod debugrevspec;
pub(crate) mod debugsetparents;
pub(crate) mod debugupgraderepo;
pub(crate) mod debugwalk;
pub(crate) mod revlogs;
