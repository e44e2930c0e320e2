//! Where each line of a file comes from.
//!
//! First the revisions of the file that the one in question descends from are found, along copies
//! too; that takes the indexes alone. Then the lines are handed down from each revision to its
//! parents, as far as these have them, and lines of no parent are a revision's own. Texts are read
//! only as long as lines are left to hand down, and are dropped when they were compared.

mod graph;
mod trace;

use crate::format::RepoError;
use crate::read::RepoView;
use varve_base::Interrupt;
use varve_delta::Blanks;
use varve_revlog::{Node, Rev};

/// A file of a changeset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The revision whose manifest has the file.
    pub changeset: Rev,
    /// Path from the root of the repository.
    pub path: Vec<u8>,
    /// The file's revision.
    pub node: Node,
}

/// The file to annotate.
#[derive(Clone, Debug)]
pub enum AnnotateStart {
    /// As a changeset has it.
    Stored(StoredFile),
    /// In the working copy.
    Working {
        /// Path from the root of the working copy.
        path: Vec<u8>,
        /// Where it comes from, in the parents of the working copy; at most two.
        parents: Vec<StoredFile>,
    },
}

/// How lines are compared and followed.
pub struct AnnotateOptions<'a> {
    /// Whether copies are followed.
    pub follow: bool,
    /// Blanks that comparisons ignore.
    pub blanks: Blanks,
    /// Changesets to skip: their lines are attributed to their parents where possible.
    pub skip: &'a dyn Fn(Rev) -> bool,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// A revision of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Name of the file in this revision.
    pub path: Vec<u8>,
    /// Changeset that introduced it; `None` is the working copy.
    pub changeset: Option<Rev>,
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnotatedLine {
    /// BaseDir in [`Annotation::versions`].
    pub version: usize,
    /// Which line it was there, from 0.
    pub line: usize,
    /// Whether it only stands in the place of that line, because its changeset was skipped.
    pub skipped: bool,
}

/// Where all lines of a file come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotation {
    /// The revisions that lines come from, and others between them.
    pub versions: Vec<FileVersion>,
    /// One for each line.
    pub lines: Vec<AnnotatedLine>,
}

impl RepoView {
    /// Finds the revision that each line of `content` comes from.
    ///
    /// # Errors
    /// A damaged or missing revision; [`RepoError::Interrupted`].
    pub fn annotate(
        &self,
        start: &AnnotateStart,
        content: &[u8],
        how: &AnnotateOptions<'_>,
    ) -> Result<Annotation, RepoError> {
        let graph = graph::Graph::of(self, start, how.follow)?;
        let lines = trace::trace(&graph, content, how)?;
        let versions = graph.versions.into_iter().map(|version| FileVersion {
            path: version.path,
            changeset: version.changeset,
        });
        Ok(Annotation {
            versions: versions.collect(),
            lines,
        })
    }
}
