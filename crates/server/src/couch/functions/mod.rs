//! Functions of design documents that answer or judge requests: updates, validation, and the request object
//! that they are given.

pub mod request_object;
pub mod scripts;
pub mod update;
pub mod validate;
