//! Replaying the changes of a changeset on other parents without the working copy, as rebases and grafts do where no
//! file needs more than a merge of its lines.
//!
//! A step is planned from three manifests. Renames on the side of the new parents, deletions of changed files, links,
//! binary files and conflicts are [beyond it](Replayed): such a step is for
//! [`merge_changeset`](crate::merge_changeset), which has the working copy to leave conflicts in. Both ways end with
//! the same changeset.

mod copies;
mod names;

use crate::merge::{is_binary, merge_texts};
use crate::tree::differences;
use crate::tree::{Tree, TreeEntry};
use crate::{CommitMetadata, MergeLabels, MergeTool, WorkdirError};
use copies::CopySources;
use varve_delta::TouchingChanges;
use varve_repo::{CommitBatch, FileChange, FileKind, Node, RepoView, Rev};

/// A changeset and the place where its changes are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    /// The changeset, which the view of the [`Replayer`] has.
    pub rev: Rev,
    /// Changeset against which its changes are taken.
    pub base: Option<Rev>,
    /// The parents of the new changeset, which may be of the batch.
    pub parents: [Node; 2],
}

/// Plans steps, and keeps what it has found out about files.
pub struct Replayer<'a> {
    view: &'a RepoView,
    copies: CopySources<'a>,
}

/// The content of one file of a new changeset.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReplayedFile {
    path: Vec<u8>,
    /// Content and kind; `None` removes the file.
    written: Option<(Vec<u8>, FileKind)>,
    copied_from: Option<Vec<u8>>,
    /// Whether the new parent lacks it.
    is_new: bool,
}

/// The files of a new changeset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayPlan {
    parents: [Node; 2],
    files: Vec<ReplayedFile>,
    /// Files whose lines were merged.
    pub merged: Vec<Vec<u8>>,
    /// Whether the new changeset changes the same files from the same contents to the same contents.
    pub keeps_diff: bool,
}

/// The outcome of planning a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// Files of the new changeset.
    Plan(ReplayPlan),
    /// Lines of a file are in conflict.
    Conflict {
        /// Files whose lines were to be merged.
        merged: Vec<Vec<u8>>,
    },
    /// Only the working copy can tell.
    NeedsWorkingCopy,
}

/// Fate of one file.
enum FileFate {
    /// The new parent's version stays.
    Stays,
    Changes(ReplayedFile),
    /// The same, after a merge of lines; `None` if they end as the new parent's.
    Merged(Option<ReplayedFile>),
    Conflict,
    /// Only the working copy can tell.
    Unclear,
}

impl<'a> Replayer<'a> {
    /// Replays changesets of `view`.
    pub fn new(view: &'a RepoView) -> Self {
        Replayer {
            view,
            copies: CopySources::new(view),
        }
    }

