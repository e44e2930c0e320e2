//! Changes that the user has chosen from those of the working copy.

use super::PatchObserver;
use super::memory::{MemoryTarget, PatchedChangeset};
use crate::{ChosenFiles, Tree, WorkdirError, WorkingFiles};
use varve_patch::{ApplyOptions, PatchError, apply};
use varve_repo::{RepoView, Repository, Rev};

/// Lines of context that need not fit, as where patches are imported.
const FUZZ: usize = 2;

/// Makes the files that a patch in git's form makes of those of a changeset. The working copy only gets files of rejected
/// hunks, which an edited patch may have.
///
/// # Errors
/// A patch that does not apply; damage in the repository.
pub fn apply_chosen(
    (repository, view): (&Repository, &RepoView),
    rev: Option<Rev>,
    patch: &[u8],
    observer: PatchObserver<'_>,
) -> Result<ChosenFiles, WorkdirError> {
    let files = WorkingFiles::new(repository.root());
    let mut target = MemoryTarget {
        contents: &|path, node| Ok(view.file_content(path, node)?),
        rejects: Some(&files),
        tree: Tree::of(view, rev)?,
        observer,
        changes: PatchedChangeset::default(),
    };
    let options = ApplyOptions {
        strip: 1,
        fuzz: FUZZ,
        ..ApplyOptions::default()
    };
    match apply(patch, &mut target, &options)?.has_rejects {
        true => Err(PatchError::Rejected.into()),
        false => Ok(target.changes.into_chosen()),
    }
}
