//! What is asked of each path.

use super::content::Content;
use super::{FileSource, PathTest, Paths};
use crate::patterns::PatternSet;
use std::sync::Arc;

/// A set of files: tells of each path whether it is in it.
#[derive(Clone)]
pub struct Fileset(pub(super) Test);

#[derive(Clone)]
pub(super) enum Test {
    Never,
    Patterns(Arc<PatternSet>),
    Listed(Paths),
    /// By the path alone.
    Path(PathTest),
    /// By what the file is.
    Content(Arc<dyn FileSource>, Arc<Content>),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Vec<Test>),
}

impl std::fmt::Debug for Fileset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fileset")
    }
}

impl Fileset {
    /// What patterns match.
    pub(crate) fn of_patterns(set: PatternSet) -> Fileset {
        Fileset(Test::Patterns(Arc::new(set)))
    }

    /// What a test tells.
    pub(crate) fn of_test(test: PathTest) -> Fileset {
        Fileset(Test::Path(test))
    }

    /// Whether a path is in it.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.0.matches(path)
    }
}

impl Test {
    fn matches(&self, path: &[u8]) -> bool {
        match self {
            Test::Never => false,
            Test::Patterns(set) => set.matches(path),
            Test::Listed(paths) => paths.contains(path),
            Test::Path(test) => test(path),
            Test::Content(source, content) => content.holds(source.as_ref(), path),
            Test::Not(inner) => !inner.matches(path),
            Test::And(first, second) => first.matches(path) && second.matches(path),
            Test::Or(all) => all.iter().any(|one| one.matches(path)),
        }
    }

    /// Both; what reads files is asked last.
    pub(super) fn and(self, other: Test) -> Test {
        let (first, second) = match self.reads() && !other.reads() {
            true => (other, self),
            false => (self, other),
        };
        Test::And(Box::new(first), Box::new(second))
    }

    /// Whether files may have to be read.
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
