//! Stripping the changesets that others have taken the place of.

use crate::commands::local::strip;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use varve_repo::{Lock, LockKind, Node, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::StripPlan;

/// Strips changesets and what follows them, after a bundle below `.hg/strip-backup`, whose name has `purpose`, has got
/// them. Takes the store's lock unless it is given.
pub(crate) fn strip(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    nodes: &[Node],
    (purpose, lock): (&str, Option<Lock>),
) -> Result<(), Abort> {
    let lock = locked(repo, ui, lock)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let plan = plan(&view, nodes);
    let place = (repository, &*view);
    strip::remove(ui, config, place, lock, (&plan, Some(purpose)))?;
    repo.refresh();
    Ok(())
}

/// The same for changesets that others have taken the place of, by whose newest root the bundle is named.
pub(super) fn strip_replaced(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    nodes: &[Node],
    (purpose, lock): (&str, Option<Lock>),
) -> Result<(), Abort> {
    let lock = locked(repo, ui, lock)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let plan = plan(&view, nodes).named_after_newest_root(&view);
    let place = (repository, &*view);
    strip::remove(ui, config, place, lock, (&plan, Some(purpose)))?;
    repo.refresh();
    Ok(())
}

fn locked(repo: &mut Repo, ui: &mut Ui, lock: Option<Lock>) -> Result<Lock, Abort> {
    match lock {
        Some(lock) => Ok(lock),
        None => repo.lock(ui, LockKind::Store),
    }
}

fn plan(view: &RepoView, nodes: &[Node]) -> StripPlan {
    let revs = nodes.iter().filter_map(|node| view.changelog().rev(node));
    let revs: Vec<Option<Rev>> = revs.map(Some).collect();
    StripPlan::new(view, &revs)
}
