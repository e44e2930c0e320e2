//! What commands are given: the session with its configuration, repository and working copy.

pub mod bundles;
pub mod evolution;
pub mod files;
pub mod filesets;
pub mod layers;
pub mod locks;
pub mod matching;
pub mod place;
pub mod revision;
pub mod session;
pub mod working;

pub use evolution::evolution;
pub use place::Place;
pub use session::{Session, Verbosity, disk};
