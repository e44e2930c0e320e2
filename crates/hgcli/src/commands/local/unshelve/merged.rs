//! The end of an unshelve whose changes are in the working copy: all of them become local changes, or with
//! `--interactive` those that the user chooses, and the others stay shelved.

use super::restore::{self, known};
use super::{Unshelve, finish, interrupted};
use crate::commands::local::commit::{self, interactive, metadata};
use crate::commands::local::shelve::{self, commit_beside};
use crate::ui::Abort;
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{
    ChangesetMetadata, ChosenFiles, CommitMetadata, Dirstate, ShelfDirectory, ShelvedChanges,
    Status, Tracking, Tree, UnshelveState,
};

/// Local and shelved changes in the working copy.
pub(super) struct MergedChanges {
    here: Arc<RepoView>,
    /// Over the commit of local changes alone.
    dirstate: Dirstate,
    status: Status,
    /// Files with the changes that the user takes, if the user was asked.
    chosen: Option<ChosenFiles>,
}

/// The changesets that are made of [`MergedChanges`], in an overlay.
struct MadeChangesets {
    overlay: Repository,
    /// The changeset whose changes become local; the commit of local changes if there are none.
    taken: Node,
    /// The one above it, with the changes that stay shelved.
    rest: Option<Node>,
}

impl MergedChanges {
    /// Looks at the working copy, and asks the user if that is wished.
    pub(super) fn look(unshelve: &mut Unshelve<'_>, state: &UnshelveState) -> Result<Self, Abort> {
        let repository = unshelve.repository;
        let here = repository.view_for(ViewFilter::Unfiltered)?;
        let mut dirstate = Dirstate::read(repository)?;
        drop_second_parent(&here, &mut dirstate, &state.pending)?;
        let everything = Matcher::everything();
        let status = commit::working_changes(unshelve.ui, repository, &everything, &mut dirstate)?;
        let mut chosen = None;
        if state.is_interactive {
            interactive::check(unshelve.ui)?;
            let whom = (&mut *unshelve.ui, unshelve.config, unshelve.matches);
            let place = (repository, &*here);
            let some = interactive::choose_changes(whom, place, &dirstate, &everything)?;
            chosen = Some(some.unwrap_or_default().files);
        }
        Ok(MergedChanges {
            here,
            dirstate,
            status,
            chosen,
        })
    }

    /// Makes local changes of those that are taken, over the parent that the working copy had before.
    pub(super) fn finish(
        mut self,
        unshelve: &mut Unshelve<'_>,
        state: &UnshelveState,
        shelf: &ShelvedChanges<'_>,
    ) -> Result<u8, Abort> {
        let repository = unshelve.repository;
        let rev = known(&self.here, &state.shelved)?;
        let mut unknown = finish::unknown_files(&self.here, rev)?;
        // As in Mercurial, files that were not tracked are after `--continue`.
        let continues = unshelve.matches.flag("continue");
        unknown.retain(|path| !continues && self.status.added.contains(path));
        let made = self.commit(unshelve, state, rev)?;
        let view = made.overlay.view_for(ViewFilter::Unfiltered)?;
        let mut dirstate = self.dirstate;
        let directory = ShelfDirectory::of(repository);
        // No name that users can give.
        let rest = directory.shelf(&[b".", shelf.name()].concat());
        match made.rest {
            None => {
                let revs = [state.original, made.taken].map(|node| view.changelog().rev(&node));
                let place = (repository, &*view);
                varve_workdir::show_as_local_changes(place, &mut dirstate, revs, &unknown)?;
            }
            Some(node) => {
                let nodes = [state.original, node, made.taken];
                take_out(unshelve, &view, &mut dirstate, (nodes, &unknown))?;
                shelve::save(unshelve.ui, &view, &node, (&rest, shelf))?;
            }
        }
        finish::set_branch_of_parent(unshelve, &view, &state.original)?;
        interrupted::clean_up(unshelve, state)?;
        finish::restore_branch(unshelve, state.branch.as_deref())?;
        match made.rest {
            // Until here the shelf has all changes, so that none are lost if the process ends.
            Some(_) => rest.take_place_of(shelf)?,
            None => {
                let keeps = state.keeps || unshelve.matches.flag("keep");
                finish::put_away(unshelve, shelf, keeps)?;
            }
        }
        Ok(0)
    }

