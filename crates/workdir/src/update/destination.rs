//! Where an update goes that names no revision.

use crate::WorkdirError;
use std::collections::HashSet;
use varve_repo::{BranchHeads, DEFAULT_BRANCH, RepoView, Rev};

/// The newest head of `branch` among the descendants of `from` (`None` is the null revision), or
/// of what the descendants go through; else a closed head; else `from` itself.
///
/// # Errors
/// Damage in the repository.
pub fn destination(
    view: &RepoView,
    branch: &[u8],
    from: Option<Rev>,
) -> Result<Option<Rev>, WorkdirError> {
    let branches = view.branchmap()?;
    let Some(BranchHeads { heads, closed }) = branches.get(branch) else {
        let is_unborn = branch == DEFAULT_BRANCH && from.is_none();
        return Ok(if is_unborn { view.tip() } else { from });
    };
    let reachable = descendants(view, from);
    let newest = |wanted: &dyn Fn(&Rev) -> bool| {
        let below = |rev: &Rev| reachable.as_ref().is_none_or(|revs| revs.contains(rev));
        heads.iter().copied().filter(below).filter(wanted).max()
    };
    let open = newest(&|rev| !closed.contains(rev));
    Ok(open.or_else(|| newest(&|_| true)).or(from))
}

/// A changeset and all that descends from it; `None` for everything.
fn descendants(view: &RepoView, from: Option<Rev>) -> Option<HashSet<Rev>> {
    let from = from?;
    let mut found = HashSet::from([from]);
    for rev in view.changelog().revs().skip(from.index() + 1) {
        let parents = view.changelog().parents(rev);
        if parents
            .into_iter()
            .flatten()
            .any(|parent| found.contains(&parent))
        {
            found.insert(rev);
        }
    }
    Some(found)
}
