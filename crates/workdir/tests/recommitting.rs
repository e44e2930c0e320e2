//! Changesets that are committed again: with another branch, or with other copies.

use super::model::{Files, WorkingCopy, begin, files, files_of, plain_files};
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_repo::{Node, RepoView, Rev};
use varve_workdir::{BranchChange, change_branch, change_copies, path_copies};

fn branch_of(view: &RepoView, node: &Node) -> Vec<u8> {
    let rev = view.changelog().rev(node).unwrap();
    view.with_changeset(rev, |changeset| changeset.branch().into_owned())
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changesets_move_with_their_files(states in prop::collection::vec(files(), 2..5), first in 0_usize..4) {
        let copy = WorkingCopy::new();
        let mut nodes = vec![copy.commit(Node::NULL, &Files::new(), &states[0])];
        for two in states.windows(2) {
            nodes.push(copy.commit(nodes[nodes.len() - 1], &two[0], &two[1]));
        }
        let first = first.min(nodes.len() - 1);
        let view = copy.view();
        let revs: Vec<Rev> = nodes[first..].iter().filter_map(|node| view.changelog().rev(node)).collect();
        let mut dirstate = copy.dirstate();
        dirstate.set_parents([nodes[nodes.len() - 1], Node::NULL]);
        let request = BranchChange { view: &view, revs: &revs, branch: b"other", stop: &Interrupt::default() };
        let mut batch = begin(&copy.repository);
        let made = change_branch(&copy.repository, &mut batch, &mut dirstate, &request).unwrap();
        batch.finish().unwrap();
        dirstate.write(&copy.repository).unwrap();

        let after = copy.view();
        prop_assert_eq!(made.len(), revs.len());
        let mut below = if first == 0 { Node::NULL } else { nodes[first - 1] };
        for (moved, (node, state)) in made.iter().zip(nodes[first..].iter().zip(&states[first..])) {
            prop_assert_eq!((moved.done.old, &moved.old_branch[..]), (*node, &b"default"[..]));
            prop_assert_eq!(branch_of(&after, &moved.done.node), b"other");
            prop_assert_eq!(&files_of(&after, &moved.done.node), state);
            let parent = after.changelog().parents(after.changelog().rev(&moved.done.node).unwrap())[0];
            prop_assert_eq!(after.changelog().node_or_null(parent), below);
            below = moved.done.node;
        }
        prop_assert_eq!(copy.dirstate().parents(), [below, Node::NULL]);
        prop_assert_eq!(varve_workdir::branch(&copy.repository).unwrap(), b"other");
        // All are there by now.
        let revs: Vec<Rev> = made.iter().filter_map(|moved| after.changelog().rev(&moved.done.node)).collect();
        let request = BranchChange { view: &after, revs: &revs, ..request };
        let mut batch = begin(&copy.repository);
        prop_assert!(change_branch(&copy.repository, &mut batch, &mut dirstate, &request).unwrap().is_empty());
    }
}

#[test]
fn copies_are_recorded_and_forgotten() {
    let copy = WorkingCopy::new();
    let before = plain_files(&[("a", "a"), ("b", "b")]);
    let with_copy = plain_files(&[("a", "a"), ("b", "b"), ("c", "a")]);
    let parent = copy.commit(Node::NULL, &Files::new(), &before);
    let mut node = copy.commit(parent, &before, &with_copy);
    for source in [Some(b"a".to_vec()), Some(b"b".to_vec()), None] {
        let view = copy.view();
        let mut dirstate = copy.dirstate();
        dirstate.set_parents([node, Node::NULL]);
        let sources = BTreeMap::from([(b"c".to_vec(), source.clone())]);
        let rev = view.changelog().rev(&node).unwrap();
        let mut batch = begin(&copy.repository);
        let place = (&*view, rev);
        let done =
            change_copies(&copy.repository, &mut batch, &mut dirstate, place, &sources).unwrap();
        batch.finish().unwrap();
        let after = copy.view();
        let rev = |node: &Node| after.changelog().rev(node);
        let copies = path_copies(&after, rev(&parent), rev(&done.node)).unwrap();
        assert_eq!(copies.get(&b"c"[..]).cloned(), source);
        assert_eq!(files_of(&after, &done.node), with_copy);
        assert_eq!((done.old, dirstate.parents()[0]), (node, done.node));
        assert_eq!(done.files, [b"c".to_vec()]);
        node = done.node;
    }
}
