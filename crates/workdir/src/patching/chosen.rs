//! Changes that the user has chosen from those of the working copy.

use super::PatchObserver;
use super::memory::{MemoryTarget, PatchedChangeset};
use super::working::WorkingTarget;
use crate::{ChosenFiles, Dirstate, Tree, WorkdirError, WorkingFiles};
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

/// Applies a patch in git's form to the working copy, which the dirstate then looks at anew. Hunks that do not fit are kept
/// in files beside it. The caller writes the dirstate.
///
/// # Errors
/// A patch that does not apply; a failure of the file system.
pub fn apply_to_working_copy(
    repository: &Repository,
    dirstate: &mut Dirstate,
    patch: &[u8],
    observer: PatchObserver<'_>,
) -> Result<(), WorkdirError> {
    let mut target = WorkingTarget::new(repository, dirstate, observer);
    let options = ApplyOptions {
        strip: 1,
        fuzz: FUZZ,
        ..ApplyOptions::default()
    };
    let outcome = apply(patch, &mut target, &options)?;
    for path in target.into_changed() {
        dirstate.set_possibly_dirty(&path);
    }
    match outcome.has_rejects {
        true => Err(PatchError::Rejected.into()),
        false => Ok(()),
    }
}
