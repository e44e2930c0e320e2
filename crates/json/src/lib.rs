//! Exact ordered JSON, collation of view keys, and the term encoding that revision hashes need.
//!
//! JSON goes in and comes out as CouchDB treats it: members keep their order, integers of any size
//! stay exact, floats stay floats, of a repeated name the last member counts. Nesting is bounded
//! by [`MAX_DEPTH`], so that a value can be cloned, compared and dropped on any thread's stack.

mod body;
pub mod collate;
mod document;
mod error;
pub mod fuzzing;
mod lexer;
mod number;
mod object;
mod parse;
pub mod scan;
pub mod term;
mod value;
mod write;

pub use body::Body;
pub use document::{Document, Request, Terms};
pub use error::JsonError;
pub use number::{MAX_DIGITS, Number};
pub use object::Object;
pub use parse::{MAX_DEPTH, parse, parse_bounded, parse_made, parse_object};
pub use value::Value;
pub use write::{to_string, write, write_object, write_string};
