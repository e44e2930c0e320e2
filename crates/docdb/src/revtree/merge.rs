//! Adding revisions to a tree, and cutting old ones off.

use super::{Node, RevTree, Stored};
use crate::Rev;
use std::collections::HashMap;

impl RevTree {
    /// Adds a revision with its known ancestors, newest first; only the newest brings content.
    ///
    /// Returns whether the newest was unknown before. Whatever the order in which the revisions of
    /// one history come in, the tree becomes the same.
    pub fn merge(&mut self, path: &[Rev], stored: Stored) -> bool {
        let mut merging = Merging::of(std::mem::take(self));
        let is_new = merging.merge(path, stored);
        *self = merging.finish();
        is_new
    }

    /// Forgets leaves, and those of their ancestors that lead nowhere else. Returns which of `revs`
    /// were leaves.
    pub(crate) fn purge(&mut self, revs: &[Rev]) -> Vec<Rev> {
        let mut children = vec![0_u32; self.nodes.len()];
        for parent in self.nodes.iter().filter_map(|node| node.parent) {
            children[parent as usize] += 1;
        }
        let mut is_gone = vec![false; self.nodes.len()];
        let mut purged = Vec::new();
        for rev in revs {
            let leaf = self.index(rev).filter(|index| self.is_leaf[*index]);
            let Some(mut at) = leaf.filter(|index| !is_gone[*index]) else {
                continue;
            };
            purged.push(rev.clone());
            is_gone[at] = true;
            while let Some(parent) = self.nodes[at].parent {
                at = parent as usize;
                children[at] -= 1;
                if children[at] > 0 {
                    break;
                }
                is_gone[at] = true;
            }
        }
        let mut edit = Editing::new(std::mem::take(&mut self.nodes));
        edit.keep(|index| !is_gone[index]);
        *self = edit.finish();
        purged
    }

    /// Gives every leaf another content; one for which there is none is forgotten, and its parent
    /// becomes a leaf unless it has other children. Contents of revisions that are no leaves go.
    pub(crate) fn keep_leaves<E>(
        &mut self,
        mut content: impl FnMut(&Node) -> Result<Option<Stored>, E>,
    ) -> Result<(), E> {
        let mut children = vec![0_u32; self.nodes.len()];
        for parent in self.nodes.iter().filter_map(|node| node.parent) {
            children[parent as usize] += 1;
        }
        let mut is_kept = vec![true; self.nodes.len()];
        // Children stand before their parents.
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            let stored = match children[index] {
                0 => content(node)?,
                _ => None,
            };
            if children[index] == 0 && stored.is_none() {
                is_kept[index] = false;
                if let Some(parent) = node.parent {
                    children[parent as usize] -= 1;
                }
            }
            self.nodes[index].stored = stored;
        }
        let mut edit = Editing::new(std::mem::take(&mut self.nodes));
        edit.keep(|index| is_kept[index]);
        *self = edit.finish();
        Ok(())
    }

    /// Drops revisions that are further than `limit` from every leaf.
    pub fn stem(&mut self, limit: u64) {
        if self.nodes.len() as u64 <= limit {
            return;
        }
        // The distance to the nearest leaf; children stand before their parents.
        let mut distance = vec![u64::MAX; self.nodes.len()];
        for index in 0..self.nodes.len() {
            if self.is_leaf[index] {
                distance[index] = 0;
            }
            if let Some(parent) = self.nodes[index].parent {
                let through_here = distance[index].saturating_add(1);
                let nearest = &mut distance[parent as usize];
                *nearest = through_here.min(*nearest);
            }
        }
        let mut edit = Editing::new(std::mem::take(&mut self.nodes));
        edit.keep(|index| distance[index] < limit.max(1));
        *self = edit.finish();
    }
}

/// A tree to which many revisions are added: it is put in order once, behind the last of them.
#[derive(Debug, Default)]
pub(crate) struct Merging(Editing);

impl Merging {
    pub(crate) fn of(tree: RevTree) -> Merging {
        Merging(Editing::new(tree.nodes))
    }

    /// Whether a revision is known.
    pub(crate) fn knows(&self, rev: &Rev) -> bool {
        self.0.find(rev).is_some()
    }

    /// As [`RevTree::merge`].
    pub(crate) fn merge(&mut self, path: &[Rev], stored: Stored) -> bool {
        let edit = &mut self.0;
        let known = path.iter().position(|rev| edit.find(rev).is_some());
        let mut newest = None;
        let mut child = None;
        for rev in &path[..known.unwrap_or(path.len())] {
            let at = edit.add(rev);
            newest.get_or_insert(at);
            edit.link(child, at);
            child = Some(at);
        }
        if let Some(known) = known {
            edit.join(child, &path[known..]);
        }
        if let Some(newest) = newest {
            edit.nodes[newest as usize].stored = Some(stored);
        }
        newest.is_some()
    }

