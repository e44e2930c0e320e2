//! Sets of files: `set:modified() and **.c`, as `hg help filesets` has them.
//!
//! An expression becomes a [`Fileset`], which tells of each path whether it is in the set. What it
//! has to know of the files comes from a [`FileSource`]: the working folder or a changeset.

mod content;
mod functions;
mod parse;
mod size;
mod test;
mod token;

pub use test::Fileset;

use crate::FileKind;
use crate::patterns::PatternError;
use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;
use varve_revlog::Rev;

/// What became of files, as in `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Other content or flags than before.
    Modified,
    /// Not there before.
    Added,
    /// No longer there.
    Removed,
    /// Tracked, but missing in the working folder.
    Deleted,
    /// Not tracked.
    Unknown,
    /// Not tracked, and nobody wants to hear of it.
    Ignored,
    /// As before.
    Clean,
    /// All that is tracked.
    Tracked,
    /// Recorded as copies.
    Copied,
    /// Merged, or to be merged.
    Resolved,
    /// Still to be merged.
    Unresolved,
}

/// Tells of a path.
pub type PathTest = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// A set of paths.
pub type Paths = Arc<HashSet<Vec<u8>>>;

/// What files there are and what is in them.
pub trait FileSource: Debug + Send + Sync {
    /// The files of a list.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn list(&self, list: List) -> Result<Paths, PatternError>;

    /// Size and kind of a file; `None` if it is not there.
    fn look(&self, path: &[u8]) -> Option<(u64, FileKind)>;

    /// The content of a file; `None` if it is not there.
    fn content(&self, path: &[u8]) -> Option<Vec<u8>>;

    /// What is called so by those who do not want to hear of files.
    ///
    /// # Errors
    /// What is wrong with their patterns.
    fn ignored(&self) -> Result<PathTest, PatternError>;

    /// The files of another changeset, or of the null revision.
    fn of_rev(&self, rev: Option<Rev>) -> Arc<dyn FileSource>;

    /// The sources that a query for changesets names.
    ///
    /// # Errors
    /// What is wrong with the query.
    fn at(&self, query: &[u8]) -> Result<Vec<Arc<dyn FileSource>>, PatternError>;

    /// The source that the second query names, with lists against the one that the first names.
    ///
    /// # Errors
    /// What is wrong with a query.
    fn between(&self, base: &[u8], query: &[u8]) -> Result<Arc<dyn FileSource>, PatternError>;

    /// The patterns that a file in the syntax of `.hgignore` has.
    ///
    /// # Errors
    /// What is wrong with it.
    fn included(&self, name: &[u8]) -> Result<PathTest, PatternError>;
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FilesetError {
    /// In Mercurial's words.
    pub message: String,
    /// Where in the expression.
    pub at: Option<usize>,
    /// Advice.
    pub hint: Option<String>,
}

impl FilesetError {
    fn at(at: usize, message: impl Into<String>) -> FilesetError {
        FilesetError {
            message: message.into(),
            at: Some(at),
            hint: None,
        }
    }

    pub(crate) fn plain(message: impl Into<String>) -> FilesetError {
        FilesetError {
            message: message.into(),
            at: None,
            hint: None,
        }
    }
}

/// Patterns of the expression become sets of paths by this: kind and text.
pub(crate) type Compile<'c> = &'c dyn Fn(Option<&[u8]>, &[u8]) -> Result<Fileset, PatternError>;

/// Reads an expression about the files of `source`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn compile(
    text: &[u8],
    source: &Arc<dyn FileSource>,
    patterns: Compile<'_>,
) -> Result<Fileset, PatternError> {
    functions::Evaluator { source, patterns }.evaluate(&parse::parse(text)?)
}

/// The pattern that an expression is if it is nothing else: kind, if it has one, and text.
pub(crate) fn only_pattern(text: &[u8]) -> Option<(Option<Vec<u8>>, Vec<u8>)> {
    match parse::parse(text).ok()? {
        parse::Expr::Symbol(text) | parse::Expr::Text(text) => Some((None, text)),
        parse::Expr::Kind(kind, text) => Some((Some(kind), text)),
        _ => None,
    }
}

/// Never panics on any expression.
pub(crate) fn fuzz(data: &[u8]) {
    let _ = parse::parse(data);
    let _ = size::sizes(&String::from_utf8_lossy(data));
}
