//! The revision tree of one document.
//!
//! A forest, to be exact: where history was cut off by stemming, or came in without its beginning,
//! there are several roots. Nodes stand in descending order of (generation, digest), so that a
//! parent always stands behind its children and equal trees have equal bytes.

mod assemble;
mod encode;
mod merge;

use crate::{Digest, Rev};
use varve_btree::ChunkRef;

pub(crate) use assemble::TreePart;
pub(crate) use encode::{TreeText, chunk, encode_stored, put_chunk, skip_to_winner};
pub(crate) use merge::Merging;

/// Stored content of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Whether the revision deletes the document.
    pub deleted: bool,
    /// Where the body stands: JSON text without the members that begin with `_`.
    pub body: ChunkRef,
    /// Where the list of attachments stands, if there are any.
    pub attachments: Option<ChunkRef>,
    /// The update that brought it.
    pub seq: u64,
    /// Bytes in the file: body and attachments.
    pub active: u64,
    /// Bytes as clients see them: JSON text, and attachments before compression.
    pub external: u64,
}

/// One revision of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub rev: Rev,
    /// Index of its parent, which is always greater; `None` for a root.
    pub(crate) parent: Option<u32>,
    /// Its content; `None` if only the id came in.
    pub stored: Option<Stored>,
}

/// All known revisions of one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RevTree {
    /// In descending order of revision.
    nodes: Vec<Node>,
    /// Whether the node with the same index has no children.
    is_leaf: Vec<bool>,
}

impl RevTree {
    fn from_nodes(nodes: Vec<Node>) -> Self {
        let mut is_leaf = vec![true; nodes.len()];
        for parent in nodes.iter().filter_map(|node| node.parent) {
            is_leaf[parent as usize] = false;
        }
        RevTree { nodes, is_leaf }
    }

    /// The leaf that stands for the document: not deleted before deleted, then the higher
    /// generation, then the greater digest. `None` only for a tree without revisions.
    pub fn winner(&self) -> Option<&Node> {
        self.leaves().max_by(|a, b| rank(a).cmp(&rank(b)))
    }

    /// All revisions, in descending order.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Revisions without children, in descending order of revision.
    pub fn leaves(&self) -> impl Iterator<Item = &Node> {
        let leaves = self.nodes.iter().zip(&self.is_leaf);
        leaves
            .filter(|(_, is_leaf)| **is_leaf)
            .map(|(node, _)| node)
    }

    /// Leaves as CouchDB lists them: the winner first, then by the same order of preference.
    pub fn ranked_leaves(&self) -> Vec<&Node> {
        let mut leaves: Vec<&Node> = self.leaves().collect();
        leaves.sort_by(|a, b| rank(b).cmp(&rank(a)));
        leaves
    }

    /// Leaves besides the winner that are not deleted.
    pub fn conflicts(&self) -> impl Iterator<Item = &Node> {
        self.ranked_leaves()
            .into_iter()
            .skip(1)
            .filter(|leaf| !leaf.is_deleted())
    }

    /// Leaves besides the winner that are deleted.
    pub fn deleted_conflicts(&self) -> impl Iterator<Item = &Node> {
        self.ranked_leaves()
            .into_iter()
            .skip(1)
            .filter(|leaf| leaf.is_deleted())
    }

    /// Whether the winner is deleted.
    pub fn is_deleted(&self) -> bool {
        self.winner().is_some_and(Node::is_deleted)
    }

    /// The revision with this id.
    pub fn find(&self, rev: &Rev) -> Option<&Node> {
        self.index(rev).map(|index| &self.nodes[index])
    }

    /// The leaf with this id.
    pub fn leaf(&self, rev: &Rev) -> Option<&Node> {
        let index = self.index(rev)?;
        self.is_leaf[index].then(|| &self.nodes[index])
    }

    /// A revision and its ancestors as far as they are known, newest first.
    pub fn path(&self, rev: &Rev) -> impl Iterator<Item = &Node> {
        let next = |node: &&Node| node.parent.map(|parent| &self.nodes[parent as usize]);
        std::iter::successors(self.find(rev), next)
    }

    /// The digests of [`RevTree::path`], as `_revisions` lists them.
    pub fn history(&self, rev: &Rev) -> Vec<Digest> {
        self.path(rev).map(|node| node.rev.digest.clone()).collect()
    }

    /// The leaves that descend from a revision, or are it, as `latest=true` asks.
    pub fn leaves_above<'t>(&'t self, rev: &Rev) -> Vec<&'t Node> {
        let Some(root) = self.index(rev) else {
            return Vec::new();
        };
        // Parents stand behind their children, so backwards every node is seen after its parent.
        let mut is_above = vec![false; root + 1];
        is_above[root] = true;
        for index in (0..root).rev() {
            let parent = self.nodes[index].parent.map(|parent| parent as usize);
            is_above[index] = parent.is_some_and(|parent| parent <= root && is_above[parent]);
        }
        let found = (0..=root).filter(|index| is_above[*index] && self.is_leaf[*index]);
        found.map(|index| &self.nodes[index]).collect()
    }

    /// Leaves of a lower generation than `rev`, which may be its ancestors.
    pub fn possible_ancestors(&self, rev: &Rev) -> impl Iterator<Item = &Node> {
        let generation = rev.generation;
        self.leaves()
            .filter(move |leaf| leaf.rev.generation < generation)
    }

    /// How many revisions are known.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Bytes in the file and as clients see them, of all leaves.
    pub fn sizes(&self) -> (u64, u64) {
        let stored = self.leaves().filter_map(|leaf| leaf.stored.as_ref());
        stored.fold((0u64, 0u64), |(active, external), stored| {
            (
                active.saturating_add(stored.active),
                external.saturating_add(stored.external),
            )
        })
    }

    /// Gives the content of every leaf another place; that of other revisions is forgotten.
    pub(crate) fn move_leaves<E>(
        &mut self,
        mut place: impl FnMut(&Rev, &Stored) -> Result<Stored, E>,
    ) -> Result<(), E> {
        for (node, is_leaf) in self.nodes.iter_mut().zip(&self.is_leaf) {
            node.stored = match &node.stored {
                Some(stored) if *is_leaf => Some(place(&node.rev, stored)?),
                _ => None,
            };
        }
        Ok(())
    }

    /// The tree as it would be without the other leaves; only the content of leaves is there.
    pub(crate) fn with_leaves(&self, mut is_kept: impl FnMut(&Rev) -> bool) -> RevTree {
        let mut kept = self.clone();
        let leaves = kept.keep_leaves(|node| {
            let is_leaf = self.leaf(&node.rev).is_some();
            let content = node
                .stored
                .clone()
                .filter(|_| is_leaf && is_kept(&node.rev));
            Ok::<_, std::convert::Infallible>(content)
        });
        match leaves {
            Ok(()) => kept,
            Err(never) => match never {},
        }
    }

    /// The node with this index; the newest has the first.
    pub(crate) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// Where in the order of all a revision stands.
    pub(crate) fn index(&self, rev: &Rev) -> Option<usize> {
        self.nodes.binary_search_by(|node| rev.cmp(&node.rev)).ok()
    }
}

impl Node {
    /// Whether the revision deletes the document.
    pub fn is_deleted(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.deleted)
    }
}

/// Order in which leaves are preferred.
fn rank(leaf: &Node) -> (bool, &Rev) {
    (!leaf.is_deleted(), &leaf.rev)
}
