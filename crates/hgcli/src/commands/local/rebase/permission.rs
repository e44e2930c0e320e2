//! Whether the chosen changesets may be rebased, and which of them are where they would go already.

use super::collapse;
use super::run::RebaseRun;
use crate::ui::{Abort, short_hex};
use std::collections::BTreeSet;
use varve_repo::{Node, Phase, RepoView, Rev};
use varve_workdir::rebase_order;

/// Notes the changesets in the targets; returns false if all are in their place already.
pub(super) fn prepare(run: &mut RebaseRun<'_>, revs: &[Rev]) -> Result<bool, Abort> {
    let view = run.repo.view()?;
    let changelog = view.changelog();
    let moved = without_rebased(run, &view, revs)?;
    run.targets.done = moved.iter().map(|rev| (*rev, None)).collect();
    let cycle = || Abort::input("source and destination form a cycle");
    rebase_order(&view, &run.targets.destinations).ok_or_else(cycle)?;
    let at = |run: &RebaseRun<'_>, rev: Rev| changelog.rev(&run.targets.destination(rev));
    let waits = |rev: &Rev| at(run, *rev).is_some_and(|at| moved.contains(&at));
    // Destinations that move themselves are looked at when they are in their place.
    let (later, first): (Vec<Rev>, Vec<Rev>) = moved.iter().copied().partition(waits);
    let mut is_in_place = later.is_empty();
    for root in view.roots(&first) {
        let destination = at(run, root);
        if destination.is_some_and(|at| view.is_descendant(at, root)) {
            return Err(Abort::input("source is ancestor of destination"));
        }
        if is_child(run, &view, root, destination)? {
            run.targets.done.insert(root, Some(changelog.node(root)));
        } else {
            is_in_place = false;
        }
    }
    if is_in_place && run.notes.is_empty() {
        return Ok(false);
    }
    for rev in &moved {
        let parents = changelog.parents(*rev).into_iter().flatten();
        let parents: Vec<Rev> = parents.collect();
        let stays = |parent: &Rev| {
            let new = run.targets.done.get(parent).copied().flatten();
            new == Some(changelog.node(*parent))
        };
        if !parents.is_empty() && parents.iter().all(stays) {
            run.targets.done.insert(*rev, Some(changelog.node(*rev)));
        }
    }
    if !run.keeps {
        check_rewrite(run, &view, &moved)?;
    }
    if run.collapses {
        collapse::prepare(run, &view)?;
    }
    Ok(true)
}

/// Whether `root` is a child of the destination, on its branch.
fn is_child(
    run: &RebaseRun<'_>,
    view: &RepoView,
    root: Rev,
    destination: Option<Rev>,
) -> Result<bool, Abort> {
    let Some(at) = destination else {
        return Ok(false);
    };
    if run.collapses || !view.changelog().parents(root).contains(&Some(at)) {
        return Ok(false);
    }
    let branch = |rev: Rev| view.with_changeset(rev, |changeset| changeset.branch().into_owned());
    let here = match run.original == view.changelog().node(at) {
        true => varve_workdir::branch(run.repository)?,
        false => branch(at)?,
    };
    Ok(branch(root)? == here)
}

/// Leaves out obsolete changesets that are in the destination by another name, or that have no successor, or whose
/// copies would compete with their successors. Keeps what is to be said about them.
fn without_rebased(
    run: &mut RebaseRun<'_>,
    view: &RepoView,
    revs: &[Rev],
) -> Result<Vec<Rev>, Abort> {
    let skips = run
        .config
        .boolean("experimental", "rebaseskipobsolete", true)?;
    if run.keeps || !skips || !view.has_obsolete()? {
        return Ok(revs.to_vec());
    }
    let may_diverge = run.config.evolution()?.divergence;
    let obsolete = view.obsolete()?;
    let (mut moved, mut diverging) = (Vec::new(), Vec::new());
    for rev in revs {
        if !obsolete.contains(rev) {
            moved.push(*rev);
            continue;
        }
        let successors = view.latest_successors(view.changelog().node(*rev))?;
        let destination = view.changelog().rev(&run.targets.destination(*rev));
        let is_there =
            |rev: &&Rev| destination.is_some_and(|at| at == **rev || view.is_descendant(at, **rev));
        let shown = run.describe(view, *rev)?;
        let note = if successors.is_empty() {
            b", it has no successor\n".to_vec()
        } else if let Some(there) = successors.iter().find(is_there) {
            let there = run.describe(view, *there)?;
            [b", already in destination as ", &there[..], b"\n"].concat()
        } else if !may_diverge {
            diverging.push(*rev);
            b" and its descendants as this would cause divergence\n".to_vec()
        } else {
            moved.push(*rev);
            continue;
        };
        let note = [b"note: not rebasing ", &shown[..], &note].concat();
        run.notes.insert(*rev, note);
    }
    let below = view.with_descendants(&diverging);
    moved.retain(|rev| below.binary_search(rev).is_err());
    Ok(moved)
}

/// Refuses to replace what must stay as it is.
fn check_rewrite(run: &mut RebaseRun<'_>, view: &RepoView, revs: &[Rev]) -> Result<(), Abort> {
    let changelog = view.changelog();
    let public = revs
        .iter()
        .filter(|rev| view.phases().of(**rev) == Phase::Public);
    let public: Vec<Node> = public.map(|rev| changelog.node(*rev)).collect();
    if !public.is_empty() {
        let shown = shown_nodes(&public);
        return Err(
            Abort::input(format!("cannot rebase public changesets: {shown}"))
                .hint("see 'hg help phases' for details"),
        );
    }
    let evolution = run.config.evolution()?;
    let all: BTreeSet<Rev> = revs.iter().copied().collect();
    let below = view.with_descendants(revs);
    let orphans = below.iter().filter(|rev| !all.contains(rev)).count();
    if orphans > 0 && !evolution.unstable {
        return Err(Abort::input(format!(
            "cannot rebase changeset, as that will orphan {orphans} descendants"
        ))
        .hint("see 'hg help evolution.instability'"));
    }
    Ok(())
}

/// Most changesets that a message names.
const MOST_NAMED: usize = 4;

fn shown_nodes(nodes: &[Node]) -> String {
    let named: Vec<String> = nodes.iter().take(MOST_NAMED).map(short_hex).collect();
    let named = named.join(", ");
    match nodes.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        Some(more) => format!("{named} and {more} others"),
        None => named,
    }
}
