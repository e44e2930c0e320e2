//! An unshelve that left conflicts: going on, and giving it up.

use super::{Unshelve, finish};
use crate::commands::local::commit::{self, metadata};
use crate::commands::local::shelve::commit_beside;
use crate::commands::local::{unfinished, update};
use crate::ui::Abort;
use std::collections::BTreeSet;
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, Node, RepoView, ViewFilter};
use varve_workdir::{
    ChangesetMetadata, Dirstate, LocalChanges, ShelfDirectory, ShelvedChanges, Tracking, Tree,
    UnshelveState, WorkdirError,
};

/// `--abort` or `--continue`.
pub(super) fn run(unshelve: &mut Unshelve<'_>) -> Result<u8, Abort> {
    let aborts = unshelve.matches.flag("abort");
    let is_typed = |value: &[u8]| !value.is_empty();
    if aborts && unshelve.matches.value("tool").is_some_and(is_typed) {
        unshelve.ui.warn("tool option will be ignored\n")?;
    }
    let state = match UnshelveState::read(unshelve.repository) {
        Ok(state) => state,
        Err(WorkdirError::DamagedUnshelveState) if aborts => {
            UnshelveState::clear(unshelve.repository)?;
            return Err(Abort::new(
                "could not read shelved state file, your working copy may be in an unexpected \
                 state\nplease update to some commit\n",
            ));
        }
        Err(error @ WorkdirError::DamagedUnshelveState) => {
            return Err(Abort::new(error.to_string())
                .hint("please run hg unshelve --abort to abort unshelve operation"));
        }
        Err(error) => return Err(error.into()),
    };
    let Some(state) = state else {
        let abort = Abort::state("no unshelve in progress");
        return Err(match unfinished::continuation(unshelve.repository)? {
            Some(continuation) => abort.hint(format!("continue: {continuation}")),
            None => abort,
        });
    };
    if aborts {
        return abort(unshelve, &state);
    }
    if state.is_interactive {
        return Err(Abort::input("unshelve --interactive is not supported"));
    }
    if varve_workdir::has_unresolved(unshelve.repository)? {
        return Err(Abort::new("unresolved conflicts, can't continue")
            .hint("see 'hg resolve', then 'hg unshelve --continue'"));
    }
    let directory = ShelfDirectory::of(unshelve.repository);
    let code = finish(unshelve, &state, &directory.shelf(&state.name))?;
    let name = String::from_utf8_lossy(&state.name).into_owned();
    unshelve
        .ui
        .status(format!("unshelve of '{name}' complete\n"))?;
    Ok(code)
}

/// `--abort`: as it was before.
fn abort(unshelve: &mut Unshelve<'_>, state: &UnshelveState) -> Result<u8, Abort> {
    undo(unshelve, state)?;
    let name = String::from_utf8_lossy(&state.name).into_owned();
    unshelve
        .ui
        .warn(format!("unshelve of '{name}' aborted\n"))?;
    Ok(0)
}

/// Brings back the working copy, and removes what was in the store for the time being.
pub(super) fn undo(unshelve: &mut Unshelve<'_>, state: &UnshelveState) -> Result<(), Abort> {
    let view = unshelve.repository.view_for(ViewFilter::Unfiltered)?;
    let mut dirstate = Dirstate::read(unshelve.repository)?;
    let parents = [state.pending, Node::NULL];
    let pending = view.changelog().rev(&state.pending);
    // An unshelve that was cut short may have got no further than the state, nor the working copy to any change.
    let has_begun = pending.is_some() || state.pending.is_null();
    if has_begun {
        let Unshelve {
            repo,
            ui,
            config,
            matches,
            repository,
        } = unshelve;
        repo.before_update(ui, &parents)?;
        let local = LocalChanges::Discard;
        let at = (*repository, &*view);
        let updated = update::go_to(ui, config, matches, at, &mut dirstate, pending, local)?;
        repo.after_update(ui, &parents, updated.unresolved)?;
    }
    if has_begun && state.pending != state.original {
        let original = view.changelog().rev(&state.original);
        varve_workdir::show_as_local_changes(
            (unshelve.repository, &view),
            &mut dirstate,
            [original, pending],
            &BTreeSet::new(),
        )?;
    }
    if has_begun {
        finish::set_branch_of_parent(unshelve, &view, &state.original)?;
    }
    clean_up(unshelve, state)
}

