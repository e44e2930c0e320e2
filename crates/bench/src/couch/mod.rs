//! Requests to servers with CouchDB's HTTP interface.

mod endpoint;

pub(crate) use endpoint::{Endpoint, agent};
