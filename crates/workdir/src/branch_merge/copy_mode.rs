//! Choice of how a merge traces copies.

use super::MergeRequest;
use crate::CopyTraceMode;
use crate::manifest_merge::Tracing;
use varve_repo::{Node, Phase, RepoView, Rev};

/// The way for one base, which depends on the changesets that would have to be looked at.
pub(super) fn tracing(request: &MergeRequest<'_>, ours: Option<Rev>, base: Node) -> Tracing {
    match request.tool.copies {
        CopyTraceMode::Full => Tracing::Full,
        CopyTraceMode::Off => Tracing::Off,
        CopyTraceMode::Heuristics {
            changesets,
            candidates,
        } => {
            let base = request.view.changelog().rev(&base);
            match is_short(request.view, base, ours, changesets)
                || has_merges(request.view, base, request.other)
            {
                true => Tracing::Full,
                false => Tracing::Guessed(usize::try_from(candidates).unwrap_or_default()),
            }
        }
    }
}

/// True if base and our side are not public, and fewer changesets than that lead from one to the other.
fn is_short(view: &RepoView, base: Option<Rev>, ours: Option<Rev>, changesets: i64) -> bool {
    let is_mutable = |rev: Rev| view.phases().of(rev) != Phase::Public;
    let (Some(base), Some(ours)) = (base, ours) else {
        return false;
    };
    if !is_mutable(base) || !is_mutable(ours) {
        return false;
    }
    let between: Vec<Rev> = (base.0..=ours.0).map(Rev).collect();
    let after = view.descendants_among(&between, &[base]);
    let leads = |rev: &Rev| *rev == ours || view.is_descendant(ours, *rev);
    let count = after.into_iter().filter(leads).count();
    (count as i64) < changesets
}

/// True if a merge lies between the base and the other side, along first parents. A guess sees one line only.
fn has_merges(view: &RepoView, base: Option<Rev>, other: Rev) -> bool {
    let mut rev = Some(other);
    while let Some(at) = rev.filter(|at| Some(*at) != base) {
        let [first, second] = view.changelog().parents(at);
        if second.is_some() {
            return true;
        }
        rev = first;
    }
    false
}
