//! Errors of scripts.

use std::time::Duration;

/// A script could not be compiled or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsError {
    /// The engine itself could not be made.
    #[error("cannot start the JavaScript engine: {reason}")]
    Start {
        /// The engine's words.
        reason: String,
    },
    /// A source is not the text of one function. `Display` is the peer's text: error, then source.
    #[error("{reason} ({source_text})")]
    Compile {
        /// Position of the source among those given.
        index: usize,
        /// The engine's words, such as `SyntaxError: …`.
        reason: String,
        /// The source as given.
        source_text: String,
    },
    /// One call took longer than [`Limits::time`](crate::Limits::time).
    #[error("a script ran longer than {limit:?}")]
    Time {
        /// The time that a call may take.
        limit: Duration,
    },
    /// A [`Checkpoint`](crate::Checkpoint) ended the call.
    #[error("interrupted")]
    Interrupted,
    /// A call needed more than [`Limits::memory`](crate::Limits::memory).
    #[error("a script needs more than {limit} bytes of memory")]
    Memory {
        /// The limit in bytes.
        limit: usize,
    },
    /// The input nests deeper, or a script calls deeper, than the stack allows.
    #[error("a script needs more than {limit} bytes of stack")]
    Stack {
        /// The limit in bytes.
        limit: usize,
    },
    /// The script threw.
    #[error("{message}")]
    Thrown {
        /// The thrown error as text, or the thrown value as JSON.
        message: String,
    },
    /// An argument of a script is not JSON.
    #[error("cannot read {what} as JSON: {reason}")]
    Argument {
        /// Name of the argument.
        what: &'static str,
        /// The engine's words.
        reason: String,
    },
}