    /// Plans one step.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn plan(
        &mut self,
        batch: &CommitBatch,
        step: &ReplayStep,
    ) -> Result<Replayed, WorkdirError> {
        let onto = step.parents[0];
        let ours = Tree::of_text(self.view, onto, batch.manifest_text(&onto)?);
        let base = Tree::of(self.view, step.base)?;
        let theirs = Tree::of(self.view, Some(step.rev))?;
        let changed = differences(&base, &theirs)?;
        let trees = [&base, &ours, &theirs];
        if !names::are_free(trees, &changed)? || !self.copies.are_clear(trees, &changed)? {
            return Ok(Replayed::NeedsWorkingCopy);
        }
        let mut has_conflicts = false;
        let mut plan = ReplayPlan {
            parents: step.parents,
            files: Vec::new(),
            merged: Vec::new(),
            keeps_diff: step.parents[1].is_null(),
        };
        for (path, before, after) in changed {
            let here = ours.get(path)?;
            plan.keeps_diff &= here == before;
            match self.fate(batch, path, [before, here, after])? {
                FileFate::Stays => {}
                FileFate::Changes(file) => plan.files.push(file),
                FileFate::Merged(file) => {
                    plan.merged.push(path.to_vec());
                    plan.files.extend(file);
                }
                FileFate::Conflict => {
                    plan.merged.push(path.to_vec());
                    has_conflicts = true;
                }
                FileFate::Unclear => return Ok(Replayed::NeedsWorkingCopy),
            }
        }
        Ok(match has_conflicts {
            true => Replayed::Conflict {
                merged: plan.merged,
            },
            false => Replayed::Plan(plan),
        })
    }

    fn fate(
        &mut self,
        batch: &CommitBatch,
        path: &[u8],
        [before, here, after]: [Option<TreeEntry>; 3],
    ) -> Result<FileFate, WorkdirError> {
        if here == after {
            return Ok(FileFate::Stays);
        }
        let file = |written, copied_from| ReplayedFile {
            path: path.to_vec(),
            written,
            copied_from,
            is_new: here.is_none(),
        };
        let Some(after) = after else {
            return Ok(match here == before {
                true => FileFate::Changes(file(None, None)),
                false => FileFate::Unclear,
            });
        };
        if here.is_none() && before.is_none() {
            let content = self.view.file_content(path, &after.0)?;
            let source = self.copies.source(path, after.0)?;
            return Ok(FileFate::Changes(file(Some((content, after.1)), source)));
        }
        let (Some(before), Some(here)) = (before, here) else {
            return Ok(FileFate::Unclear);
        };
        if [before, here, after].iter().any(|side| side.1 != before.1) && here != before {
            return Ok(FileFate::Unclear);
        }
        let ours = batch.file_content(path, &here.0)?;
        let theirs = self.view.file_content(path, &after.0)?;
        if ours == theirs {
            return Ok(match here.1 == after.1 {
                true => FileFate::Stays,
                false => FileFate::Changes(file(Some((theirs, after.1)), None)),
            });
        }
        if here == before {
            return Ok(FileFate::Changes(file(Some((theirs, after.1)), None)));
        }
        let base = self.view.file_content(path, &before.0)?;
        let sides = [&base[..], &ours, &theirs];
        if after.1 == FileKind::Symlink || sides.iter().any(|side| is_binary(side)) {
            return Ok(FileFate::Unclear);
        }
        let merged = merge_texts(
            MergeTool::Merge,
            TouchingChanges::Conflict,
            &MergeLabels::unnamed(),
            sides,
        );
        Ok(match merged.conflicts {
            true => FileFate::Conflict,
            false if merged.content == ours => FileFate::Merged(None),
            false => FileFate::Merged(Some(file(Some((merged.content, after.1)), None))),
        })
    }
}

impl ReplayPlan {
    /// True if a file is a copy of another one.
    pub fn has_copies(&self) -> bool {
        self.files.iter().any(|file| file.copied_from.is_some())
    }

    /// The parents of the new changeset.
    pub fn parents(&self) -> [Node; 2] {
        self.parents
    }

    /// Files that the new parent lacks.
    pub fn added(&self) -> impl Iterator<Item = &[u8]> {
        let added = self.files.iter().filter(|file| file.is_new);
        added.map(|file| &file.path[..])
    }

    /// Whether the new parent has all that the changeset would bring.
    pub fn is_unchanged(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds the new changeset to the batch.
    ///
    /// # Errors
    /// As of [`CommitBatch::commit`].
    pub fn commit(
        &self,
        batch: &mut CommitBatch,
        metadata: &CommitMetadata<'_>,
    ) -> Result<Node, WorkdirError> {
        let mut files = batch.files_from(self.parents)?;
        for file in &self.files {
            let change = match &file.written {
                None => FileChange::Remove { path: &file.path },
                Some((content, kind)) => FileChange::Write {
                    path: &file.path,
                    content,
                    kind: *kind,
                    copied_from: file.copied_from.as_deref(),
                },
            };
            batch.change(&mut files, &change)?;
        }
        Ok(batch.commit_files(files, &metadata.changeset(self.parents))?)
    }
}
