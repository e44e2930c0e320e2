//! History that both sides have before and after a push.

use std::collections::BTreeSet;
use varve_repo::{Phase, RepoView};
use varve_revlog::Rev;

/// Heads of the changesets that are ancestors of both `heads` and `common`, oldest first. A changeset counts as its
/// own ancestor.
pub fn common_below(view: &RepoView, heads: &[Rev], common: &[Rev]) -> Vec<Rev> {
    let changelog = view.changelog();
    let mut there = vec![false; changelog.len()];
    for rev in view.missing_ancestors(common, &[]) {
        there[rev.index()] = true;
    }
    let (mut followed, mut found) = (vec![false; there.len()], Vec::new());
    let wanted = view.missing_ancestors(heads, &[]).into_iter().rev();
    for rev in wanted.filter(|rev| there[rev.index()]) {
        if !followed[rev.index()] {
            found.push(rev);
        }
        for parent in changelog.parents(rev).into_iter().flatten() {
            followed[parent.index()] = true;
        }
    }
    found.reverse();
    found
}

/// The newest changesets that both sides have once `missing` is sent; `common` are the newest before.
pub fn common_after(view: &RepoView, common: &[Rev], missing: &[Rev]) -> Vec<Rev> {
    let all: BTreeSet<Rev> = common.iter().chain(missing).copied().collect();
    let parents = |rev: &Rev| view.changelog().parents(*rev).into_iter().flatten();
    let followed: BTreeSet<Rev> = missing.iter().flat_map(parents).collect();
    all.difference(&followed).copied().collect()
}

/// Number of drafts among `heads` and their ancestors, which a push to a publishing repository makes public.
pub fn count_drafts(view: &RepoView, heads: &[Rev]) -> usize {
    let pushed = view.missing_ancestors(heads, &[]).into_iter();
    let is_draft = |rev: &Rev| view.phases().of(*rev) == Phase::Draft;
    pushed.filter(is_draft).count()
}
