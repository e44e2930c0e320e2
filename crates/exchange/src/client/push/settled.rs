//! Phases on this side after a push.

use super::RemotePhases;
use crate::ExchangeError;
use std::collections::BTreeMap;
use varve_repo::{Lock, Phase, RepoView, Repository, ViewFilter};
use varve_revlog::{Node, Rev};

/// Name of the transaction, and the source that hooks learn.
const RESPONSE: &str = "push-response";

/// Phases that changesets have on the other side once a push is done, and that they get here if theirs are higher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledPhases {
    /// Heads of the public changesets.
    pub public: Vec<Node>,
    /// Heads of those that are at most drafts.
    pub draft: Vec<Node>,
    /// Whether any of these is in a higher phase here.
    pub lowers: bool,
}

impl SettledPhases {
    /// Decodes the keys of `phases` of the other side. `common` are the newest changesets that both sides have;
    /// `all` shows hidden changesets, too.
    pub fn new(all: &RepoView, keys: &BTreeMap<Vec<u8>, Vec<u8>>, common: &[Rev]) -> SettledPhases {
        let remote = RemotePhases::read(all, keys, common);
        let public = match remote.publishes {
            true => common.to_vec(),
            false => remote.public_heads,
        };
        let is_above = |phase: Phase, revs: &[Rev]| {
            let mut phases = revs.iter().map(|rev| all.phases().of(*rev));
            phases.any(|present| present > phase)
        };
        let nodes = |revs: &[Rev]| revs.iter().map(|rev| all.changelog().node(*rev)).collect();
        SettledPhases {
            lowers: is_above(Phase::Public, &public) || is_above(Phase::Draft, common),
            public: nodes(&public),
            draft: nodes(common),
        }
    }

    /// Lowers the phases in a transaction under the store's lock. Hooks notice the transaction also if no phase
    /// changes; `url` is the other side for them.
    ///
    /// # Errors
    /// Damage in the repository; a hook that refuses; a failure of the storage.
    pub fn store(
        &self,
        repository: &Repository,
        lock: Lock,
        url: Vec<u8>,
    ) -> Result<(), ExchangeError> {
        // Nothing is ever taken out of the changelog but under this lock.
        let now = repository.view_for(ViewFilter::Unfiltered)?;
        let changelog = now.changelog();
        let revs = |nodes: &[Node]| -> Vec<Rev> {
            let nodes = nodes.iter();
            nodes.filter_map(|node| changelog.rev(node)).collect()
        };
        let (public, draft) = (revs(&self.public), revs(&self.draft));
        let targets = [(Phase::Public, &public[..]), (Phase::Draft, &draft[..])];
        let lowered = now.phases().lowered(changelog, &targets);
        let mut transaction = repository.transaction(lock, RESPONSE)?;
        transaction.set_source(RESPONSE, url);
        if lowered.changed > 0 {
            transaction.set_phases(changelog, &lowered);
        }
        Ok(transaction.finish()?)
    }
}
