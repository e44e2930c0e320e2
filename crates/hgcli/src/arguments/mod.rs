//! From the typed words to options: what commands take, and the usage lines that say so.

pub mod command;
pub mod global;
pub mod options;
pub mod table;
pub mod usage;

pub use command::{
    Category, Command, EXCLUDE, Flag, INCLUDE, INSECURE, REMOTECMD, SSH, STYLE, TEMPLATE,
};
pub use options::Matches;
pub use table::CommandTable;
