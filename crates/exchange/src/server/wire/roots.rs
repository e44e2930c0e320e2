//! Requests of old clients: descendants of some changesets, up to some heads.

use super::request::WireRequest;
use crate::ExchangeError;
use varve_repo::RepoView;
use varve_revlog::{Node, Rev, Revlog};

/// The changesets that `changegroup` (with `roots`) or `changegroupsubset` (with `bases` and
/// `heads`) asks for, oldest first. The first of them count themselves.
pub(super) fn between_roots_and_heads(
    view: &RepoView,
    request: &WireRequest,
) -> Result<Vec<Rev>, ExchangeError> {
    let changelog = view.changelog();
    let has_heads = request.command == "changegroupsubset";
    let first = if has_heads { "bases" } else { "roots" };
    let roots = named(changelog, request, first)?;
    if roots.is_empty() {
        return Err(request.bad(first, "a list of at least one node"));
    }
    let heads: Vec<Rev> = match has_heads {
        true => named(changelog, request, "heads")?
            .into_iter()
            .flatten()
            .collect(),
        false => view.heads(),
    };
    let (descends, leads) = (descendants(changelog, &roots), ancestors(changelog, &heads));
    let is_asked = |rev: &Rev| descends[rev.index()] && leads[rev.index()];
    // Invisible changesets are not sent, even if they are named.
    let shown = changelog.revs().filter(|rev| view.is_visible(*rev));
    Ok(shown.filter(is_asked).collect())
}

/// The changesets of an argument; `None` is the null changeset.
fn named(
    changelog: &Revlog,
    request: &WireRequest,
    name: &'static str,
) -> Result<Vec<Option<Rev>>, ExchangeError> {
    request.need(name)?;
    let nodes = request.nodes(name)?.unwrap_or_default();
    let rev = |node: Node| match changelog.rev(&node) {
        None if !node.is_null() => Err(ExchangeError::UnknownRevision(node.to_string())),
        found => Ok(found),
    };
    nodes.into_iter().map(|node| rev(Node(node))).collect()
}

/// By changeset, whether it is one of `roots` or descends from one.
fn descendants(changelog: &Revlog, roots: &[Option<Rev>]) -> Vec<bool> {
    let mut descends = vec![roots.contains(&None); changelog.len()];
    for root in roots.iter().flatten() {
        descends[root.index()] = true;
    }
    for rev in changelog.revs() {
        let mut parents = changelog.parents(rev).into_iter().flatten();
        if parents.any(|parent| descends[parent.index()]) {
            descends[rev.index()] = true;
        }
    }
    descends
}

/// By changeset, whether it is one of `heads` or one of these descends from it.
fn ancestors(changelog: &Revlog, heads: &[Rev]) -> Vec<bool> {
    let mut leads = vec![false; changelog.len()];
    for head in heads {
        leads[head.index()] = true;
    }
    for rev in changelog.revs().rev() {
        if leads[rev.index()] {
            for parent in changelog.parents(rev).into_iter().flatten() {
                leads[parent.index()] = true;
            }
        }
    }
    leads
}
