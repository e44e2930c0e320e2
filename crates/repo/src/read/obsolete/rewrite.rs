//! Whether a changeset may be replaced by another one.

use super::Evolution;
use crate::format::{Phase, RepoError};
use crate::read::RepoView;
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
    /// The changeset is obsolete and has a visible successor, with which a second one would diverge.
    Divergence {
        /// The visible successor.
        successor: Node,
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
        let latest = self.latest_successors(self.changelog().node(rev))?;
        let visible = latest.into_iter().find(|rev| self.is_visible(*rev));
        Ok(visible.map(|rev| RewriteRefusal::Divergence {
            successor: self.changelog().node(rev),
        }))
    }
}
