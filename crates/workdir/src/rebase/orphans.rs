//! Where orphans belong: to the successors of their obsolete parents.

use crate::WorkdirError;
use std::collections::BTreeSet;
use varve_repo::{RepoView, Rev};

/// The changesets that may be a new parent of `rev`: what became of its parents, or of theirs where those left nothing.
/// The parents of a changeset that is no orphan are among them.
///
/// # Errors
/// Damage in the repository.
pub fn orphan_destinations(view: &RepoView, rev: Rev) -> Result<BTreeSet<Rev>, WorkdirError> {
    let changelog = view.changelog();
    let parents = |rev: Rev| changelog.parents(rev).into_iter().flatten();
    let mut wanted: Vec<Rev> = parents(rev).collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    while let Some(rev) = wanted.pop() {
        if !seen.insert(rev) {
            continue;
        }
        let successors = view.latest_successors(changelog.node(rev))?;
        match successors.is_empty() {
            true => wanted.extend(parents(rev)),
            false => found.extend(successors),
        }
    }
    Ok(found)
}
