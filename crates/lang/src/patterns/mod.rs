//! File patterns: `glob:*.c`, `path:docs`, `re:.*\.py$` and the other kinds, and the matcher made
//! of the arguments, `-I` and `-X` of a command.
//!
//! The patterns of a command become sets of paths and one regular expression; see [`PatternSet`].
//! Regular expressions are Python's, translated by [`python`] where the two languages differ. Those that need backtracking are
//! taken where the user who wrote them waits for the command, and refused where a client of a server may have written them.

mod backtracking;
mod error;
mod glob;
mod kind;
mod lines;
mod matcher;
mod names;
mod predicate;
mod python;
mod refusal;
mod regex;
mod set;

pub use error::PatternError;
pub use kind::{Pattern, PatternKind};
pub use lines::{LineSearch, MatchedLine, MatchedLines};
pub use matcher::{MatchRequest, Matcher};
pub use names::{NameCheck, PathCheck, check_components, normalise, relative_to_root};
pub use predicate::{CompilePattern, FileResolver, PathPredicate};
pub use python::{PythonRegexError, RegexEngine};
pub use refusal::why_invalid;
pub use regex::PythonRegex;
pub use set::{PatternEnd, PatternSet};

#[cfg(test)]
mod tests;
