//! The discovery of Mercurial before 1.9, by the commands `heads`, `branches` and `between`.
//!
//! A *segment* is a line of first parents from a head down to its root: a merge or a changeset without parents.
//! Segments whose root is unknown here are followed through the parents of the root. A segment whose root is known
//! is searched for the border between both sides by changesets at doubling distances from its head.

use crate::ExchangeError;
use crate::client::peer::{Remote, Segment, unexpected};
use std::collections::HashSet;
use varve_revlog::Node;

/// Changesets in one `branches` request after the first.
const NODES_PER_REQUEST: usize = 10;
/// Each round halves the parts that are searched, and no history has 2^64 changesets.
const MAX_NARROWING_ROUNDS: usize = 64;

/// Cost of one command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandCost {
    /// Round trips.
    pub requests: usize,
    /// Changesets, or pairs of them, in all requests.
    pub queries: usize,
}

/// Common changesets, and the cost of finding them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeDiscoveryResult {
    /// Common changesets, sorted; some may be ancestors of others. Holds the null changeset if nothing else is common.
    pub common: Vec<Node>,
    /// Heads of the other side.
    pub remote_heads: Vec<Node>,
    /// Changesets of the other side that are unknown here and whose parents are common.
    pub new_roots: Vec<Node>,
    /// Rounds of questions after the first one for `heads` and the first one for `branches`.
    pub rounds: usize,
    /// Cost of `branches`.
    pub branches: CommandCost,
    /// Cost of `between`.
    pub between: CommandCost,
}

impl TreeDiscoveryResult {
    /// True if both sides have changesets, and none in common.
    pub fn is_unrelated(&self) -> bool {
        !self.new_roots.is_empty() && self.common.iter().all(Node::is_null)
    }
}

/// A comparison that knows the heads of the other side.
pub struct TreeDiscovery<'a> {
    exists: &'a dyn Fn(&Node) -> bool,
    unknown_heads: Vec<Node>,
    common: HashSet<Node>,
    found: TreeDiscoveryResult,
}

