//! The parents that a rebased changeset gets, and the base of the merge that brings its changes there.

use crate::WorkdirError;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Node, RepoView, Rev};

/// Targets of the changesets of a rebase, by their old numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebaseTargets {
    /// The destination of each of them.
    pub destinations: BTreeMap<Rev, Node>,
    /// Copy or new parent that stands for each; `None` for those still to come.
    pub done: BTreeMap<Rev, Option<Node>>,
    /// Those without changes of their own, for which their new parent stands.
    pub skipped: BTreeSet<Rev>,
}

/// The place of one changeset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebaseParents {
    /// The new parents.
    pub parents: [Node; 2],
    /// Base of the merge that brings the changes.
    pub base: Option<Rev>,
}

/// Reason why a changeset cannot be rebased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RebaseRefusal {
    /// A merge of which no parent would move.
    NoParentMoves(Rev),
    /// The changeset is an ancestor of its new parent.
    SourceIsAncestor,
    /// A merge would bring changesets that are not rebased, one of these lists.
    UnwantedChanges(Rev, Vec<Vec<Rev>>),
}

impl RebaseTargets {
    /// The parents of the copy of `rev`. A merge needs a view that has all copies so far.
    ///
    /// # Errors
    /// Damage in the repository.
    pub fn parents(
        &self,
        view: &RepoView,
        rev: Rev,
    ) -> Result<Result<RebaseParents, RebaseRefusal>, WorkdirError> {
        let old = view.changelog().parents(rev);
        let place = match old {
            [first, None] => RebaseParents {
                parents: [self.nearest(view, rev, first), Node::NULL],
                base: first,
            },
            [first, Some(second)] => {
                let merge = MergeParents {
                    targets: self,
                    view,
                    rev,
                    old: [first, Some(second)],
                };
                match merge.find()? {
                    Ok(place) => place,
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
        };
        let is_below = |parent: &Node| {
            let parent = view.changelog().rev(parent);
            parent.is_some_and(|parent| parent == rev || view.is_descendant(parent, rev))
        };
        Ok(match place.parents.iter().any(is_below) {
            true => Err(RebaseRefusal::SourceIsAncestor),
            false => Ok(place),
        })
    }

    fn copy(&self, rev: Rev) -> Option<Node> {
        self.done.get(&rev).copied().flatten()
    }

    /// The destination of `rev`.
    pub fn destination(&self, rev: Rev) -> Node {
        self.destinations.get(&rev).copied().unwrap_or(Node::NULL)
    }

    /// Place of `rev` for its parent `old`: the copy of the newest changeset at `old` or above it that has the same
    /// destination, else the destination, or its copy if it has moved itself.
    fn nearest(&self, view: &RepoView, rev: Rev, old: Option<Rev>) -> Node {
        let destination = self.destination(rev);
        let Some(old) = old else {
            return destination;
        };
        let copied = |above: Rev| {
            let goes_along =
                !self.skipped.contains(&above) && self.destination(above) == destination;
            self.copy(above).filter(|_| goes_along)
        };
        if let Some(copy) = copied(old) {
            return copy;
        }
        let older = self.done.range(..old).rev().map(|(rev, _)| *rev);
        let mut older = older.filter(|rev| view.is_descendant(old, *rev));
        if let Some(copy) = older.find_map(copied) {
            return copy;
        }
        let moved = view.changelog().rev(&destination);
        let moved = moved.and_then(|rev| self.copy(rev));
        moved.unwrap_or(destination)
    }
}

/// A merge that is rebased.
struct MergeParents<'a> {
    targets: &'a RebaseTargets,
    view: &'a RepoView,
    rev: Rev,
    old: [Option<Rev>; 2],
}

impl MergeParents<'_> {
    fn number(&self, node: &Node) -> Option<Rev> {
        self.view.changelog().rev(node)
    }