    pub(crate) fn finish(self) -> RevTree {
        self.0.finish()
    }
}

/// Nodes while links between them change: first those of a tree in its order, then added ones in no order.
#[derive(Debug, Default)]
struct Editing {
    nodes: Vec<Node>,
    /// How many are in order, before any was dropped.
    in_order: usize,
    /// Where the added ones are.
    added: HashMap<Rev, u32>,
}

impl Editing {
    fn new(nodes: Vec<Node>) -> Self {
        Editing {
            in_order: nodes.len(),
            nodes,
            added: HashMap::new(),
        }
    }

    fn add(&mut self, rev: &Rev) -> u32 {
        let at = self.nodes.len() as u32;
        self.nodes.push(Node {
            rev: rev.clone(),
            parent: None,
            stored: None,
        });
        self.added.insert(rev.clone(), at);
        at
    }

    fn find(&self, rev: &Rev) -> Option<u32> {
        let in_order = self.nodes.get(..self.in_order).unwrap_or_default();
        let found = in_order.binary_search_by(|node| rev.cmp(&node.rev));
        let found = found.ok().map(|at| at as u32);
        found.or_else(|| self.added.get(rev).copied())
    }

    fn link(&mut self, child: Option<u32>, parent: u32) {
        if let Some(child) = child {
            self.nodes[child as usize].parent = Some(parent);
        }
    }

    /// Hangs `child` below the first of `known`, and adds the ancestors in the rest.
    fn join(&mut self, child: Option<u32>, known: &[Rev]) {
        let Some(mut at) = known.first().and_then(|rev| self.find(rev)) else {
            return;
        };
        self.link(child, at);
        for older in &known[1..] {
            match self.nodes[at as usize].parent {
                Some(parent) if self.nodes[parent as usize].rev == *older => at = parent,
                // Another history of the same revision: the one that came first stays.
                Some(_) => return,
                None => {
                    let found = self.find(older);
                    let parent = found.unwrap_or_else(|| self.add(older));
                    self.link(Some(at), parent);
                    at = parent;
                }
            }
        }
    }

    /// Drops nodes by index; their children become roots.
    fn keep(&mut self, keep: impl Fn(usize) -> bool) {
        let mut moved = Vec::with_capacity(self.nodes.len());
        let mut count = 0u32;
        for index in 0..self.nodes.len() {
            moved.push(keep(index).then_some(count));
            count += u32::from(keep(index));
        }
        let mut index = 0;
        self.nodes.retain(|_| {
            index += 1;
            moved[index - 1].is_some()
        });
        for node in &mut self.nodes {
            node.parent = node.parent.and_then(|parent| moved[parent as usize]);
        }
    }

