//! The JavaScript engine that runs the functions of design documents within limits.
//!
//! Scripts see the language, `emit`, `log`, `sum`, `isArray`, `toJSON` and `require`, those that answer requests
//! `provides`, `registerType`, `start`, `send` and `getRow` as well, and nothing else: no files, no network, no timers,
//! no time zone. An engine belongs to one thread; a caller with several workers
//! makes one for each.
//!
//! # Isolation of documents
//! Rows must depend on their document alone, or two workers would build two different indexes. So built-in objects and
//! their prototypes are frozen before the first script runs, built-in names cannot be assigned, and globals that a
//! script leaves behind (a forgotten `var`) are removed after each call. A function can still keep state in its own
//! closure, as in `(function () { var n = 0; return function (doc) { emit(n++); }; })()`: it can spoil its own rows and
//! no others. The functions of one group share the parsed document, as in CouchDB, so that a change one of them makes
//! to it is seen by those after it.

mod error;
mod filter;
mod functions;
pub mod fuzzing;
mod limits;
mod map;
mod native;
mod port;
mod reduce;
mod render;
mod sandbox;
mod update;
mod validate;
mod watch;

pub use error::JsError;
pub use filter::FilterEngine;
pub use functions::{Compilation, MapFunctions, is_compiled};
pub use limits::Limits;
pub use map::{Emission, Emitted, MapEngine};
pub use port::{HostEnded, ListHost};
pub use reduce::ReduceEngine;
pub use render::{Listed, RenderEngine, Rendered, Rewritten};
pub use update::{UpdateEngine, Updated};
pub use validate::{Refusal, ValidateEngine, Verdict};
pub use watch::Checkpoint;

use sandbox::Sandbox;

/// Whether `source` is the text of one function; `root` is the JSON text of the object with the
/// modules that it may require.
///
/// # Errors
/// [`JsError::Compile`] if it is not; a limit if running the text reaches one.
pub fn check_source(source: &str, root: Option<&[u8]>, limits: Limits) -> Result<(), JsError> {
    Sandbox::compile(&[source], root, limits).map(|_| ())
}
