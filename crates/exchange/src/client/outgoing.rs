//! Changesets that a peer lacks.

use super::discovery::DiscoveryResult;
use crate::ExchangeError;
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// Changesets that a peer lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Changesets to send, oldest first; secret ones are not among them.
    pub missing: Vec<Rev>,
    /// Number of secret changesets that are not sent.
    pub secret: usize,
    /// Heads of the changesets that both sides have.
    pub common: Vec<Rev>,
    /// The result of the discovery.
    pub found: DiscoveryResult,
}

/// How the heads of a peer that has changesets relate to those of this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerComparison {
    /// All heads of the peer are known here.
    RemoteHeadsKnown,
    /// The peer has changesets that are unknown here, and all heads of this side.
    LocalHeadsKnown,
    /// Each side has changesets that the other one lacks.
    Diverged,
}

impl Outgoing {
    /// Selects, among `heads` and their ancestors, the changesets that the peer of a discovery lacks.
    pub fn select(view: &RepoView, found: DiscoveryResult, heads: &[Rev]) -> Outgoing {
        let common = common_heads(view, &found);
        let is_secret = |rev: &Rev| view.phases().of(*rev) == Phase::Secret;
        let mut missing = view.missing_ancestors(heads, &common);
        missing.retain(|rev| !is_secret(rev));
        // As in Mercurial, secret changesets that the peer has count as well.
        let secret = match view.phases().any_secret() {
            true => {
                let all = view.missing_ancestors(heads, &[]);
                all.iter().filter(|rev| is_secret(rev)).count()
            }
            false => 0,
        };
        Outgoing {
            missing,
            secret,
            common,
            found,
        }
    }
}

impl DiscoveryResult {
    /// Compares the heads of both sides; `None` if the peer is empty.
    pub fn comparison(&self, view: &RepoView) -> Option<PeerComparison> {
        if self.remote_heads.iter().all(Node::is_null) {
            return None;
        }
        let common = common_heads(view, self);
        Some(if !self.incoming {
            PeerComparison::RemoteHeadsKnown
        } else if view.heads().iter().all(|head| common.contains(head)) {
            PeerComparison::LocalHeadsKnown
        } else {
            PeerComparison::Diverged
        })
    }

    /// Checks that the sides have a changeset in common, if both have any.
    ///
    /// # Errors
    /// [`ExchangeError::Unrelated`].
    pub fn check_related(&self, view: &RepoView) -> Result<(), ExchangeError> {
        match self.is_unrelated(view.changelog().len()) {
            true => Err(ExchangeError::Unrelated),
            false => Ok(()),
        }
    }
}

fn common_heads(view: &RepoView, found: &DiscoveryResult) -> Vec<Rev> {
    let nodes = found.common_heads.iter();
    nodes
        .filter_map(|node| view.changelog().rev(node))
        .collect()
}
