//! HTTP for both protocols: routing, users, sessions, tasks. The only async crate.
//!
//! A request is read by [`http`], its user found by [`auth`], and then answered by one of three
//! mounts: [`hg`] (repositories), [`couch`] (databases) or [`node`] (the server itself). Storage
//! work runs on blocking threads; see [`App::blocking`].

pub mod app;
pub mod auth;
pub mod couch;
pub mod databases;
mod error;
mod failure;
pub mod folder;
pub mod fuzzing;
pub mod hg;
mod house;
pub mod http;
pub mod node;
mod registry;
mod route;
mod server;
mod site;
mod tasks;

pub use app::App;
pub use auth::UserContext;
pub use error::ServerError;
pub use failure::Failure;
pub use hg::{LoneConfig, LoneRepository};
pub use house::Report;
pub use http::{AccessLog, Answer, Request};
use registry::Registry;
pub use server::{ServeOptions, Served, Server, raise_file_limit};
pub use tasks::{RunningTask, Tasks};
