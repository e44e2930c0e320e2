//! The changeset that a merge or a rebase takes by itself, over random histories with branches and bookmarks.

use super::histories::{Graph, History, descendants, graphs};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use varve_repo::{LockKind, Node, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{
    Dirstate, MergeDestination, merge_destination, rebase_destination, set_active_bookmark,
    set_branch,
};

const BRANCHES: [&str; 2] = ["default", "side"];

#[derive(Clone, Debug)]
struct MergePlace {
    graph: Graph,
    /// The branch of each changeset, by number.
    branches: Vec<usize>,
    /// Which changesets close their branch.
    closing: Vec<bool>,
    bookmarks: BTreeMap<String, usize>,
    working: usize,
}

fn places() -> impl Strategy<Value = MergePlace> {
    let kinds = proptest::collection::vec((prop::sample::select(vec![0_usize, 0, 1]), 0..6_u8), 14);
    let name = prop::sample::select(vec!["x", "x@1", "x@2", "y"]);
    let bookmarks =
        proptest::collection::btree_map(name.prop_map(str::to_owned), 0..14_usize, 0..4);
    (graphs(), kinds, bookmarks, 0..14_usize).prop_map(|(graph, kinds, bookmarks, working)| {
        let len = graph.len();
        MergePlace {
            branches: kinds.iter().take(len).map(|kind| kind.0).collect(),
            closing: kinds.iter().take(len).map(|kind| kind.1 == 0).collect(),
            bookmarks: bookmarks
                .into_iter()
                .map(|(name, rev)| (name, rev % len))
                .collect(),
            working: working % len,
            graph,
        }
    })
}

struct Made {
    repository: Repository,
    view: Arc<RepoView>,
    dirstate: Dirstate,
}

impl MergePlace {
    /// The repository, with the working copy at its place and on the branch of that.
    fn made(&self) -> Made {
        let mut history = History::new();
        for (rev, parents) in self.graph.iter().enumerate() {
            history.commit_with(parents, |new| {
                new.branch = BRANCHES[self.branches[rev]].as_bytes();
                new.extras = if self.closing[rev] {
                    &[(b"close", b"1")]
                } else {
                    &[]
                };
            });
        }
        let (repository, nodes) = history.into_repository();
        for (name, rev) in &self.bookmarks {
            let lock = repository.try_lock(LockKind::Store).unwrap();
            repository
                .set_bookmark(lock, name.as_bytes(), nodes[*rev])
                .unwrap();
        }
        set_branch(
            &repository,
            BRANCHES[self.branches[self.working]].as_bytes(),
        )
        .unwrap();
        let mut dirstate = Dirstate::read(&repository).unwrap();
        dirstate.set_parents([nodes[self.working], Node::NULL]);
        let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
        Made {
            repository,
            view,
            dirstate,
        }
    }

    /// Changesets of a branch from which no other one of it descends, but those that close it.
    fn open_heads(&self, branch: usize) -> Vec<usize> {
        let is_on = |rev: &usize| self.branches[*rev] == branch;
        let is_head = |rev: &usize| {
            let mut below = descendants(&self.graph, &[*rev]).into_iter().filter(is_on);
            below.all(|other| other == *rev)
        };
        (0..self.graph.len())
            .filter(is_on)
            .filter(is_head)
            .filter(|rev| !self.closing[*rev])
            .collect()
    }

    /// The other head, if the working copy were at `from`.
    fn expected(&self, branch: usize, from: &[usize]) -> MergeDestination {
        let name = BRANCHES[branch].as_bytes().to_vec();
        let below = descendants(&self.graph, from);
        let others: Vec<usize> = self
            .open_heads(branch)
            .into_iter()
            .filter(|rev| !below.contains(rev))
            .collect();
        let anonymous: Vec<usize> = others
            .iter()
            .copied()
            .filter(|rev| !self.bookmarks.values().any(|at| at == rev))
            .collect();
        let has_child = |rev: usize| self.graph.iter().any(|parents| parents.contains(&rev));
        let heads = (0..self.graph.len()).filter(|rev| !has_child(*rev)).count();
        match anonymous[..] {
            [only] => MergeDestination::Found(Rev(only as u32)),
            [] if !others.is_empty() => MergeDestination::AllBookmarked,
            [] if heads > 1 => MergeDestination::OneHead { branch: name },
            [] => MergeDestination::Nothing,
            _ => MergeDestination::SeveralHeads {
                branch: name,
                heads: others.len() + 1,
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_merge_takes_the_only_other_head_of_the_branch(place in places()) {
        let made = place.made();
        let found = merge_destination(&made.repository, &made.view, &made.dirstate, None).unwrap();
        let branch = place.branches[place.working];
        let heads = place.open_heads(branch);
        let expected = match heads.contains(&place.working) {
            true => place.expected(branch, &[place.working]),
            false if heads.len() > 1 => MergeDestination::NotAtHead,
            false => MergeDestination::OnlyUpdate,
        };
        prop_assert_eq!(found, expected);
    }

    /// Bookmarks that begin as the active one, up to an `@`, have diverged from it.
    #[test]
    fn an_active_bookmark_is_merged_with_the_one_it_diverged_from(place in places(), name in "x|x@2|y|none") {
        let made = place.made();
        set_active_bookmark(&made.repository, Some(name.as_bytes())).unwrap();
        let found = merge_destination(&made.repository, &made.view, &made.dirstate, None).unwrap();
        if !place.bookmarks.contains_key(&name) {
            // As if none were active.
            set_active_bookmark(&made.repository, None).unwrap();
            prop_assert_eq!(found, merge_destination(&made.repository, &made.view, &made.dirstate, None).unwrap());
            return Ok(());
        }
        let alike = place.bookmarks.iter().filter(|(other, _)| other[..1] == name[..1]);
        let places: BTreeSet<usize> = alike.map(|(_, rev)| *rev).collect();
        let mut others = places.iter().filter(|rev| **rev != place.working);
        let expected = match places.len() {
            0 | 1 => MergeDestination::NoBookmark,
            2 => MergeDestination::Found(Rev(*others.next().unwrap() as u32)),
            _ => MergeDestination::SeveralBookmarks,
        };
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(rebase_destination(&made.repository, &made.view, &made.dirstate, None).unwrap(), expected);
    }

    /// A rebase need not begin at a head, and goes by the branch of the oldest changeset that it moves.
    #[test]
    fn a_rebase_takes_the_head_that_follows_from_none_of_its_changesets(
        place in places(), moved in proptest::collection::btree_set(0..14_usize, 0..4), of_working: bool,
    ) {
        let made = place.made();
        let moved: Vec<usize> = match of_working {
            true => vec![place.working],
            false => moved.into_iter().filter(|rev| *rev < place.graph.len()).collect(),
        };
        let sources: Vec<Rev> = moved.iter().map(|rev| Rev(*rev as u32)).collect();
        let sources = (!of_working).then_some(&sources[..]);
        let found = rebase_destination(&made.repository, &made.view, &made.dirstate, sources).unwrap();
        // Nothing that moves has its parent among the others.
        let branch = moved.first().map_or(0, |root| place.branches[*root]);
        let expected = match moved.is_empty() {
            false => place.expected(branch, &moved),
            true => {
                let all: Vec<usize> = (0..place.graph.len()).collect();
                place.expected(branch, &all)
            }
        };
        let heads = place.open_heads(branch);
        let is_at_head = moved.iter().any(|rev| heads.contains(rev));
        match expected {
            MergeDestination::Nothing if !is_at_head => prop_assert_eq!(found, MergeDestination::OnlyUpdate),
            other => prop_assert_eq!(found, other),
        }
    }
}
