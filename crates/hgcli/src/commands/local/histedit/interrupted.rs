//! An edit that waits for the user: going on, and giving it up.

use super::run::{HisteditRun, print_stats};
use super::{action, fold};
use crate::commands::local::{commit, rewrite, update};
use crate::ui::{Abort, short_hex};
use std::collections::BTreeSet;
use varve_repo::{Node, Rev};
use varve_workdir::{Dirstate, HisteditAction, HisteditState, LocalChanges};

/// `--continue`.
pub(super) fn go_on(run: &mut HisteditRun<'_>) -> Result<u8, Abort> {
    commit::refuse_unresolved(run.repository)?;
    let Some(rule) = run.state.rules.first().copied() else {
        return run.carry_out();
    };
    let (_, status) = run.changes()?;
    if !status.is_unchanged() {
        let mut new = run.copy_of(&rule.node)?;
        new.edits_as = match rule.action {
            HisteditAction::Edit => Some("histedit.edit"),
            HisteditAction::Mess => Some("histedit.mess"),
            _ => None,
        };
        match rule.action.is_fold() {
            true => drop(fold::commit_part(run, &rule)?),
            false => drop(run.commit(&new)?),
        }
    } else {
        varve_workdir::clear_merge(run.repository)?;
    }
    let here = run.working_parent()?;
    if !rule.action.is_fold() {
        let made = Some(here).filter(|node| *node != run.state.parent);
        action::replace(run, &rule, made)?;
    } else if follows(run, here)? {
        let next = run.state.rules.get(1).map(|rule| rule.action);
        fold::combine(run, &rule, here, next)?;
    } else {
        let parent = run.state.parent;
        let (shown, above) = (short_hex(&rule.node), short_hex(&parent));
        run.ui.warn(format!(
            "{shown}: cannot fold - working copy is not a descendant of previous commit {above}\n"
        ))?;
        run.state.replacements.push((rule.node, vec![here]));
        run.state.parent = here;
    }
    run.state.rules.remove(0);
    run.carry_out()
}

/// Whether a changeset follows from the current parent.
fn follows(run: &HisteditRun<'_>, node: Node) -> Result<bool, Abort> {
    let view = run.view()?;
    let (here, above) = (
        view.changelog().rev(&node),
        view.changelog().rev(&run.state.parent),
    );
    Ok(match (here, above) {
        (Some(here), Some(above)) => here != above && view.is_descendant(here, above),
        _ => false,
    })
}

/// `--abort`: as it was before, without the changesets that were made.
pub(super) fn abort(run: &mut HisteditRun<'_>) -> Result<u8, Abort> {
    let result = run.state.result();
    let view = run.view()?;
    let changelog = view.changelog();
    let known = |nodes: &BTreeSet<Node>| -> Vec<Rev> {
        nodes
            .iter()
            .filter_map(|node| changelog.rev(node))
            .collect()
    };
    let (made, temporary) = (known(&result.made), known(&result.temporary));
    let dirstate = Dirstate::read(run.repository)?;
    let below = view.with_descendants(&[&made[..], &temporary].concat());
    let is_ours = |node: &Node| {
        let rev = changelog.rev(node);
        *node == run.state.parent || rev.is_some_and(|rev| below.binary_search(&rev).is_ok())
    };
    if dirstate
        .parents()
        .iter()
        .filter(|node| !node.is_null())
        .any(is_ours)
        || run.state.parent.is_null() && dirstate.parents()[0].is_null()
    {
        go_back(run, dirstate)?;
    }
    for revs in [made, temporary] {
        let mut nodes: Vec<Node> = revs.iter().map(|rev| changelog.node(*rev)).collect();
        let here = run.view()?;
        nodes.retain(|node| here.changelog().rev(node).is_some());
        if !nodes.is_empty() {
            let whom = (&mut *run.repo, &mut *run.ui, run.config);
            rewrite::strip(whom, run.repository, &nodes, (Some("backup"), None))?;
        }
    }
    HisteditState::clear(run.repository)?;
    Ok(0)
}

/// Gives the working copy the files that it had before, whatever it has now.
fn go_back(run: &mut HisteditRun<'_>, mut dirstate: Dirstate) -> Result<(), Abort> {
    let view = run.view()?;
    let target = run.state.topmost;
    let parents = [target, Node::NULL];
    run.repo.before_update(run.ui, &parents)?;
    let at = (run.repository, &*view);
    let rev = view.changelog().rev(&target);
    let (ui, config, matches) = (&mut *run.ui, run.config, run.matches);
    let local = LocalChanges::Discard;
    let updated = update::go_to(ui, config, matches, at, &mut dirstate, rev, local)?;
    run.repo
        .after_update(run.ui, &parents, updated.unresolved)?;
    print_stats(run.ui, &updated)
}