impl<'a> TreeDiscovery<'a> {
    /// Asks for the heads. `exists` tells which changesets are here; `is_empty` says that there are none.
    ///
    /// # Errors
    /// Errors of the other side and of the connection.
    pub fn begin(
        (exists, is_empty): (&'a dyn Fn(&Node) -> bool, bool),
        remote: &mut Remote,
    ) -> Result<Self, ExchangeError> {
        let remote_heads = remote.heads()?;
        let is_known = |node: &Node| node.is_null() || exists(node);
        let (known, unknown): (Vec<Node>, Vec<Node>) =
            remote_heads.iter().copied().partition(is_known);
        let (known, unknown) = match is_empty {
            true => (vec![Node::NULL], Vec::new()),
            false => (known, unknown),
        };
        Ok(TreeDiscovery {
            exists,
            unknown_heads: unknown,
            common: known.into_iter().collect(),
            found: TreeDiscoveryResult {
                remote_heads,
                ..TreeDiscoveryResult::default()
            },
        })
    }

    /// Asks until all heads of the other side are related to changesets of this one.
    ///
    /// # Errors
    /// As of [`TreeDiscovery::begin`]; [`ExchangeError::UnexpectedAnswer`] if the answers contradict each other.
    pub fn finish(mut self, remote: &mut Remote) -> Result<TreeDiscoveryResult, ExchangeError> {
        if !self.unknown_heads.is_empty() {
            let heads = std::mem::take(&mut self.unknown_heads);
            let partial = self.follow_segments(heads, remote)?;
            self.narrow(partial, remote)?;
        }
        let mut common: Vec<Node> = self.common.into_iter().collect();
        common.sort_unstable();
        Ok(TreeDiscoveryResult {
            common,
            ..self.found
        })
    }

    fn is_known(&self, node: &Node) -> bool {
        node.is_null() || (self.exists)(node)
    }

    fn add_new_root(&mut self, node: Node) {
        if !self.found.new_roots.contains(&node) {
            self.found.new_roots.push(node);
        }
    }

    /// Follows all segments from `heads` downward; returns those whose roots are known here.
    fn follow_segments(
        &mut self,
        heads: Vec<Node>,
        remote: &mut Remote,
    ) -> Result<Vec<(Node, Node)>, ExchangeError> {
        let mut requested: HashSet<Node> = heads.iter().copied().collect();
        let mut seen = HashSet::new();
        let mut partial = Vec::new();
        let mut segments = self.branches(&heads, remote)?;
        while !segments.is_empty() {
            let mut wanted = Vec::new();
            for segment in std::mem::take(&mut segments) {
                let [head, root] = [segment.head, segment.root];
                if head.is_null() || !seen.insert(head) {
                    continue;
                }
                remote.debug(|| format!("examining {}\n", range(head, root)));
                if self.is_known(&root) {
                    remote.debug(|| format!("found incomplete branch {}\n", range(head, root)));
                    partial.push((head, root));
                    continue;
                }
                self.note_root(&segment, remote);
                let parents = segment.root_parents.into_iter();
                let unknown = parents.filter(|parent| !self.is_known(parent));
                wanted.extend(unknown.filter(|parent| requested.insert(*parent)));
            }
            if !wanted.is_empty() {
                segments = self.request_parents(&wanted, remote)?;
            }
        }
        Ok(partial)
    }

    /// Adds an unknown root to the result if its parents are known, and these to the common changesets.
    fn note_root(&mut self, segment: &Segment, remote: &mut Remote) {
        let root = segment.root;
        let parents = segment.root_parents;
        if self.found.new_roots.contains(&root) {
            return;
        }
        if parents.iter().all(|parent| self.is_known(parent)) {
            remote.debug(|| format!("found new changeset {}\n", short(root)));
            self.add_new_root(root);
        }
        let known = parents.into_iter().filter(|parent| self.is_known(parent));
        let known: Vec<Node> = known.collect();
        self.common.extend(known);
    }

    fn request_parents(
        &mut self,
        wanted: &[Node],
        remote: &mut Remote,
    ) -> Result<Vec<Segment>, ExchangeError> {
        self.found.rounds += 1;
        let number = self.found.rounds;
        remote.debug_progress(|| format!("searching: {number} queries\n"));
        let shown: Vec<String> = wanted.iter().copied().map(short).collect();
        remote.debug(|| format!("request {number}: {}\n", shown.join(" ")));
        let mut segments = Vec::new();
        for nodes in wanted.chunks(NODES_PER_REQUEST) {
            for segment in self.branches(nodes, remote)? {
                remote.debug(|| format!("received {}\n", range(segment.head, segment.root)));
                segments.push(segment);
            }
        }
        Ok(segments)
    }

    /// Finds the oldest unknown changeset of each segment from an unknown head to a known root.
    fn narrow(
        &mut self,
        mut open: Vec<(Node, Node)>,
        remote: &mut Remote,
    ) -> Result<(), ExchangeError> {
        for _ in 0..MAX_NARROWING_ROUNDS {
            if open.is_empty() {
                return Ok(());
            }
            self.found.rounds += 1;
            let number = self.found.rounds;
            remote.debug_progress(|| format!("searching: {number} queries\n"));
            self.found.between.requests += 1;
            self.found.between.queries += open.len();
            let mut narrower = Vec::new();
            for ((head, root), mut samples) in open.iter().zip(remote.between(&open)?) {
                samples.push(*root);
                if let Some(pair) = self.narrow_segment(*head, &samples, remote)? {
                    narrower.push(pair);
                }
            }
            open = narrower;
        }
        Err(unexpected("between", b""))
    }

    /// `samples` have distances 1, 2, 4 … from `head`; the last one is the root. Returns the part between two of
    /// them that holds the border, unless these are neighbours.
    fn narrow_segment(
        &mut self,
        head: Node,
        samples: &[Node],
        remote: &mut Remote,
    ) -> Result<Option<(Node, Node)>, ExchangeError> {
        let (mut newer, mut distance) = (head, 1_u64);
        for sample in samples {
            let sample = *sample;
            let count = samples.len();
            remote.debug(|| format!("narrowing {distance}:{count} {}\n", short(sample)));
            if self.is_known(&sample) {
                if distance > 2 {
                    let words = range(newer, sample);
                    remote.debug(|| format!("narrowed branch search to {words}\n"));
                    return Ok(Some((newer, sample)));
                }
                remote.debug(|| format!("found new branch changeset {}\n", short(newer)));
                self.add_new_root(newer);
                self.common.insert(sample);
                return Ok(None);
            }
            newer = sample;
            distance = distance.saturating_mul(2);
        }
        Err(unexpected("between", b""))
    }

    fn branches(
        &mut self,
        nodes: &[Node],
        remote: &mut Remote,
    ) -> Result<Vec<Segment>, ExchangeError> {
        self.found.branches.requests += 1;
        self.found.branches.queries += nodes.len();
        remote.branches(nodes)
    }
}

fn short(node: Node) -> String {
    let mut shown = node.to_string();
    shown.truncate(12);
    shown
}

fn range(newer: Node, older: Node) -> String {
    format!("{}:{}", short(newer), short(older))
}
