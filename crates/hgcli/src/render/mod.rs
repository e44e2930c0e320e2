//! How results are printed: templates, formatter, diffs, graphs, changesets.

pub mod changesets;
pub mod diff;
pub mod formatter;
pub mod graph;
pub mod templates;

pub(crate) use formatter::Formatter;
