//! Rebases that make one changeset of all.

use std::collections::BTreeSet;
use varve_repo::{RepoView, Rev};

/// The second parent of the changeset that takes the place of `revs`, which go onto `destination`: the only parent of
/// them that neither is among them nor among the ancestors of the destination. Parents of the oldest one do not count.
///
/// # Errors
/// Several such parents, in order.
pub fn external_parent(
    view: &RepoView,
    revs: &BTreeSet<Rev>,
    destination: Option<Rev>,
) -> Result<Option<Rev>, Vec<Rev>> {
    let is_above =
        |rev: Rev| destination.is_some_and(|below| below == rev || view.is_descendant(below, rev));
    let later = revs.iter().skip(1);
    let parents = later.flat_map(|rev| view.changelog().parents(*rev));
    let outside = parents.flatten();
    let outside = outside.filter(|parent| !revs.contains(parent) && !is_above(*parent));
    let outside: Vec<Rev> = outside.collect::<BTreeSet<Rev>>().into_iter().collect();
    match outside[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(outside),
    }
}
