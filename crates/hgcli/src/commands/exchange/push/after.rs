//! Changes on this side when a push is done: phases.

use super::PushSession;
use crate::context::Repo;
use crate::ui::{Abort, Ui};
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::RemotePhases;
use varve_repo::{LockKind, Phase, RepoView, Rev, ViewFilter};

/// Name of the transaction, and the source that hooks learn.
const RESPONSE: &str = "push-response";

impl PushSession<'_> {
    /// Gives changesets here the phases that they have there. `settled` are the newest that both
    /// sides have.
    pub(super) fn settle_phases(
        &self,
        repo: &mut Repo,
        ui: &mut Ui,
        remote: &mut Remote,
        settled: &[Rev],
    ) -> Result<(), Abort> {
        let keys = remote.list_keys("phases")?;
        let phases = RemotePhases::read(&self.all, &keys, settled);
        let public = match phases.publishes {
            true => settled.to_vec(),
            false => phases.public_heads,
        };
        let targets = [(Phase::Public, &public[..]), (Phase::Draft, settled)];
        let is_higher = |(phase, revs): &(Phase, &[Rev])| {
            revs.iter().any(|rev| self.all.phases().of(*rev) > *phase)
        };
        // Mercurial opens a transaction in any case, which hooks notice.
        if !targets.iter().any(is_higher) && repo.hooks.is_empty() {
            return Ok(());
        }
        let lock = repo.lock(ui, LockKind::Store)?;
        repo.refresh();
        let repository = repo.repository()?;
        // Nothing is ever taken out of the changelog but under this lock.
        let now = repository.view_for(ViewFilter::Unfiltered)?;
        let node = |rev: &Rev| self.all.changelog().node(*rev);
        let found = |revs: &[Rev]| -> Vec<Rev> {
            let revs = revs.iter().map(node);
            revs.filter_map(|node| now.changelog().rev(&node)).collect()
        };
        let (public, draft) = (found(&public), found(settled));
        let targets = [(Phase::Public, &public[..]), (Phase::Draft, &draft[..])];
        let lowered = now.phases().lowered(now.changelog(), &targets);
        let mut transaction = repository.transaction(lock, RESPONSE)?;
        transaction.set_source(RESPONSE, self.source.hook_url());
        if lowered.changed > 0 {
            transaction.set_phases(now.changelog(), &lowered);
        }
        transaction.finish()?;
        repo.refresh();
        Ok(())
    }
}

/// The newest of the changesets that both `heads` and `common` are or build on.
pub(super) fn common_below(view: &RepoView, heads: &[Rev], common: &[Rev]) -> Vec<Rev> {
    let (wanted, there) = (ancestors(view, heads), ancestors(view, common));
    let mut followed = vec![false; wanted.len()];
    let mut found = Vec::new();
    for rev in view.changelog().revs().rev() {
        if !wanted[rev.index()] || !there[rev.index()] {
            continue;
        }
        if !followed[rev.index()] {
            found.push(rev);
        }
        for parent in view.changelog().parents(rev).into_iter().flatten() {
            followed[parent.index()] = true;
        }
    }
    found.reverse();
    found
}

fn ancestors(view: &RepoView, of: &[Rev]) -> Vec<bool> {
    let changelog = view.changelog();
    let mut inside = vec![false; changelog.len()];
    of.iter().for_each(|rev| inside[rev.index()] = true);
    for rev in changelog.revs().rev().filter(|_| !of.is_empty()) {
        if inside[rev.index()] {
            let parents = changelog.parents(rev).into_iter().flatten();
            parents.for_each(|parent| inside[parent.index()] = true);
        }
    }
    inside
}
