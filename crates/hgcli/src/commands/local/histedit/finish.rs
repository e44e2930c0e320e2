//! The end of an edit: the working copy, bookmarks, and the old changesets.

use super::OPERATION;
use super::run::HisteditRun;
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd};
use crate::ui::Abort;
use std::collections::BTreeSet;
use varve_repo::{Node, RepoView, Rev};
use varve_workdir::{HisteditResult, HisteditState};

pub(super) fn finish(run: &mut HisteditRun<'_>) -> Result<(), Abort> {
    run.go_to(run.state.parent)?;
    let result = run.state.result();
    let view = run.view()?;
    let mut replacements = replacements(run, &view, &result);
    let end = RewriteEnd::replacing(OPERATION);
    let whom = (&mut *run.repo, &mut *run.ui, run.config);
    rewrite::finish(whom, run.repository, &replacements, &end)?;
    HisteditState::clear(run.repository)?;
    if let Some(mut out) = run.out.take() {
        out.item(run.ui)?;
        replacements.sort_by(|one, other| one.old.cmp(&other.old));
        out.data("nodechanges", rewrite::node_changes(&replacements));
        out.end(run.ui)?;
    }
    Ok(())
}

/// The changesets that end: those that were there before, unless they are kept, and those that were made on the way.
fn replacements(
    run: &HisteditRun<'_>,
    view: &RepoView,
    result: &HisteditResult,
) -> Vec<Replacement> {
    let changelog = view.changelog();
    let is_known = |node: &Node| changelog.rev(node).is_some();
    let mut ending: BTreeSet<Node> = result.temporary.clone();
    if !run.state.keeps {
        ending.extend(result.replaced.keys());
    }
    let topmost = new_topmost(view, result);
    let mut replacements = Vec::new();
    if !run.state.keeps {
        for (old, new) in result.replaced.iter().filter(|(old, _)| is_known(old)) {
            let new: Vec<Node> = new.iter().filter(|node| is_known(node)).copied().collect();
            let newest = new.iter().max_by_key(|node| changelog.rev(node)).copied();
            let bookmarks_to = match (*old == run.state.topmost, topmost) {
                (true, Some(topmost)) => topmost,
                _ => newest.unwrap_or_else(|| last_below(view, old, &ending)),
            };
            replacements.push(Replacement {
                old: vec![*old],
                new,
                bookmarks_to,
                keeps_diff: false,
            });
        }
    }
    for old in result.temporary.iter().filter(|node| is_known(node)) {
        replacements.push(Replacement {
            old: vec![*old],
            new: Vec::new(),
            bookmarks_to: last_below(view, old, &ending),
            keeps_diff: false,
        });
    }
    replacements
}

/// Where the bookmarks of the newest changeset go: to the newest that was made, or below all that went.
fn new_topmost(view: &RepoView, result: &HisteditResult) -> Option<Node> {
    let changelog = view.changelog();
    let made = result.made.iter().filter_map(|node| changelog.rev(node));
    if let Some(newest) = made.max() {
        return Some(changelog.node(newest));
    }
    let replaced = result.replaced.keys();
    let oldest = replaced.filter_map(|node| changelog.rev(node)).min()?;
    Some(changelog.node_or_null(changelog.parents(oldest)[0]))
}

/// The newest ancestor that does not end.
fn last_below(view: &RepoView, node: &Node, ending: &BTreeSet<Node>) -> Node {
    let changelog = view.changelog();
    let mut rev: Option<Rev> = changelog.rev(node);
    while let Some(at) = rev.filter(|at| ending.contains(&changelog.node(*at))) {
        rev = changelog.parents(at)[0];
    }
    changelog.node_or_null(rev)
}
