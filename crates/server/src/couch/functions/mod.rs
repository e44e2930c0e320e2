//! Functions of design documents that answer or judge requests: updates, shows, lists, rewrites, validation, and the
//! request object that they are given.

mod design;
pub mod list;
mod refusal;
pub mod request_object;
mod response;
pub mod rewrite;
pub mod scripts;
pub mod show;
pub mod update;
pub mod validate;
