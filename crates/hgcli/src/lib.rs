//! The command line of `hg`: arguments, configuration, output and exit codes as Mercurial has them.
//!
//! Commands that Mercurial has not, and those that need a server, come from the program that calls
//! [`main`].

pub mod arguments;
pub mod command_server;
mod commands;
pub mod context;
mod dispatch;
pub mod fuzzing;
pub mod hooks;
mod remote;
mod render;
pub mod ui;

pub use commands::help::listing::{HelpListing, HelpText};
pub use commands::local::verify::verify_repository;
pub use dispatch::{check_stdio_form, main};
pub use remote::servers::download_options;
