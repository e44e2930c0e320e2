//! Evaluation of filesets, such as `set:modified() and **.c`; their grammar is
//! [`varve_lang::fileset`].
//!
//! An expression becomes a predicate over paths. The files that it asks for come from a
//! [`FileSource`]: the working copy or a changeset.

mod content;
mod functions;
mod size;
mod test;

use crate::format::FileKind;
use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;
use varve_lang::fileset::Expr;
use varve_lang::patterns::{CompilePattern, FileResolver, PathPredicate, PatternError};
use varve_revlog::Rev;

/// A list of files by their state, as in `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileList {
    /// Content or flags differ.
    Modified,
    /// Added by the change.
    Added,
    /// Removed by the change.
    Removed,
    /// Tracked, but missing in the working copy.
    Deleted,
    /// Not tracked and not ignored.
    Unknown,
    /// Not tracked and matched by an ignore pattern.
    Ignored,
    /// Unchanged.
    Clean,
    /// Tracked, whatever the state.
    Tracked,
    /// Recorded as copies.
    Copied,
    /// Merged and marked as resolved.
    Resolved,
    /// Merged with conflicts that are not resolved.
    Unresolved,
}

/// A set of paths.
pub type Paths = Arc<HashSet<Vec<u8>>>;

/// The files of the working copy or of a changeset.
pub trait FileSource: Debug + Send + Sync {
    /// The files of a list.
    ///
    /// # Errors
    /// The files cannot be read, or the list is not supported by this source.
    fn list(&self, list: FileList) -> Result<Paths, PatternError>;

    /// Size and kind of a file; `None` if it does not exist.
    fn metadata(&self, path: &[u8]) -> Option<(u64, FileKind)>;

    /// The content of a file; `None` if it does not exist.
    fn content(&self, path: &[u8]) -> Option<Vec<u8>>;

    /// The patterns of the ignore files.
    ///
    /// # Errors
    /// A pattern is invalid or an ignore file cannot be read.
    fn ignored(&self) -> Result<PathPredicate, PatternError>;

    /// The files of another changeset, or of the null revision.
    fn at_rev(&self, rev: Option<Rev>) -> Arc<dyn FileSource>;

    /// The sources selected by a revset.
    ///
    /// # Errors
    /// The revset cannot be evaluated.
    fn at_query(&self, query: &[u8]) -> Result<Vec<Arc<dyn FileSource>>, PatternError>;

    /// The source selected by the revset `query`, with lists relative to the one selected by
    /// `base`.
    ///
    /// # Errors
    /// A revset cannot be evaluated or is empty.
    fn between(&self, base: &[u8], query: &[u8]) -> Result<Arc<dyn FileSource>, PatternError>;

    /// The patterns of a file in the syntax of `.hgignore`.
    ///
    /// # Errors
    /// The file cannot be read or one of its patterns is invalid.
    fn pattern_file(&self, name: &[u8]) -> Result<PathPredicate, PatternError>;
}

/// Evaluates filesets over the files of a source.
#[derive(Debug)]
pub struct FilesetEvaluator {
    source: Arc<dyn FileSource>,
}

impl FilesetEvaluator {
    /// An evaluator over the files of `source`.
    pub fn new(source: Arc<dyn FileSource>) -> FilesetEvaluator {
        FilesetEvaluator { source }
    }
}

impl FileResolver for FilesetEvaluator {
    fn fileset(
        &self,
        expr: &Expr,
        compile: &CompilePattern<'_>,
    ) -> Result<PathPredicate, PatternError> {
        let source = &self.source;
        let test = functions::Evaluation { source, compile }.test(expr)?;
        Ok(PathPredicate::new(move |path| test.matches(path)))
    }

    fn pattern_file(&self, name: &[u8]) -> Result<PathPredicate, PatternError> {
        self.source.pattern_file(name)
    }
}

/// Never panics on any size.
pub(crate) fn fuzz_size(data: &[u8]) {
    let _ = size::sizes(&String::from_utf8_lossy(data));
}