    fn is_ancestor(&self, above: &Node, below: &Node) -> bool {
        match (self.number(above), self.number(below)) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(above), Some(below)) => above == below || self.view.is_descendant(below, above),
        }
    }

    fn find(&self) -> Result<Result<RebaseParents, RebaseRefusal>, WorkdirError> {
        let changelog = self.view.changelog();
        let mut new = [Node::NULL; 2];
        let mut bases = self.old;
        for (at, old) in self.old.into_iter().enumerate() {
            let Some(old) = old else {
                continue;
            };
            let mut node = self.moved(old)?;
            // Of two parents where one follows from the other, the older one is dropped.
            if at == 1 && !new[0].is_null() {
                if self.is_ancestor(&node, &new[0]) {
                    node = Node::NULL;
                } else if self.is_ancestor(&new[0], &node) {
                    new[0] = node;
                    node = Node::NULL;
                    bases.swap(0, 1);
                }
            }
            new[at] = node;
        }
        let old = self.old.map(|rev| changelog.node_or_null(rev));
        if !new[1].is_null() && old[0] == new[0] {
            new.swap(0, 1);
            bases.swap(0, 1);
        }
        let both = |nodes: [Node; 2]| BTreeSet::from(nodes);
        if both(new) == both(old) && !new.contains(&self.targets.destination(self.rev)) {
            return Ok(Err(RebaseRefusal::NoParentMoves(self.rev)));
        }
        if let Err(refusal) = self.choose_base(&mut new, &mut bases) {
            return Ok(Err(refusal));
        }
        Ok(Ok(RebaseParents {
            parents: new,
            base: bases[0],
        }))
    }

    /// Where one parent goes: to the destination if that follows from it or from what it became, else to its copy.
    fn moved(&self, old: Rev) -> Result<Node, WorkdirError> {
        let targets = self.targets;
        if let Some(copy) = targets.copy(old) {
            return Ok(copy);
        }
        let nearest = targets.nearest(self.view, self.rev, Some(old));
        let node = self.view.changelog().node(old);
        let destination = targets.destination(self.rev);
        let destination = &destination;
        let mut follows = self.is_ancestor(&node, destination);
        if !follows && self.view.has_obsolete()? {
            for successor in self.view.latest_successors(node)? {
                let successor = self.view.changelog().node(successor);
                follows |= self.is_ancestor(&successor, destination);
            }
        }
        Ok(if follows { nearest } else { node })
    }

    /// Chooses the base over which the merge brings nothing else than the changeset and rebased ones, where both
    /// parents move.
    fn choose_base(
        &self,
        new: &mut [Node; 2],
        bases: &mut [Option<Rev>; 2],
    ) -> Result<(), RebaseRefusal> {
        let stays = |base: Rev| new.contains(&self.view.changelog().node(base));
        let [Some(first), Some(second)] = *bases else {
            return Ok(());
        };
        if first == second || stays(first) || stays(second) {
            return Ok(());
        }
        let unwanted = [self.unwanted(first, second), self.unwanted(second, first)];
        let counts = unwanted.iter().enumerate();
        let counts = counts.filter_map(|(at, revs)| Some((revs.as_ref()?.len(), at)));
        let Some((least, at)) = counts.min() else {
            return Ok(());
        };
        if least > 0 {
            let lists = unwanted.into_iter().flatten().collect();
            return Err(RebaseRefusal::UnwantedChanges(self.rev, lists));
        }
        if at == 1 {
            if !new[1].is_null() {
                new.swap(0, 1);
            }
            bases.swap(0, 1);
        }
        Ok(())
    }

    /// Ancestors of `side` that a merge over `base` would bring and that are not rebased; `None` if it brings none at
    /// all.
    fn unwanted(&self, base: Rev, side: Rev) -> Option<Vec<Rev>> {
        let destination = self.number(&self.targets.destination(self.rev));
        let common: Vec<Rev> = [Some(base), destination].into_iter().flatten().collect();
        let brought = self.view.missing_ancestors(&[side], &common);
        if brought.is_empty() {
            return None;
        }
        let done = self.targets.done.iter().filter(|(_, new)| new.is_some());
        let done: Vec<Rev> = done.map(|(rev, _)| *rev).collect();
        let changelog = self.view.changelog();
        let is_merge = |rev: &&Rev| changelog.parents(**rev)[1].is_some();
        let merges: Vec<Rev> = done.iter().filter(is_merge).copied().collect();
        let covers = |rev: &Rev| {
            let mut merges = merges.iter();
            merges.any(|merge| merge == rev || self.view.is_descendant(*merge, *rev))
        };
        let mut left: Vec<Rev> = brought
            .into_iter()
            .filter(|rev| !done.contains(rev))
            .collect();
        left.retain(|rev| !covers(rev));
        Some(left)
    }
}
