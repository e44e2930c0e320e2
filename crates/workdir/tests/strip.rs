//! Plans of strips over random histories, and the working copy after one.

use super::histories::{Graph, History, descendants, graphs};
use super::model::{Files, WorkingCopy, letters};
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_repo::{FileKind, LockKind, Node, RepoView, Rev};
use varve_workdir::{LocalChanges, MergeTool, StripPlan, WorkdirError, keep_working_files};

fn rev(number: usize) -> Rev {
    Rev(u32::try_from(number).unwrap())
}

fn numbers(revs: &[Rev]) -> Vec<usize> {
    revs.iter().map(|rev| rev.index()).collect()
}

fn plan(view: &RepoView, chosen: &[usize]) -> StripPlan {
    let chosen: Vec<Option<Rev>> = chosen.iter().map(|number| Some(rev(*number))).collect();
    StripPlan::new(view, &chosen)
}

/// A history with some of its changesets.
fn chosen() -> impl Strategy<Value = (Graph, Vec<usize>)> {
    graphs().prop_flat_map(|graph| {
        let chosen = proptest::collection::vec(0..graph.len(), 1..4);
        (Just(graph), chosen)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn all_that_follow_go_and_the_newer_others_are_renumbered((graph, chosen) in chosen()) {
        let (view, nodes) = History::of(&graph, &[]);
        let plan = plan(&view, &chosen);
        let removed = descendants(&graph, &chosen);
        prop_assert_eq!(numbers(plan.removed()), removed.clone());
        let stays = (removed[0]..graph.len()).filter(|number| !removed.contains(number));
        prop_assert_eq!(numbers(plan.renumbered()), stays.collect::<Vec<_>>());
        // A chosen changeset that follows from another chosen one is no root.
        let is_root = |number: &&usize| {
            !graph[**number].iter().any(|parent| removed.contains(parent))
        };
        let mut roots: Vec<Node> = chosen.iter().filter(is_root).map(|number| nodes[*number]).collect();
        roots.sort_unstable();
        roots.dedup();
        prop_assert_eq!(plan.nodes(&view), roots.clone());
        prop_assert_eq!(plan.backup_node(), *roots.last().unwrap());
        prop_assert!(!plan.removes_everything());
    }

    /// Replaced changesets go unless another descendant stays.
    #[test]
    fn ancestors_of_what_was_not_replaced_stay((graph, chosen) in chosen()) {
        let (view, _) = History::of(&graph, &[]);
        let replaced: Vec<Rev> = chosen.iter().map(|number| rev(*number)).collect();
        let (going, kept) = StripPlan::without_orphans(&view, &replaced);
        let is_chosen = |number: &usize| chosen.contains(number);
        let mut all: Vec<usize> = chosen.clone();
        all.sort_unstable();
        all.dedup();
        let (expected, others): (Vec<usize>, Vec<usize>) = all
            .into_iter()
            .partition(|number| descendants(&graph, &[*number]).iter().all(is_chosen));
        prop_assert_eq!((numbers(&going), numbers(&kept)), (expected, others));
    }

    /// A working copy stays if its parents do, and else goes to a changeset that stays.
    #[test]
    fn the_working_copy_never_ends_at_a_removed_changeset(
        (graph, chosen) in chosen(), at in any::<prop::sample::Index>(),
    ) {
        let (view, nodes) = History::of(&graph, &[]);
        let plan = plan(&view, &chosen);
        let at = at.index(graph.len());
        let target = plan.working_target(&view, [nodes[at], Node::NULL], b"default").unwrap();
        let removed = descendants(&graph, &chosen);
        match target {
            None => prop_assert!(!removed.contains(&at)),
            Some(target) => {
                prop_assert!(removed.contains(&at));
                prop_assert!(target.is_none_or(|target| !removed.contains(&target.index())));
            }
        }
    }
}

#[test]
fn everything_follows_from_the_null_revision() {
    let (view, nodes) = History::of(&vec![vec![], vec![0], vec![]], &[]);
    let plan = StripPlan::new(&view, &[Some(rev(1)), None]);
    assert!(plan.removes_everything());
    assert_eq!(numbers(plan.removed()), [0, 1, 2]);
    assert!(plan.renumbered().is_empty());
    assert_eq!(plan.nodes(&view), nodes);
    let target = plan.working_target(&view, [nodes[1], Node::NULL], b"default");
    assert_eq!(target.unwrap(), Some(None));
}

/// The newest changeset below the removed ones that is on the branch of the next commit.
#[test]
fn the_working_copy_keeps_its_branch() {
    let graph = vec![vec![], vec![0], vec![1], vec![2]];
    let (view, nodes) = History::of(&graph, &["default", "stable", "default", "default"]);
    let target = |chosen: &[usize], branch: &str| {
        plan(&view, chosen).working_target(&view, [nodes[3], Node::NULL], branch.as_bytes())
    };
    assert_eq!(target(&[2], "stable").unwrap(), Some(Some(rev(1))));
    // No changeset of the branch is below, so that the parent of the root is taken.
    assert_eq!(target(&[2], "default").unwrap(), Some(Some(rev(1))));
    assert_eq!(target(&[1], "default").unwrap(), Some(Some(rev(0))));
    assert_eq!(target(&[3], "default").unwrap(), Some(Some(rev(2))));
    let unknown = target(&[3], "elsewhere").unwrap_err();
    assert!(matches!(unknown, WorkdirError::UnknownBranch(name) if name == "elsewhere"));
}

/// Of a merge the parent on the branch of the next commit, the second one first.
#[test]
fn a_removed_merge_leaves_the_parent_on_the_branch() {
    let graph = vec![vec![], vec![0], vec![0], vec![1, 2]];
    let (view, nodes) = History::of(&graph, &["default", "stable", "default", "default"]);
    let target = |branch: &str| {
        let plan = plan(&view, &[3]);
        plan.working_target(&view, [nodes[3], Node::NULL], branch.as_bytes())
    };
    assert_eq!(target("default").unwrap(), Some(Some(rev(2))));
    assert_eq!(target("stable").unwrap(), Some(Some(rev(1))));
}

#[test]
fn files_stay_as_they_are_when_only_the_parent_moves() {
    let file = |content: &str| (content.as_bytes().to_vec(), FileKind::Plain);
    let files = |all: &[(&str, &str)]| -> Files {
        let all = all.iter();
        all.map(|(path, content)| ((*path).to_owned(), file(content)))
            .collect()
    };
    let copy = WorkingCopy::new();
    let old = files(&[("changed", "1"), ("removed", "1"), ("same", "1")]);
    let new = files(&[("added", "2"), ("changed", "2"), ("same", "1")]);
    let zero = copy.commit(Node::NULL, &Files::new(), &old);
    let one = copy.commit(zero, &old, &new);
    copy.update(one, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let _lock = copy.repository.try_lock(LockKind::WorkingCopy).unwrap();
    let view = copy.view();
    let mut dirstate = copy.dirstate();
    keep_working_files(&copy.repository, &view, &mut dirstate, Some(rev(0))).unwrap();
    assert_eq!(copy.on_disk(), new);
    assert_eq!(copy.dirstate().parents(), [zero, Node::NULL]);
    let expected = [
        ("added", '?'),
        ("changed", 'M'),
        ("removed", '!'),
        ("same", 'C'),
    ];
    let expected = expected.map(|(path, letter)| (path.to_owned(), letter));
    assert_eq!(letters(&copy.status()), BTreeMap::from(expected));
}
