//! Length, size and snapshot depth of the chain of deltas that ends at a revision.

use crate::{Rev, Revlog};
use std::collections::HashMap;

/// A chain: a full text, then deltas. Where snapshots are deltas too, the chain begins with
/// snapshots, each a delta against the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// How many deltas are applied to the full text.
    pub deltas: usize,
    /// Stored bytes of all chunks, that of the full text included.
    pub bytes: u64,
    /// The revision with the full text.
    pub full: Rev,
    /// How many snapshots stand between the full text and this one; `None` if the revision is an
    /// ordinary delta.
    pub depth: Option<u32>,
}

/// Chains by revision, each computed once.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    known: HashMap<Rev, Chain>,
    /// Snapshots among the newest revisions, oldest first.
    snapshots: Vec<Rev>,
    /// Up to here they were looked for.
    searched: usize,
}

/// How far back snapshots are looked for that no parent's chain begins with.
const FARTHEST_SNAPSHOT: usize = 20_000;

impl Chains {
    /// Snapshots that are not far from the end of the revlog, oldest first.
    pub fn snapshots(&mut self, revlog: &Revlog) -> &[Rev] {
        let from = self
            .searched
            .max(revlog.len().saturating_sub(FARTHEST_SNAPSHOT));
        self.searched = revlog.len();
        for rev in (from..revlog.len()).map(|number| Rev(number as u32)) {
            let base = revlog.delta_parent(rev);
            let ordinary = base.is_some() && revlog.parents(rev).contains(&base);
            if !ordinary && self.of(revlog, rev).depth.is_some() {
                self.snapshots.push(rev);
            }
        }
        &self.snapshots
    }

    /// The chain that ends at `rev`.
    pub fn of(&mut self, revlog: &Revlog, rev: Rev) -> Chain {
        let (mut above, mut at) = (Vec::new(), rev);
        let mut chain = loop {
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            match revlog.delta_parent(at) {
                None => {
                    let entry = revlog.entry(at);
                    let chain = Chain {
                        deltas: 0,
                        bytes: u64::from(entry.stored_len),
                        full: at,
                        depth: Some(0),
                    };
                    self.known.insert(at, chain);
                    break chain;
                }
                Some(base) => {
                    above.push((at, base));
                    at = base;
                }
            }
        };
        for (at, base) in above.into_iter().rev() {
            chain = Chain {
                deltas: chain.deltas + 1,
                bytes: chain.bytes + u64::from(revlog.entry(at).stored_len),
                depth: snapshot_depth(revlog, chain, base, revlog.parents(at)),
                ..chain
            };
            self.known.insert(at, chain);
        }
        chain
    }
}

/// Depth of a delta against `base`, if it is a snapshot: Mercurial counts those deltas that are
/// against a snapshot which is no parent of the revision.
pub(crate) fn snapshot_depth(
    revlog: &Revlog,
    chain_of_base: Chain,
    base: Rev,
    parents: [Option<Rev>; 2],
) -> Option<u32> {
    let is_parent = |parent: Rev| not_empty(revlog, parent) == Some(base);
    if parents.into_iter().flatten().any(is_parent) {
        return None;
    }
    chain_of_base.depth.map(|depth| depth + 1)
}

/// The first revision down the chain of `rev` that has a chunk at all. An empty delta makes the
/// same text as its base, so that the two count as one.
fn not_empty(revlog: &Revlog, mut rev: Rev) -> Option<Rev> {
    while revlog.entry(rev).stored_len == 0 {
        rev = revlog.delta_parent(rev)?;
    }
    Some(rev)
}
