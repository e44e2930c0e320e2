//! Patterns that names alone do not decide.

use super::{PatternError, PatternSet};
use crate::fileset;
use std::fmt::{Debug, Formatter, Result as FmtResult};
use std::sync::Arc;

type PathTest = dyn Fn(&[u8]) -> bool + Send + Sync;

/// A test of paths.
#[derive(Clone)]
pub struct PathPredicate(Arc<PathTest>);

impl PathPredicate {
    /// Makes a predicate of a function.
    pub fn new(test: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> PathPredicate {
        PathPredicate(Arc::new(test))
    }

    /// Whether the predicate holds for a path.
    pub fn matches(&self, path: &[u8]) -> bool {
        (self.0)(path)
    }
}

impl Debug for PathPredicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        f.write_str("PathPredicate")
    }
}

/// Compiles a pattern inside a fileset; its arguments are the kind, if the pattern names one, and
/// the text.
pub type CompilePattern<'c> = dyn Fn(Option<&[u8]>, &[u8]) -> Result<PatternSet, PatternError> + 'c;

/// Resolves `set:` and `include:` patterns over the files of a working copy or changeset.
pub trait FileResolver {
    /// Compiles a fileset.
    ///
    /// # Errors
    /// An unknown function, wrong arguments, or files that cannot be listed.
    fn fileset(
        &self,
        expr: &fileset::Expr,
        compile: &CompilePattern<'_>,
    ) -> Result<PathPredicate, PatternError>;

    /// Compiles the patterns of a file in the syntax of `.hgignore`.
    ///
    /// # Errors
    /// The file cannot be read or one of its patterns is invalid.
    fn pattern_file(&self, name: &[u8]) -> Result<PathPredicate, PatternError>;
}
