//! Refusals of a split, before anything is changed.

use crate::commands::local::commit::{self, interactive};
use crate::commands::local::rewrite::refusal;
use crate::commands::local::strip::UNCALLED_HOOKS;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{Evolution, RepoView, Repository, Rev, RewriteRefusal};
use varve_workdir::{AmendRefusal, Dirstate};

/// Name of the command in messages.
const OPERATION: &str = "split";

/// Refuses what must stay as it is, and calls without answers. The descendants stay if they are not rebased.
pub(super) fn check(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    (rev, rebases): (Rev, bool),
) -> Result<(), Abort> {
    let evolution = config.evolution()?;
    if !evolution.markers {
        repo.refuse_hooks(OPERATION, UNCALLED_HOOKS)?;
    }
    let refuse =
        |refusal: AmendRefusal| refusal::words(refusal.into(), OPERATION, ui.verbosity.verbose);
    if !Dirstate::read(repository)?.parents()[1].is_null() {
        return Err(refuse(AmendRefusal::Merge));
    }
    let view = repo.view()?;
    if rebases
        && !evolution.unstable
        && let Some(reason) = left_behind(&view, rev)?
    {
        let node = view.changelog().node(rev);
        return Err(refuse(AmendRefusal::Rewrite { node, reason }));
    }
    let allowed = Evolution {
        unstable: evolution.unstable || rebases,
        ..evolution
    };
    if let Some(reason) = view.rewrite_refusal(rev, allowed)? {
        let node = view.changelog().node(rev);
        return Err(refuse(AmendRefusal::Rewrite { node, reason }));
    }
    if view.changelog().parents(rev)[1].is_some() {
        return Err(Abort::input("cannot split a merge changeset"));
    }
    commit::refuse_changes(ui, repository)?;
    if view.with_changeset(rev, |changeset| changeset.files().next().is_none())? {
        return Err(Abort::input("cannot split an empty revision"));
    }
    interactive::check(ui)
}

/// Descendants that no rebase takes along: obsolete ones and those above them.
fn left_behind(view: &RepoView, rev: Rev) -> Result<Option<RewriteRefusal>, Abort> {
    let (obsolete, log) = (view.obsolete()?, view.changelog());
    let (mut descendants, mut left) = (BTreeSet::from([rev]), BTreeSet::new());
    for above in (rev.0 + 1..log.len() as u32).map(Rev) {
        let parents = log.parents(above).into_iter().flatten();
        let parents: Vec<Rev> = parents
            .filter(|parent| descendants.contains(parent))
            .collect();
        if parents.is_empty() || !view.is_visible(above) {
            continue;
        }
        descendants.insert(above);
        if obsolete.contains(&above) || parents.iter().any(|parent| left.contains(parent)) {
            left.insert(above);
        }
    }
    let descendants = left.len();
    Ok((descendants > 0).then_some(RewriteRefusal::Orphans { descendants }))
}
