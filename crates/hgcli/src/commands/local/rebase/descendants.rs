//! The rebase that follows a replacement, for commands that leave no descendants behind.

use super::run::RebaseRun;
use crate::arguments::Matches;
use crate::commands::local::rewrite::{Replacement, RewriteEnd};
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{Node, RepoView, Repository, Rev};

/// Descendants of a changeset, as far as a line of changesets that are not obsolete leads to them.
pub(crate) fn descendants(view: &RepoView, rev: Rev) -> Result<Vec<Rev>, Abort> {
    let obsolete = view.obsolete()?;
    let mut found = BTreeSet::from([rev]);
    for each in view.with_descendants(&[rev]) {
        let mut parents = view.changelog().parents(each).into_iter().flatten();
        if parents.any(|parent| found.contains(&parent)) && !obsolete.contains(&each) {
            found.insert(each);
        }
    }
    found.remove(&rev);
    Ok(found.into_iter().collect())
}

/// Rebases `revs` onto `destination` and ends them together with the changesets that were replaced `before`. The caller
/// holds the lock of the working copy.
pub(crate) fn rebase_onto(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    before: (Replacement, RewriteEnd<'static>),
    (revs, destination): (&[Rev], Node),
) -> Result<u8, Abort> {
    let matches = Matches::default();
    let mut run = RebaseRun::new((repo, ui, config), &matches, repository)?;
    run.before = vec![before];
    run.targets.destinations = revs.iter().map(|rev| (*rev, destination)).collect();
    run.targets.done = revs.iter().map(|rev| (*rev, None)).collect();
    run.rebase_all()
}
