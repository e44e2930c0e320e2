//! HTTP for both protocols: routing, users, sessions, tasks. The only async crate.
//!
//! A request is read by [`http`], its user found by [`auth`], and then answered by [`hg`] (repositories) or
//! [`couch`] (databases, and the server as a resource), or by `console` (its web pages). [`runtime`] owns threads, background work and limits;
//! [`site`] starts and stops all of it. Imports between these rooms go downward only:
//!
//! ```text
//!            site
//!           console
//!           history
//!        hg        couch
//!          directory
//!            auth
//!            http
//!           runtime
//! ```

pub mod auth;
mod console;
pub mod couch;
pub mod directory;
mod error;
pub mod fuzzing;
pub mod hg;
mod history;
pub mod http;
pub mod runtime;
pub mod site;

pub use auth::UserContext;
pub use couch::CouchContext;
pub use directory::ServedDirectory;
pub use error::ServerError;
pub use hg::{
    Collection, CollectionSettings, CollectionSource, LoneConfig, LoneRepository, ReadConfig,
};
pub use http::{AccessLogFormat, AccessLogOutput, AccessLogTarget, Answer, Failure, Request};
pub use runtime::{HelpEntry, HelpIndex, LogFile, LogOutput, Registry, RunningTask, Tasks};
pub use site::{
    Ended, ListeningSocket, ServeOptions, Served, Server, SharedOptions, StopSignal,
    raise_file_limit,
};
pub use varve_config::bind_address;
