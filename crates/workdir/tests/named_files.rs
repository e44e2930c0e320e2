//! Files that a commit names, and `--addremove`.

use super::model::{Files, WorkingCopy, file, letters};
use std::collections::BTreeMap;
use varve_repo::Node;
use varve_workdir::{
    LocalChanges, MergeTool, Status, UncommittableReason, WorkdirError, add_and_remove,
    check_named_files,
};

/// A clean working copy with the tracked files `a` and `d/b`.
fn clean() -> WorkingCopy {
    let copy = WorkingCopy::new();
    let files = ["a", "d/b"].map(|path| (path.to_owned(), file("1")));
    let node = copy.commit(Node::NULL, &Files::new(), &files.into_iter().collect());
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    copy
}

/// Checks one name against the present status.
fn check(copy: &WorkingCopy, name: &str) -> Result<(), WorkdirError> {
    let matcher = copy.named(&[name]);
    let dirstate = copy.dirstate();
    let status = copy.status_of(&dirstate).status;
    check_named_files(&copy.repository, &dirstate, &matcher, &status)
}

fn refusal(copy: &WorkingCopy, name: &str) -> UncommittableReason {
    match check(copy, name) {
        Err(WorkdirError::Uncommittable { path, reason }) => {
            assert_eq!(path, name.as_bytes());
            reason
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn tracked_and_removed_files_can_be_named() {
    let copy = clean();
    assert!(check(&copy, "a").is_ok());
    copy.remove("a");
    let mut dirstate = copy.dirstate();
    dirstate.remove(b"a");
    dirstate.write(&copy.repository).unwrap();
    assert!(check(&copy, "a").is_ok());
}

#[test]
fn a_directory_can_be_named_if_something_below_it_changed() {
    let copy = clean();
    let reason = refusal(&copy, "d");
    assert!(matches!(reason, UncommittableReason::NoChangesBelow));
    copy.write("d/b", &file("changed"));
    assert!(check(&copy, "d").is_ok());
}

#[test]
fn missing_unknown_and_absent_files_are_refused() {
    let copy = clean();
    copy.write("unknown", &file(""));
    let reason = refusal(&copy, "unknown");
    assert!(matches!(reason, UncommittableReason::NotTracked));
    copy.remove("a");
    let reason = refusal(&copy, "a");
    assert!(matches!(reason, UncommittableReason::NotFound));
    let UncommittableReason::Io(error) = refusal(&copy, "absent") else {
        panic!("an absent file was found");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn patterns_need_not_name_anything() {
    assert!(check(&clean(), "glob:nothing*").is_ok());
}

#[test]
fn new_files_are_tracked_and_missing_ones_are_not() {
    let copy = clean();
    let mut dirstate = copy.dirstate();
    copy.write("new", &file(""));
    copy.remove("a");
    let mut status = copy.status_of(&dirstate).status;
    add_and_remove(&mut dirstate, &mut status).unwrap();
    let expected = [("a", 'R'), ("d/b", 'C'), ("new", 'A')];
    let expected = expected.map(|(path, letter)| (path.to_owned(), letter));
    assert_eq!(letters(&status), BTreeMap::from(expected));
    let again: Status = copy.status_of(&dirstate).status;
    assert_eq!(letters(&again), letters(&status));
}
