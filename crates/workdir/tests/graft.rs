//! The changes of one changeset brought onto another, against merges whose result is known.

use super::model::{Files, WorkingCopy, plain_files};
use varve_repo::Node;
use varve_workdir::{LocalChanges, MergeTool};

#[test]
fn only_the_changes_since_the_base_are_brought() {
    let copy = WorkingCopy::new();
    let states = [
        plain_files(&[("a", "1"), ("b", "1"), ("gone", "1")]),
        plain_files(&[("a", "2"), ("b", "1"), ("gone", "1")]),
        plain_files(&[("a", "2"), ("b", "3"), ("new", "3")]),
    ];
    let zero = copy.commit(Node::NULL, &Files::new(), &states[0]);
    let one = copy.commit(zero, &states[0], &states[1]);
    let two = copy.commit(one, &states[1], &states[2]);
    copy.update(zero, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let stats = copy.bring(one, two, MergeTool::Fail);
    assert_eq!((stats.updated, stats.removed, stats.unresolved), (2, 1, 0));
    assert_eq!(copy.dirstate().parents(), [zero, Node::NULL]);
    let read = |name: &str| std::fs::read(copy.repository.root().join(name)).ok();
    assert_eq!(read("a").as_deref(), Some(&b"1"[..]));
    assert_eq!(read("b").as_deref(), Some(&b"3"[..]));
    assert_eq!(read("new").as_deref(), Some(&b"3"[..]));
    assert_eq!(read("gone"), None);
}
