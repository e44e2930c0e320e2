//! Output, prompts, pager, progress, signals, and failures of a command.

pub mod abort;
pub mod clock;
pub mod columns;
pub mod editor;
pub mod encoding;
pub mod environment;
pub mod failure_kind;
pub mod incomplete;
pub mod output;
pub mod pager;
pub mod paint;
pub mod progress;
pub mod screen;
pub mod signals;
pub mod streams;
mod styles;
pub mod user;

pub use abort::{Abort, system_words};
pub use failure_kind::{ExitCodes, FAILED, FailureKind};
pub use output::{Ui, Verbosity, short_hex};
pub use streams::Streams;
