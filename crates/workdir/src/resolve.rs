//! Merging files again that an update or a merge has left with conflicts.

use crate::branch_merge::record_deletion;
use crate::file_merges::{MergeFile, MergeSettings, Merger};
use crate::merge::{Version, has_markers};
use crate::merge_state::{FileState, MergeState, Present};
use crate::tree::TreeEntry;
use crate::{Dirstate, MergeOptions, Tree, UpdateObserver, WorkdirError, WorkingFiles};
use varve_base::Interrupt;
use varve_repo::{FileKind, RepoView, Repository};

/// The repository and options of `resolve`.
#[derive(Clone, Copy)]
pub struct ResolveRequest<'a> {
    /// The repository; the caller holds the lock of its working copy.
    pub repository: &'a Repository,
    /// Has the versions of both sides.
    pub view: &'a RepoView,
    /// The merge tool.
    pub tool: &'a MergeOptions,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// Merges one file of `state` again unless it is resolved, from the versions that were there before the merge, and notes
/// the result in `state`; both it and the dirstate are for the caller to write. The file as it is now is backed up in any
/// case. Returns whether the file is resolved.
///
/// # Errors
/// A version that is missing; a failure of the file system.
pub fn merge_again(
    request: &ResolveRequest<'_>,
    state: &mut MergeState,
    path: &[u8],
    dirstate: &mut Dirstate,
    observer: &mut dyn UpdateObserver,
) -> Result<bool, WorkdirError> {
    let Some(file) = state.file(path).cloned() else {
        return Ok(true);
    };
    let files = WorkingFiles::new(request.repository.root());
    let now = match files.stat(path)? {
        Some(_) => Some(files.read(path)?),
        None => None,
    };
    let resolved = match file.resolved {
        true => true,
        false => merge(request, state, &file, dirstate, observer)?,
    };
    if let (Some((content, kind)), Some(place)) = (now, request.tool.backups.place(path)) {
        files.make_directories(&place)?;
        files.write(&place, &content, kind)?;
    }
    state.set_resolved(path, resolved);
    Ok(resolved)
}

fn merge(
    request: &ResolveRequest<'_>,
    state: &MergeState,
    file: &FileState,
    dirstate: &mut Dirstate,
    observer: &mut dyn UpdateObserver,
) -> Result<bool, WorkdirError> {
    let (repository, view) = (request.repository, request.view);
    let ours = match &file.ours {
        Some(ours) => Some(Version {
            content: MergeState::kept(repository, ours)?,
            kind: file.kind,
        }),
        None => None,
    };
    let tree = |node| Tree::of(view, view.changelog().rev(node));
    let (base, theirs) = (tree(&file.ancestor)?, tree(&state.other)?);
    let merge = merge_file(file, &base, &theirs)?;
    let settings = MergeSettings {
        repository,
        view,
        tool: request.tool,
        labels: &state.labels,
        stop: request.stop,
    };
    let outcome = Merger::prepare(settings, &[], observer)?.merge_again(
        merge,
        ours,
        [state.local, state.other],
    )?;
    if file.ours.is_none() || file.theirs.is_none() {
        let is_merge = !dirstate.parents()[1].is_null();
        let parent = tree(&dirstate.parents()[0])?;
        match is_merge {
            true => record_deletion(dirstate, &parent, &outcome)?,
            false => {
                let in_target = parent.get(&file.path)?.is_some();
                outcome.note_update(dirstate, Dirstate::clock(repository)?, in_target);
            }
        }
    }
    Ok(outcome.is_resolved())
}

/// The versions of a file, with their kinds from the manifests.
fn merge_file(
    file: &FileState,
    base: &Tree<'_>,
    theirs: &Tree<'_>,
) -> Result<MergeFile, WorkdirError> {
    let entry = |tree: &Tree<'_>, side: &Option<Present>| -> Result<_, WorkdirError> {
        let Some(Present { path, node }) = side else {
            return Ok(None);
        };
        let kind = tree.get(path)?.map_or(FileKind::Plain, |(_, kind)| kind);
        let entry: TreeEntry = (*node, kind);
        Ok(Some((path.clone(), entry)))
    };
    Ok(MergeFile {
        dest: file.path.clone(),
        ours: file.ours.clone(),
        base: entry(base, &file.base)?,
        theirs: entry(theirs, &file.theirs)?,
        moves: false,
        ancestor: file.ancestor,
    })
}

/// Whether a file still has the lines that a merge leaves around a conflict.
///
/// # Errors
/// A failure to read it.
pub fn has_conflict_markers(repository: &Repository, path: &[u8]) -> Result<bool, WorkdirError> {
    let files = WorkingFiles::of(repository);
    if files.stat(path)?.is_none() {
        return Ok(false);
    }
    Ok(has_markers(&files.read(path)?.0))
}
