//! From the typed words to options: what a command takes, and how its words are taken apart.

pub(crate) mod flag;
pub(crate) mod global;
pub(crate) mod options;

pub use flag::{EXCLUDE, Flag, INCLUDE, INSECURE, REMOTECMD, SSH, STYLE, TEMPLATE};
pub use options::Matches;
