//! Bodies of the fuzz targets; also run by plain tests.

pub use crate::command_server::fuzzing::command_server_requests;
