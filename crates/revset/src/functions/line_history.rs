//! The history of some lines of the working copy's files, for `log --line-range`.

use super::followed_lines::{FollowedRevision, LineWalk, Lines, check_length, lines_in};
use crate::follow::Filelogs;
use crate::{Engine, RevsetError, WORKING_COPY};
use std::collections::BTreeMap;
use varve_repo::{Node, Rev};

/// Followed lines in the changesets that changed them, by path; counted from 0. The working copy is
/// [`WORKING_COPY`].
pub type LineHistory = BTreeMap<Rev, BTreeMap<Vec<u8>, Vec<Lines>>>;

/// A tracked file of the working copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingCopyFile {
    /// Its path.
    pub path: Vec<u8>,
    /// Its bytes on the disk.
    pub content: Vec<u8>,
    /// The revisions that it comes from, under the paths that they have in the working copy's parents.
    pub parents: Vec<(Rev, Vec<u8>, Node)>,
}

impl Engine<'_> {
    /// Adds to `found` the changesets that changed `lines` of a file, up to the working copy.
    ///
    /// # Errors
    /// [`RevsetError::Missing`] if the file has fewer lines; a repository that cannot be read.
    pub fn follow_lines(
        &self,
        file: &WorkingCopyFile,
        lines: Lines,
        found: &mut LineHistory,
    ) -> Result<(), RevsetError> {
        check_length(&file.content, &lines)?;
        let mut walk = LineWalk {
            view: self.view(),
            filelogs: Filelogs::new(self.view()),
        };
        let mut is_changed = file.parents.is_empty();
        let mut starts = Vec::new();
        for (changeset, path, node) in &file.parents {
            let before = walk.content(path, node)?;
            let (changed, lines) = lines_in(&before, &file.content, &lines);
            is_changed |= changed;
            if !lines.is_empty() {
                starts.push(FollowedRevision {
                    changeset: *changeset,
                    path: path.clone(),
                    node: *node,
                    lines,
                });
            }
        }
        let mut note = |rev: Rev, path: &[u8], lines: Lines| {
            let of_changeset = found.entry(rev).or_default();
            of_changeset.entry(path.to_vec()).or_default().push(lines);
        };
        if is_changed {
            note(WORKING_COPY, &file.path, lines);
        }
        for changed in walk.changing(starts)? {
            note(changed.changeset, &changed.path, changed.lines);
        }
        Ok(())
    }
}
