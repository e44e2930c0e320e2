//! The program as `hg`: arguments, configuration, output and exit codes as Mercurial has them.

mod abort;
mod alias;
pub(crate) mod arrivals;
pub(crate) mod attend;
mod bundles;
mod change;
pub(crate) mod changesets;
pub(crate) mod clock;
pub(crate) mod columns;
mod command;
pub(crate) mod diff;
mod dispatch;
pub(crate) mod editor;
pub(crate) mod encoding;
pub(crate) mod environment;
pub(crate) mod evolution;
mod extensions;
mod files;
mod filesets;
pub(crate) mod formatter;
pub(crate) mod global;
pub(crate) mod graph;
mod hooks;
mod layers;
mod locks;
pub(crate) mod matching;
mod options;
pub(crate) mod outgoing;
mod pager;
mod peers;
pub(crate) mod place;
pub(crate) mod remote;
pub(crate) mod revision;
pub(crate) mod revlogs;
mod servers;
mod session;
pub(crate) mod signals;
pub(crate) mod target;
pub(crate) mod template;
pub(crate) mod usage;
pub(crate) mod user;
pub(crate) mod working;

pub(crate) use abort::{Abort, FAILED, system_words};
pub(crate) use change::{Change, Portability, portability, warn_unportable};
pub(crate) use command::{
    Category, Command, EXCLUDE, Flag, INCLUDE, INSECURE, REMOTECMD, SSH, STYLE, TEMPLATE,
};
pub(crate) use dispatch::main;
pub(crate) use evolution::evolution;
pub(crate) use formatter::Formatter;
pub(crate) use hooks::list_of_words;
pub(crate) use options::Matches;
pub(crate) use peers::Source;
pub(crate) use place::Place;
pub(crate) use session::{Session, Verbosity, disk};

/// The code of a `!` alias that a signal ended.
const FAILED_SHELL: u8 = 255;
