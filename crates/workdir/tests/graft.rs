//! The changes of one changeset brought onto another, against merges whose result is known.

use super::model::{Files, Recording, WorkingCopy};
use varve_base::Interrupt;
use varve_repo::{FileKind, Node};
use varve_workdir::{
    Backups, GraftState, LocalChanges, MarkerStyle, MergeBase, MergeLabels, MergeOptions,
    MergeRequest, MergeTool, ToolSelection, UpdateStats, merge_changeset,
};

fn files(all: &[(&str, &str)]) -> Files {
    let file = |(path, content): &(&str, &str)| {
        let content = content.as_bytes().to_vec();
        ((*path).to_owned(), (content, FileKind::Plain))
    };
    all.iter().map(file).collect()
}

/// Brings what `other` has changed since `base` to the working copy.
fn bring(copy: &WorkingCopy, base: Node, other: Node) -> UpdateStats {
    let view = copy.view();
    let rev = |node: &Node| view.changelog().rev(node);
    let request = MergeRequest {
        repository: &copy.repository,
        view: &view,
        other: rev(&other).unwrap(),
        base: MergeBase::Chosen(rev(&base)),
        tool: &MergeOptions {
            markers: MarkerStyle::Basic,
            chosen: ToolSelection::Forced(MergeTool::Fail),
            backups: Backups::None,
        },
        labels: &MergeLabels::of_graft(),
        progress: &varve_base::Silent,
        stop: &Interrupt::default(),
    };
    merge_changeset(&request, &mut copy.dirstate(), &mut Recording::default()).unwrap()
}

#[test]
fn only_the_changes_since_the_base_are_brought() {
    let copy = WorkingCopy::new();
    let states = [
        files(&[("a", "1"), ("b", "1"), ("gone", "1")]),
        files(&[("a", "2"), ("b", "1"), ("gone", "1")]),
        files(&[("a", "2"), ("b", "3"), ("new", "3")]),
    ];
    let zero = copy.commit(Node::NULL, &Files::new(), &states[0]);
    let one = copy.commit(zero, &states[0], &states[1]);
    let two = copy.commit(one, &states[1], &states[2]);
    copy.update(zero, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let stats = bring(&copy, one, two);
    assert_eq!((stats.updated, stats.removed, stats.unresolved), (2, 1, 0));
    assert_eq!(copy.dirstate().parents(), [zero, Node::NULL]);
    let read = |name: &str| std::fs::read(copy.repository.root().join(name)).ok();
    assert_eq!(read("a").as_deref(), Some(&b"1"[..]));
    assert_eq!(read("b").as_deref(), Some(&b"3"[..]));
    assert_eq!(read("new").as_deref(), Some(&b"3"[..]));
    assert_eq!(read("gone"), None);
}

#[test]
fn the_state_is_saved_and_forgotten() {
    let copy = WorkingCopy::new();
    assert_eq!(GraftState::read(&copy.repository).unwrap(), None);
    let state = GraftState {
        nodes: vec![Node([1; Node::LEN])],
        base: Some(Node::NULL),
        ..GraftState::default()
    };
    state.write(&copy.repository).unwrap();
    assert_eq!(GraftState::read(&copy.repository).unwrap(), Some(state));
    GraftState::clear(&copy.repository).unwrap();
    assert!(!GraftState::is_there(&copy.repository).unwrap());
}
