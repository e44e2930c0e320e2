//! An unshelve that may leave conflicts: the commit of local changes and the shelved changeset are in the store for the
//! time being, so that either program can go on.
//!
//! The state is written first, and names all that is added; giving up an unshelve that was cut short removes what of it
//! is there.

use super::merged::MergedChanges;
use super::restore::{Restoring, known, pending_words};
use super::{Unshelve, finish, interrupted};
use crate::commands::local::commit::metadata;
use crate::commands::local::merge::{self, MergeSides};
use crate::ui::Abort;
use std::fs::File;
use varve_exchange::add_history;
use varve_exchange::format::bundle::open_bundle;
use varve_exchange::format::limits::BundleLimits;
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, Node, RepoView, ViewFilter};
use varve_workdir::{
    CommitContext, Dirstate, MergeBase, MergeLabels, ShelfFile, Tracking, Tree, UnshelveState,
};

/// Merges the shelved changeset with the working copy.
pub(super) fn merge(
    unshelve: &mut Unshelve<'_>,
    restoring: &Restoring<'_>,
    mut dirstate: Dirstate,
) -> Result<u8, Abort> {
    let state = state(unshelve, restoring)?;
    state.write(unshelve.repository)?;
    let before = dirstate.clone();
    let merged = add(unshelve, restoring, &mut dirstate)
        .and_then(|()| merge_files(unshelve, &state, &mut dirstate));
    match merged {
        Ok(0) => match MergedChanges::look(unshelve, &state) {
            Ok(merged) => merged.finish(unshelve, &state, restoring.shelf),
            Err(abort) if state.is_interactive => {
                interrupted::leave(unshelve, &state, before)?;
                Err(abort)
            }
            Err(abort) => Err(abort),
        },
        Ok(_) => Err(Abort::Intervention(
            "unresolved conflicts (see 'hg resolve', then 'hg unshelve --continue')",
        )),
        Err(abort) => {
            interrupted::undo(unshelve, &state)?;
            Err(abort)
        }
    }
}

/// The state for a later call.
fn state(unshelve: &mut Unshelve<'_>, restoring: &Restoring<'_>) -> Result<UnshelveState, Abort> {
    let here = unshelve.repository.view_for(ViewFilter::Unfiltered)?;
    let beside = restoring.overlay.view_for(ViewFilter::Unfiltered)?;
    let changelog = beside.changelog();
    let nodes = changelog.revs().map(|rev| changelog.node(rev));
    let mut temporary: Vec<Node> = nodes
        .filter(|node| here.changelog().rev(node).is_none())
        .collect();
    temporary.sort_by_key(|node| *node != restoring.pending);
    let rev = known(&beside, &restoring.shelved)?;
    Ok(UnshelveState {
        name: restoring.shelf.name().to_vec(),
        original: restoring.original,
        pending: restoring.pending,
        shelved: restoring.shelved,
        temporary,
        branch: finish::begun_branch(&beside, rev)?,
        keeps: unshelve.matches.flag("keep"),
        active_bookmark: varve_workdir::active_bookmark(unshelve.repository)?,
        is_interactive: unshelve.matches.flag("interactive"),
    })
}

/// Adds the commit of local changes and the bundle to the store.
fn add(
    unshelve: &mut Unshelve<'_>,
    restoring: &Restoring<'_>,
    dirstate: &mut Dirstate,
) -> Result<(), Abort> {
    let Unshelve {
        repo,
        ui,
        config,
        repository,
        ..
    } = unshelve;
    varve_workdir::set_active_bookmark(repository, None)?;
    let options = metadata::write_options(config, repository)?;
    if restoring.pending != restoring.original {
        let lock = repo.lock(ui, LockKind::Store)?;
        let view = repository.view_for(ViewFilter::Unfiltered)?;
        let branch = varve_workdir::branch(repository)?;
        let place = CommitContext {
            chosen: None,
            repository,
            lock,
            seen: &view,
            options,
            stop: &ui.stop,
        };
        let words = pending_words(restoring, &branch);
        varve_workdir::commit(place, dirstate, &restoring.status, &words)?;
    }
    let path = restoring.shelf.path(ShelfFile::Bundle);
    let file = File::open(&path).map_err(|error| Abort::file(&error, &path))?;
    let bundle = open_bundle(file, BundleLimits::default())?;
    let lock = repo.lock(ui, LockKind::Store)?;
    add_history(repository, lock, bundle, (options, "unshelve"), &ui.stop)?;
    repo.refresh();
    Ok(())
}

/// Merges in the working copy; returns the number of unresolved files.
fn merge_files(
    unshelve: &mut Unshelve<'_>,
    state: &UnshelveState,
    dirstate: &mut Dirstate,
) -> Result<usize, Abort> {
    let Unshelve {
        repo,
        ui,
        config,
        matches,
        repository,
    } = unshelve;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let other = known(&view, &state.shelved)?;
    let parents = [state.pending, state.shelved];
    repo.before_update(ui, &parents)?;
    let labels = MergeLabels::of_unshelve();
    let sides = MergeSides {
        other,
        base: MergeBase::Chosen(view.changelog().parents(other)[0]),
        keeps_changes: false,
        labels: &labels,
    };
    let place = (*repository, &*view);
    let merged = merge::merge(ui, config, matches, place, dirstate, &sides)?;
    repo.after_update(ui, &parents, merged.unresolved)?;
    if merged.unresolved > 0 {
        show_second_parent(unshelve, &view, state, dirstate)?;
    }
    Ok(merged.unresolved)
}

/// Gives the working copy both parents, as Mercurial leaves them; files of the merge are marked as such.
fn show_second_parent(
    unshelve: &Unshelve<'_>,
    view: &RepoView,
    state: &UnshelveState,
    dirstate: &mut Dirstate,
) -> Result<(), Abort> {
    let changelog = view.changelog();
    let shelved = changelog.rev(&state.shelved);
    let base = shelved.and_then(|rev| changelog.parents(rev)[0]);
    let everything = Matcher::everything();
    let brought = varve_workdir::status_between(view, base, shelved, &everything, false)?;
    let tree = Tree::of(view, changelog.rev(&state.pending))?;
    let paths = brought.modified.iter().chain(&brought.added);
    for path in paths
        .filter(|path| dirstate.is_tracked(path))
        .cloned()
        .collect::<Vec<_>>()
    {
        let tracking = Tracking {
            working: true,
            p1: tree.get(&path)?.is_some(),
            p2_info: true,
        };
        dirstate.set_tracking(&path, tracking);
    }
    dirstate.set_parents([state.pending, state.shelved]);
    Ok(dirstate.write(unshelve.repository)?)
}
