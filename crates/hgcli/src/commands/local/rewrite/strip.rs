//! Stripping the changesets that others have taken the place of.

use crate::commands::local::strip;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, short_hex};
use varve_repo::{Lock, LockKind, Node, Repository, Rev, ViewFilter};
use varve_workdir::StripPlan;

/// The operation, for commands that keep no bundle where `rewrite.backup-bundle` forbids it.
pub(crate) fn backup_purpose<'o>(
    config: &Config,
    operation: &'o str,
) -> Result<Option<&'o str>, Abort> {
    let keeps = config.boolean("rewrite", "backup-bundle", true)?;
    Ok(keeps.then_some(operation))
}

/// Strips changesets and what follows them. A bundle below `.hg/strip-backup` keeps them if there is a purpose, which is
/// in its name. Takes the store's lock unless it is given.
pub(crate) fn strip(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    nodes: &[Node],
    (purpose, lock): (Option<&str>, Option<Lock>),
) -> Result<(), Abort> {
    let lock = match lock {
        Some(lock) => lock,
        None => repo.lock(ui, LockKind::Store)?,
    };
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let revs = nodes.iter().filter_map(|node| view.changelog().rev(node));
    let (revs, kept) = StripPlan::without_orphans(&view, &revs.collect::<Vec<Rev>>());
    if !kept.is_empty() {
        let kept = kept
            .iter()
            .map(|rev| short_hex(&view.changelog().node(*rev)));
        let kept = kept.collect::<Vec<_>>().join(", ");
        ui.warn(format!(
            "warning: orphaned descendants detected, not stripping {kept}\n"
        ))?;
    }
    if revs.is_empty() {
        return Ok(());
    }
    let plan = StripPlan::of_replaced(&view, &revs);
    let place = (repository, &*view);
    strip::remove((repo, ui, config), place, lock, (&plan, purpose))
}
