//! A compiled fileset.

use super::content::Content;
use super::{FileSource, Paths};
use std::sync::Arc;
use varve_lang::patterns::{PathPredicate, PatternSet};

/// A test of paths.
pub(super) enum Test {
    Never,
    Patterns(Arc<PatternSet>),
    Listed(Paths),
    /// Decided by the path alone.
    Path(PathPredicate),
    /// Decided by the file's content or metadata.
    Content(Arc<dyn FileSource>, Arc<Content>),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Vec<Test>),
}

impl Test {
    /// Whether a path is in the set.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        match self {
            Test::Never => false,
            Test::Patterns(set) => set.matches(path),
            Test::Listed(paths) => paths.contains(path),
            Test::Path(test) => test.matches(path),
            Test::Content(source, content) => content.holds(source.as_ref(), path),
            Test::Not(inner) => !inner.matches(path),
            Test::And(first, second) => first.matches(path) && second.matches(path),
            Test::Or(all) => all.iter().any(|one| one.matches(path)),
        }
    }

    /// The conjunction; a test that reads files is evaluated last.
    pub(super) fn and(self, other: Test) -> Test {
        let (first, second) = match self.reads() && !other.reads() {
            true => (other, self),
            false => (self, other),
        };
        Test::And(Box::new(first), Box::new(second))
    }

    /// Whether the test may read files.
    fn reads(&self) -> bool {
        match self {
            Test::Content(..) => true,
            Test::Not(inner) => inner.reads(),
            Test::And(first, second) => first.reads() || second.reads(),
            Test::Or(all) => all.iter().any(Test::reads),
            _ => false,
        }
    }
}
