//! Refusals of a split, before anything is changed.

use crate::commands::local::commit::{self, interactive};
use crate::commands::local::rewrite::refusal;
use crate::commands::local::strip::UNCALLED_HOOKS;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use varve_repo::{Evolution, Repository, Rev};
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