    fn commit(
        &mut self,
        unshelve: &mut Unshelve<'_>,
        state: &UnshelveState,
        shelved: Rev,
    ) -> Result<MadeChangesets, Abort> {
        let overlay = unshelve.repo.scratch_overlay()?;
        let old = ChangesetMetadata::read(&self.here, shelved)?;
        let is_unchanged = self.status.is_unchanged();
        let (taken, rest) = match &self.chosen {
            _ if is_unchanged => {
                if self.chosen.is_none() {
                    finish::note_unchanged(unshelve.ui)?;
                }
                (state.pending, None)
            }
            None => {
                let words = finish::words(&old);
                let whom = (&*unshelve.ui, unshelve.config);
                let what = (&self.status, None, &words);
                let node = commit_beside(whom, &overlay, &mut self.dirstate, what)?;
                (node, None)
            }
            Some(_) => self.commit_parts(unshelve, &overlay, (state, &old))?,
        };
        Ok(MadeChangesets {
            overlay,
            taken,
            rest,
        })
    }

    /// Commits what is chosen, and the rest above it.
    fn commit_parts(
        &mut self,
        unshelve: &mut Unshelve<'_>,
        overlay: &Repository,
        (state, old): (&UnshelveState, &ChangesetMetadata),
    ) -> Result<(Node, Option<Node>), Abort> {
        let extras = old.extras.iter();
        let extras: Vec<_> = extras.map(|(key, value)| (&key[..], &value[..])).collect();
        let mut words = CommitMetadata {
            extras: &extras,
            date: metadata::date(unshelve.config, unshelve.matches)?,
            ..finish::words(old)
        };
        let (ui, config) = (&*unshelve.ui, unshelve.config);
        let mut chosen_status = self.status.clone();
        let chosen = self.chosen.take().unwrap_or_default();
        chosen.restrict(&mut chosen_status);
        let mut taken = state.pending;
        if !chosen_status.is_unchanged() {
            let what = (&chosen_status, Some(&chosen), &words);
            taken = commit_beside((ui, config), overlay, &mut self.dirstate, what)?;
        }
        let everything = Matcher::everything();
        let left = commit::working_changes(ui, overlay, &everything, &mut self.dirstate)?;
        if left.is_unchanged() {
            return Ok((taken, None));
        }
        words.date = metadata::default_date(config)?;
        let what = (&left, None, &words);
        let rest = commit_beside((ui, config), overlay, &mut self.dirstate, what)?;
        Ok((taken, Some(rest)))
    }
}

/// From `rest`, which the working copy has, back to `taken`, as local changes over `original`.
fn take_out(
    unshelve: &mut Unshelve<'_>,
    view: &RepoView,
    dirstate: &mut Dirstate,
    ([original, rest, taken], unknown): ([Node; 3], &BTreeSet<Vec<u8>>),
) -> Result<(), Abort> {
    let place = (unshelve.repository, view);
    let [original, rest, taken] = [original, rest, taken].map(|node| view.changelog().rev(&node));
    let revs = [original, rest];
    varve_workdir::show_as_local_changes(place, dirstate, revs, &BTreeSet::new())?;
    let parents = [rest, taken];
    restore::give_changes(unshelve, (view, original), dirstate, parents)?;
    let kept: Vec<&Vec<u8>> = unknown
        .iter()
        .filter(|path| dirstate.is_tracked(path))
        .collect();
    for path in kept {
        dirstate.remove(path);
    }
    Ok(dirstate.write(unshelve.repository)?)
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
