//! Whether a changeset may be replaced by another one.

use super::Evolution;
use crate::format::{Phase, RepoError};
use crate::read::RepoView;
use std::collections::{BTreeSet, VecDeque};
use varve_revlog::{Node, Rev};

/// The reason why a changeset must not be rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteRefusal {
    /// Public changesets are immutable.
    Public,
    /// Descendants would become orphans, and `experimental.evolution` does not allow those.
    Orphans {
        /// Number of visible descendants.
        descendants: usize,
    },
    /// The changeset is obsolete, and a new one in its place would stand beside a visible successor.
    Divergence {
        /// The visible successor.
        successor: Node,
        /// The changeset that it succeeds: the same one, or one before it.
        predecessor: Node,
    },
}

impl RepoView {
    /// Checks whether a changeset may be rewritten; `None` if nothing forbids it.
    ///
    /// # Errors
    /// If the obsolescence markers are damaged.
    pub fn rewrite_refusal(
        &self,
        rev: Rev,
        evolution: Evolution,
    ) -> Result<Option<RewriteRefusal>, RepoError> {
        if self.phases().of(rev) == Phase::Public {
            return Ok(Some(RewriteRefusal::Public));
        }
        let descendants = self.count_descendants(rev);
        if descendants > 0 && !evolution.unstable {
            return Ok(Some(RewriteRefusal::Orphans { descendants }));
        }
        if evolution.divergence || !self.obsolete()?.contains(&rev) {
            return Ok(None);
        }
        let node = self.changelog().node(rev);
        if let Some(successor) = self.visible_successor(node)? {
            return Ok(Some(RewriteRefusal::Divergence {
                successor,
                predecessor: node,
            }));
        }
        // One that was pruned comes back beside what else became of its predecessors.
        let mut seen = BTreeSet::from([node]);
        let mut open = VecDeque::from(self.predecessors(&node)?);
        while let Some(predecessor) = open.pop_front() {
            if !seen.insert(predecessor) {
                continue;
            }
            if let Some(successor) = self.visible_successor(predecessor)? {
                return Ok(Some(RewriteRefusal::Divergence {
                    successor,
                    predecessor,
                }));
            }
            open.extend(self.predecessors(&predecessor)?);
        }
        Ok(None)
    }

    fn visible_successor(&self, node: Node) -> Result<Option<Node>, RepoError> {
        let latest = self.latest_successors(node)?;
        let visible = latest.into_iter().find(|rev| self.is_visible(*rev));
        Ok(visible.map(|rev| self.changelog().node(rev)))
    }
}