    /// Sorts the nodes, newest first.
    fn finish(self) -> RevTree {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by(|a, b| {
            self.nodes[*b as usize]
                .rev
                .cmp(&self.nodes[*a as usize].rev)
        });
        let mut moved = vec![0; order.len()];
        for (new, old) in (0u32..).zip(&order) {
            moved[*old as usize] = new;
        }
        let mut slots: Vec<Option<Node>> = self.nodes.into_iter().map(Some).collect();
        let sorted = order.iter().filter_map(|old| slots[*old as usize].take());
        let relinked = sorted.map(|mut node| {
            node.parent = node.parent.map(|parent| moved[parent as usize]);
            node
        });
        RevTree::from_nodes(relinked.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;
    use proptest::prelude::*;
    use varve_btree::ChunkRef;

    fn stored(deleted: bool) -> Stored {
        Stored {
            deleted,
            body: ChunkRef { offset: 7, len: 1 },
            attachments: None,
            seq: 1,
            active: 1,
            external: 1,
        }
    }

    fn revs(text: &str) -> Vec<Rev> {
        text.split(' ').map(|rev| rev.parse().unwrap()).collect()
    }

    fn tree(paths: &[&str]) -> RevTree {
        let mut tree = RevTree::default();
        for path in paths {
            tree.merge(&revs(path), stored(false));
        }
        tree
    }

    fn texts<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<String> {
        nodes.into_iter().map(|node| node.rev.to_string()).collect()
    }

    #[test]
    fn branches_conflict_and_the_greatest_leaf_wins() {
        let mut tree = tree(&["2-b 1-a", "2-c 1-a", "1-z"]);
        assert_eq!(texts(tree.ranked_leaves()), ["2-c", "2-b", "1-z"]);
        tree.merge(&revs("3-d 2-c"), stored(true));
        assert_eq!(texts(tree.ranked_leaves()), ["2-b", "1-z", "3-d"]);
        assert_eq!(texts(tree.conflicts()), ["1-z"]);
        assert_eq!(texts(tree.deleted_conflicts()), ["3-d"]);
        assert_eq!(texts(tree.path(&revs("3-d")[0])), ["3-d", "2-c", "1-a"]);
        assert_eq!(texts(tree.leaves_above(&revs("1-a")[0])), ["3-d", "2-b"]);
    }

    #[test]
    fn a_known_revision_changes_nothing_and_older_history_is_added() {
        let mut tree = tree(&["5-e 4-d"]);
        assert!(!tree.merge(&revs("4-d"), stored(false)));
        assert!(tree.merge(&revs("6-f 5-e 4-d 3-c 2-b"), stored(false)));
        assert_eq!(tree.history(&revs("6-f")[0]).len(), 5);
        assert!(tree.merge(&revs("4-x 3-c"), stored(false)));
        assert_eq!(texts(tree.leaves()), ["6-f", "4-x"]);
        assert_eq!(texts(tree.path(&revs("4-x")[0])), ["4-x", "3-c", "2-b"]);
    }

    #[test]
    fn stemming_counts_from_every_leaf() {
        let mut tree = tree(&["5-e 4-d 3-c 2-b 1-a", "3-x 2-b"]);
        tree.stem(3);
        assert_eq!(
            texts(tree.path(&revs("5-e")[0])),
            ["5-e", "4-d", "3-c", "2-b", "1-a"]
        );
        tree.stem(2);
        assert_eq!(texts(tree.path(&revs("5-e")[0])), ["5-e", "4-d"]);
        assert_eq!(texts(tree.path(&revs("3-x")[0])), ["3-x", "2-b"]);
        tree.stem(1);
        assert_eq!(texts(tree.leaves()), ["5-e", "3-x"]);
        assert_eq!(tree.len(), 2);
    }

    /// A random history: each revision's parent is an earlier one, or none.
    fn history() -> impl Strategy<Value = Vec<Vec<Rev>>> {
        prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..25).prop_map(|picks| {
            let mut paths: Vec<Vec<Rev>> = Vec::new();
            for (number, (pick, root)) in picks.iter().enumerate() {
                let parent = match (root, paths.is_empty()) {
                    (0, _) | (_, true) => Vec::new(),
                    _ => pick.get(&paths).clone(),
                };
                let rev = Rev {
                    generation: parent.len() as u64 + 1,
                    digest: Digest::from([number as u8; 16]),
                };
                paths.push([vec![rev], parent].concat());
            }
            paths
        })
    }

    proptest! {
        #[test]
        fn many_revisions_added_at_once_make_the_tree_of_one_after_the_other(
            paths in history(),
            split in 0..25usize,
            cut in 1..4usize,
        ) {
            let mut one_by_one = RevTree::default();
            let (before, behind) = paths.split_at(split.min(paths.len()));
            for path in before {
                one_by_one.merge(path, stored(path.len() % 3 == 0));
            }
            let mut merging = Merging::of(one_by_one.clone());
            for path in behind.iter().map(|path| &path[..path.len().min(cut)]).chain(behind.iter().map(Vec::as_slice)) {
                let is_known = one_by_one.find(&path[0]).is_some();
                prop_assert_eq!(merging.knows(&path[0]), is_known);
                let is_new = merging.merge(path, stored(path.len() % 3 == 0));
                prop_assert_eq!(is_new, one_by_one.merge(path, stored(path.len() % 3 == 0)));
            }
            prop_assert_eq!(merging.finish(), one_by_one);
        }

        #[test]
        fn replicas_agree_whatever_the_order(
            paths in history(),
            order in any::<u64>(),
            cut in 1..4usize,
        ) {
            let mut whole = RevTree::default();
            for path in &paths {
                whole.merge(path, stored(path.len() % 3 == 0));
            }
            // Shuffled, some of it twice, some without its oldest ancestors first.
            let mut shuffled = paths.clone();
            shuffled.sort_by_key(|path| {
                let byte = u64::from(path[0].digest.as_bytes()[0]) + 1;
                order.wrapping_mul(byte.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(17)
            });
            let mut replica = RevTree::default();
            for path in &shuffled {
                let deleted = path.len() % 3 == 0;
                replica.merge(&path[..path.len().min(cut)], stored(deleted));
            }
            for path in &shuffled {
                replica.merge(path, stored(path.len() % 3 == 0));
            }
            let leaves = |tree: &RevTree| {
                let paths = tree.ranked_leaves().into_iter().map(|leaf| tree.history(&leaf.rev));
                paths.collect::<Vec<_>>()
            };
            prop_assert_eq!(leaves(&replica), leaves(&whole));
            prop_assert_eq!(replica.winner().map(|node| &node.rev), whole.winner().map(|node| &node.rev));
        }
    }
}
