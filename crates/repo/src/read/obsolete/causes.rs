//! Why changesets are unstable.

use super::instabilities::{Instabilities, Predecessors};
use super::successors::Successors;
use crate::format::obsstore::read;
use crate::format::{Phase, RepoError};
use crate::read::RepoView;
use std::collections::HashSet;
use varve_revlog::{Node, Rev};

/// One reason why a changeset is unstable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstabilityCause {
    /// Mercurial's name of the instability.
    pub instability: &'static str,
    /// The other changesets that stand in the place of `node`.
    pub divergent: Vec<Node>,
    /// Mercurial's words for what `node` is.
    pub reason: &'static str,
    /// The parent or the predecessor.
    pub node: Node,
}

impl RepoView {
    /// The reasons why a changeset has the instabilities that `known` says.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn instability_causes(
        &self,
        rev: Rev,
        known: &Instabilities,
    ) -> Result<Vec<InstabilityCause>, RepoError> {
        let mut causes = Vec::new();
        if known.orphans.contains(&rev) {
            causes.extend(self.orphan_causes(rev, known));
        }
        let (public, content) = (&known.phase_divergent, &known.content_divergent);
        if !public.contains(&rev) && !content.contains(&rev) {
            return Ok(causes);
        }
        let markers = read(self.storage(), &self.context.store())?;
        let predecessors = Predecessors::new(&markers);
        let node = self.changelog().node(rev);
        if public.contains(&rev) {
            let before = predecessors.of(&node, |marker| !marker.is_bumped_fix);
            let before = before.into_iter().filter(|old| self.is_public(old));
            causes.extend(before.map(|old| InstabilityCause {
                instability: "phase-divergent",
                divergent: Vec::new(),
                reason: "immutable predecessor",
                node: old,
            }));
        }
        if content.contains(&rev) {
            let is_there = |node: &Node| self.changelog().rev(node).is_some();
            let mut successors = Successors::new(&markers, &is_there, false);
            let mut seen = HashSet::new();
            for old in predecessors.of(&node, |_| true) {
                let mut sets = successors.of(&old);
                sets.retain(|set| old != node && !set.contains(&node));
                for set in sets {
                    if seen.insert(set.clone()) {
                        causes.push(InstabilityCause {
                            instability: "content-divergent",
                            divergent: set,
                            reason: "predecessor",
                            node: old,
                        });
                    }
                }
            }
        }
        Ok(causes)
    }

    fn orphan_causes(&self, rev: Rev, known: &Instabilities) -> Vec<InstabilityCause> {
        let parents = self.changelog().parents(rev).into_iter().flatten();
        let causes = parents.filter_map(|parent| {
            let reason = match parent {
                _ if known.orphans.contains(&parent) => "orphan parent",
                _ if known.obsolete.contains(&parent) => "obsolete parent",
                _ => return None,
            };
            Some(InstabilityCause {
                instability: "orphan",
                divergent: Vec::new(),
                reason,
                node: self.changelog().node(parent),
            })
        });
        causes.collect()
    }

    /// True if a changeset is here, and public.
    pub(super) fn is_public(&self, node: &Node) -> bool {
        let rev = self.changelog().rev(node);
        rev.is_some_and(|rev| self.phases().of(rev) == Phase::Public)
    }
}
