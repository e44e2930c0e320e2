//! A tree from revisions that come all at once, as another program kept them.

use super::{Node, RevTree, Stored};
use crate::Rev;

/// Highest generation that is taken: half the range is left, so that no chain of edits overflows.
const HIGHEST_GENERATION: u64 = u64::MAX / 2;

/// One revision of a tree that is to be assembled.
#[derive(Debug)]
pub(crate) struct TreePart {
    pub(crate) rev: Rev,
    /// Index of the parent among all parts.
    pub(crate) parent: Option<usize>,
    pub(crate) stored: Option<Stored>,
}

impl RevTree {
    /// Puts revisions in order, in whatever order they come. A revision that comes twice is kept once, with the content
    /// and the parent of the first that has any. `None` if a parent is not there, or not one generation below.
    pub(crate) fn assemble(mut parts: Vec<TreePart>) -> Option<RevTree> {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by(|a, b| parts[*b].rev.cmp(&parts[*a].rev).then(a.cmp(b)));
        let mut moved = vec![0_u32; parts.len()];
        let mut nodes: Vec<Node> = Vec::with_capacity(parts.len());
        let mut parents: Vec<Option<usize>> = Vec::with_capacity(parts.len());
        for old in order {
            let part = &mut parts[old];
            let is_repeated = nodes.last().is_some_and(|last| last.rev == part.rev);
            if !is_repeated {
                nodes.push(Node {
                    rev: part.rev.clone(),
                    parent: None,
                    stored: None,
                });
                parents.push(None);
            }
            moved[old] = u32::try_from(nodes.len() - 1).ok()?;
            let (node, parent) = (nodes.last_mut()?, parents.last_mut()?);
            node.stored = node.stored.take().or(part.stored.take());
            *parent = parent.or(part.parent);
        }
        for index in 0..nodes.len() {
            let Some(parent) = parents[index] else {
                continue;
            };
            let parent = *moved.get(parent)?;
            let below = nodes.get(parent as usize)?.rev.generation.checked_add(1);
            if below != Some(nodes[index].rev.generation) {
                return None;
            }
            nodes[index].parent = Some(parent);
        }
        let is_sound = |node: &Node| (1..=HIGHEST_GENERATION).contains(&node.rev.generation);
        (!nodes.is_empty() && nodes.iter().all(is_sound)).then(|| RevTree::from_nodes(nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_btree::ChunkRef;

    fn stored(seq: u64) -> Stored {
        Stored {
            deleted: false,
            body: ChunkRef { offset: 7, len: 1 },
            attachments: None,
            seq,
            active: 1,
            external: 1,
        }
    }

    fn part(rev: &str, parent: Option<usize>, seq: Option<u64>) -> TreePart {
        TreePart {
            rev: rev.parse().unwrap(),
            parent,
            stored: seq.map(stored),
        }
    }

    #[test]
    fn the_tree_is_that_of_its_merged_paths_whatever_the_order() {
        let path = |text: &str| -> Vec<Rev> {
            let revs = text.split(' ');
            revs.map(|rev| rev.parse().unwrap()).collect()
        };
        let mut merged = RevTree::default();
        merged.merge(&path("3-c 2-a 1-z"), stored(1));
        merged.merge(&path("2-b 1-z"), stored(2));
        merged.merge(&path("9-q 8-p"), stored(3));
        let parts = vec![
            part("1-z", None, None),
            part("2-a", Some(0), None),
            part("2-b", Some(0), Some(2)),
            part("8-p", None, None),
            part("9-q", Some(3), Some(3)),
            part("3-c", Some(1), Some(1)),
        ];
        assert_eq!(RevTree::assemble(parts), Some(merged));
    }

    #[test]
    fn a_repeated_revision_is_kept_once_and_wrong_parents_are_refused() {
        let twice = vec![
            part("2-b", None, Some(1)),
            part("1-a", None, None),
            part("2-b", Some(1), None),
        ];
        let tree = RevTree::assemble(twice).unwrap();
        assert_eq!(tree.len(), 2);
        assert_eq!(tree.history(&"2-b".parse().unwrap()).len(), 2);
        let gap = vec![part("1-a", None, None), part("3-c", Some(0), Some(1))];
        assert_eq!(RevTree::assemble(gap), None);
        let nowhere = vec![part("2-b", Some(4), Some(1))];
        assert_eq!(RevTree::assemble(nowhere), None);
        assert_eq!(RevTree::assemble(Vec::new()), None);
    }
}