/// Removes changesets and the state, and activates the bookmark that was active.
fn clean_up(unshelve: &mut Unshelve<'_>, state: &UnshelveState) -> Result<(), Abort> {
    let Unshelve {
        repo,
        ui,
        config,
        repository,
        ..
    } = unshelve;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let nodes = state.temporary.iter().copied();
    let there: Vec<Node> = nodes
        .filter(|node| view.changelog().rev(node).is_some())
        .collect();
    if !there.is_empty() {
        let lock = repo.lock(ui, LockKind::Store)?;
        let options = metadata::strip_options(config, repository)?;
        repository.strip(lock, &there, options, &ui.stop)?;
        repo.refresh();
    }
    if let Some(active) = &state.active_bookmark
        && repo.view()?.bookmarks().contains_key(active)
    {
        varve_workdir::set_active_bookmark(repository, Some(active))?;
    }
    Ok(UnshelveState::clear(repository)?)
}

/// Makes local changes of what the working copy has now, over the parent that it had before.
pub(super) fn finish(
    unshelve: &mut Unshelve<'_>,
    state: &UnshelveState,
    shelf: &ShelvedChanges<'_>,
) -> Result<u8, Abort> {
    let repository = unshelve.repository;
    let here = repository.view_for(ViewFilter::Unfiltered)?;
    let mut dirstate = Dirstate::read(repository)?;
    drop_second_parent(&here, &mut dirstate, &state.pending)?;
    let everything = Matcher::everything();
    let status = commit::working_changes(unshelve.ui, repository, &everything, &mut dirstate)?;
    let rev = super::restore::known(&here, &state.shelved)?;
    let mut unknown = finish::unknown_files(&here, rev)?;
    unknown.retain(|path| status.added.contains(path));
    let overlay = unshelve.repo.scratch_overlay()?;
    let result = match status.is_unchanged() {
        true => {
            finish::note_unchanged(unshelve.ui)?;
            state.pending
        }
        false => {
            let old = ChangesetMetadata::read(&here, rev)?;
            let words = finish::words(&old);
            let whom = (&*unshelve.ui, unshelve.config);
            commit_beside(whom, &overlay, &mut dirstate, (&status, None, &words))?
        }
    };
    let view = overlay.view_for(ViewFilter::Unfiltered)?;
    let revs = [state.original, result].map(|node| view.changelog().rev(&node));
    varve_workdir::show_as_local_changes((repository, &view), &mut dirstate, revs, &unknown)?;
    finish::set_branch_of_parent(unshelve, &view, &state.original)?;
    clean_up(unshelve, state)?;
    finish::restore_branch(unshelve, state.branch.as_deref())?;
    let keeps = state.keeps || unshelve.matches.flag("keep");
    finish::put_away(unshelve, shelf, keeps)?;
    Ok(0)
}

/// Files of a merge become local changes over its first parent.
fn drop_second_parent(
    view: &RepoView,
    dirstate: &mut Dirstate,
    parent: &Node,
) -> Result<(), Abort> {
    let tree = Tree::of(view, view.changelog().rev(parent))?;
    let merged = dirstate.iter();
    let merged = merged.filter(|(_, entry)| entry.tracking().p2_info);
    let merged: Vec<(Vec<u8>, bool)> = merged
        .map(|(path, entry)| (path.to_vec(), entry.is_tracked()))
        .collect();
    for (path, working) in merged {
        let tracking = Tracking {
            working,
            p1: tree.get(&path)?.is_some(),
            p2_info: false,
        };
        dirstate.set_tracking(&path, tracking);
    }
    dirstate.set_parents([*parent, Node::NULL]);
    Ok(())
}
