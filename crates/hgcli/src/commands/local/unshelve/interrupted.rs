//! An unshelve that left conflicts: going on, and giving it up.

use super::merged::MergedChanges;
use super::restore::known;
use super::{Unshelve, finish};
use crate::commands::local::commit::metadata;
use crate::commands::local::{unfinished, update};
use crate::ui::Abort;
use std::collections::BTreeSet;
use varve_repo::{LockKind, Node, ViewFilter};
use varve_workdir::{Dirstate, LocalChanges, ShelfDirectory, UnshelveState, WorkdirError};

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
    if unshelve.matches.flag("interactive") {
        let message = "cannot use both continue and interactive";
        return Err(Abort::input(message));
    }
    if Dirstate::read(unshelve.repository)?.parents() != [state.pending, state.shelved] {
        let message = "working directory parents do not match unshelve state";
        return Err(Abort::new(message));
    }
    if varve_workdir::has_unresolved(unshelve.repository)? {
        return Err(Abort::new("unresolved conflicts, can't continue")
            .hint("see 'hg resolve', then 'hg unshelve --continue'"));
    }
    let directory = ShelfDirectory::of(unshelve.repository);
    let merged = MergedChanges::look(unshelve, &state)?;
    let code = merged.finish(unshelve, &state, &directory.shelf(&state.name))?;
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
pub(super) fn clean_up(unshelve: &mut Unshelve<'_>, state: &UnshelveState) -> Result<(), Abort> {
    remove_temporary(unshelve, state)?;
    if let Some(active) = &state.active_bookmark
        && unshelve.repo.view()?.bookmarks().contains_key(active)
    {
        varve_workdir::set_active_bookmark(unshelve.repository, Some(active))?;
    }
    Ok(UnshelveState::clear(unshelve.repository)?)
}

/// The user has left instead of choosing changes. As with Mercurial, the files stay as they are merged over the parent
/// that was there before, and no bookmark is active.
pub(super) fn leave(
    unshelve: &mut Unshelve<'_>,
    state: &UnshelveState,
    mut before: Dirstate,
) -> Result<(), Abort> {
    let view = unshelve.repository.view_for(ViewFilter::Unfiltered)?;
    let rev = known(&view, &state.shelved)?;
    let paths = |changeset: varve_repo::Changeset<'_>| {
        let files = changeset.files();
        files.map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    for path in view.with_changeset(rev, paths)? {
        if before.is_tracked(&path) {
            before.set_possibly_dirty(&path);
        }
    }
    before.write(unshelve.repository)?;
    remove_temporary(unshelve, state)?;
    Ok(UnshelveState::clear(unshelve.repository)?)
}

/// Removes the changesets that are in the store for the time being.
fn remove_temporary(unshelve: &mut Unshelve<'_>, state: &UnshelveState) -> Result<(), Abort> {
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
    if there.is_empty() {
        return Ok(());
    }
    let lock = repo.lock(ui, LockKind::Store)?;
    let options = metadata::strip_options(config, repository)?;
    repository.strip(lock, &there, options, &ui.stop)?;
    repo.refresh();
    Ok(())
}
