//! File patterns: `glob:*.c`, `path:docs`, `re:.*\.py$` and their kin, and what is made of the
//! arguments, `-I` and `-X` of a command.
//!
//! Patterns become one set of paths and one regular expression; see [`PatternSet`]. Expressions
//! are Python's, translated by [`python`] where the two languages differ.

mod error;
mod glob;
mod kind;
mod matcher;
mod names;
mod python;
mod search;
mod set;

pub use error::PatternError;
pub use kind::{Kind, Pattern};
pub use matcher::{Matcher, Request};
pub use names::{Audit, NamesOnly, check_components, normalise, relative_to_root};
pub use search::{NoSearch, Search};
pub(crate) use set::search_regex;
pub use set::{End, PatternSet};

/// Never panics on any pattern, and matches any path in time linear in both.
pub(crate) fn fuzz(data: &[u8]) {
    let (text, path) = match data.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b"a/b.c"[..]),
    };
    let pattern = Pattern::parse(text, Kind::Glob);
    if let Ok(set) = PatternSet::compile(&[pattern], End::FileOrFolder) {
        let _ = (set.matches(path), set.may_match_below(path));
    }
}

#[cfg(test)]
mod tests;
