//! From the typed words to options: options of each command, and the parsing of words.

pub(crate) mod flag;
pub(crate) mod global;
pub(crate) mod options;

pub use flag::{EXCLUDE, Flag, INCLUDE, INSECURE, REMOTECMD, SSH, STYLE, TEMPLATE};
pub use options::Matches;
