//! Bookmarks that are set, renamed and removed beside a working copy.

use super::model::{Files, WorkingCopy};
use std::collections::BTreeMap;
use varve_repo::{FileKind, LockKind, Node, Rev};
use varve_workdir::{
    BookmarkEdit, BookmarkRefusal, LocalChanges, MergeTool, WorkdirError, active_bookmark,
    set_active_bookmark, set_branch,
};

/// Two lines from one root: 0 - 1 - 2 and 0 - 3.
fn forked() -> (WorkingCopy, Vec<Node>) {
    let copy = WorkingCopy::new();
    let files = |content: &str| Files::from([("a".to_owned(), (content.into(), FileKind::Plain))]);
    let versions = ["0", "1", "2", "3"].map(files);
    let mut nodes = vec![copy.commit(Node::NULL, &Files::new(), &versions[0])];
    for (parent, number) in [(0, 1), (1, 2), (0, 3)] {
        let made = copy.commit(nodes[parent], &versions[parent], &versions[number]);
        nodes.push(made);
    }
    (copy, nodes)
}

fn set_all(copy: &WorkingCopy, bookmarks: &[(&str, Node)]) {
    for (name, node) in bookmarks {
        let lock = copy.repository.try_lock(LockKind::Store).unwrap();
        let set = copy.repository.set_bookmark(lock, name.as_bytes(), *node);
        set.unwrap();
    }
}

fn edit(copy: &WorkingCopy, force: bool) -> BookmarkEdit {
    BookmarkEdit::new(&copy.repository, copy.view(), force).unwrap()
}

/// Stores an edit as commands do. Returns all bookmarks, and the active one.
fn store(copy: &WorkingCopy, edit: &BookmarkEdit) -> (BTreeMap<Vec<u8>, Node>, Option<Vec<u8>>) {
    edit.store_active(&copy.repository).unwrap();
    if edit.changes_bookmarks() {
        let lock = copy.repository.try_lock(LockKind::Store).unwrap();
        edit.store(&copy.repository, lock).unwrap();
    }
    let active = active_bookmark(&copy.repository).unwrap();
    (copy.view().bookmarks().clone(), active)
}

fn refusal<T: std::fmt::Debug>(result: Result<T, WorkdirError>) -> BookmarkRefusal {
    match result.unwrap_err() {
        WorkdirError::Bookmark(refusal) => refusal,
        other => panic!("{other}"),
    }
}

fn exists(name: &str) -> BookmarkRefusal {
    BookmarkRefusal::Exists(name.to_owned())
}

#[test]
fn a_bookmark_moves_forward_and_nowhere_else() {
    let (copy, nodes) = forked();
    set_all(&copy, &[("book", nodes[1])]);
    for (target, expected) in [
        (Some(Rev(2)), Ok(Some(nodes[1]))),
        (Some(Rev(1)), Err(exists("book"))),
        (Some(Rev(0)), Err(exists("book"))),
        (Some(Rev(3)), Err(exists("book"))),
        (None, Err(exists("book"))),
    ] {
        let set = edit(&copy, false).set(b"book", target);
        match expected {
            Ok(moved) => assert_eq!(set.unwrap(), moved),
            Err(expected) => assert_eq!(refusal(set), expected, "{target:?}"),
        }
        let mut forced = edit(&copy, true);
        assert_eq!(forced.set(b"book", target).unwrap(), None);
        assert_eq!(forced.changes_bookmarks(), target != Some(Rev(1)));
    }
}

/// `hg bookmark NAME` at the bookmark's changeset only activates it.
#[test]
fn a_bookmark_at_the_working_parent_may_be_set_again() {
    let (copy, nodes) = forked();
    set_all(&copy, &[("book", nodes[1])]);
    copy.update(nodes[1], LocalChanges::Refuse, MergeTool::Local)
        .unwrap();
    let mut edit = edit(&copy, false);
    assert_eq!(edit.working_parent(), Some(Rev(1)));
    assert_eq!(edit.set(b"book", Some(Rev(1))).unwrap(), None);
    edit.activate(Some(b"book".to_vec()), Some(Rev(1)), true);
    assert!(!edit.changes_bookmarks());
    let (_, active) = store(&copy, &edit);
    assert_eq!(active.as_deref(), Some(&b"book"[..]));
}

#[test]
fn names_of_branches_are_refused_for_new_bookmarks() {
    let (copy, nodes) = forked();
    set_branch(&copy.repository, b"next").unwrap();
    set_all(&copy, &[("book", nodes[1])]);
    for name in [&b"default"[..], b"next"] {
        let set = edit(&copy, false).set(name, Some(Rev(1)));
        assert_eq!(refusal(set), BookmarkRefusal::BranchName);
        let renamed = edit(&copy, false).rename(b"book", name);
        assert_eq!(refusal(renamed), BookmarkRefusal::BranchName);
        edit(&copy, true).set(name, Some(Rev(1))).unwrap();
        edit(&copy, true).rename(b"book", name).unwrap();
    }
}

#[test]
fn the_active_bookmark_keeps_its_place_under_a_new_name() {
    let (copy, nodes) = forked();
    set_all(&copy, &[("old", nodes[1]), ("other", nodes[3])]);
    set_active_bookmark(&copy.repository, Some(b"old")).unwrap();
    let mut edit = edit(&copy, false);
    assert_eq!(refusal(edit.rename(b"old", b"other")), exists("other"));
    let unknown = BookmarkRefusal::Unknown("none".to_owned());
    assert_eq!(refusal(edit.rename(b"none", b"new")), unknown);
    edit.rename(b"old", b"new").unwrap();
    let (bookmarks, active) = store(&copy, &edit);
    assert_eq!(active.as_deref(), Some(&b"new"[..]));
    let expected = [(b"new".to_vec(), nodes[1]), (b"other".to_vec(), nodes[3])];
    assert_eq!(bookmarks, BTreeMap::from(expected));
}

#[test]
fn a_removed_bookmark_is_no_longer_active() {
    let (copy, nodes) = forked();
    set_all(&copy, &[("book", nodes[1]), ("other", nodes[1])]);
    set_active_bookmark(&copy.repository, Some(b"book")).unwrap();
    let mut edit = edit(&copy, false);
    edit.remove(b"other").unwrap();
    assert_eq!(edit.active(), Some(&b"book"[..]));
    edit.remove(b"book").unwrap();
    let unknown = BookmarkRefusal::Unknown("book".to_owned());
    assert_eq!(refusal(edit.remove(b"book")), unknown);
    assert_eq!(store(&copy, &edit), (BTreeMap::new(), None));
}

/// `.hg/bookmarks.current` may name a bookmark that another program has removed.
#[test]
fn an_active_bookmark_that_is_gone_does_not_count() {
    let (copy, _) = forked();
    set_active_bookmark(&copy.repository, Some(b"gone")).unwrap();
    let mut edit = edit(&copy, false);
    assert!(edit.was_empty());
    assert_eq!(edit.active(), None);
    assert!(!edit.deactivate());
}

#[test]
fn setting_the_active_bookmark_elsewhere_leaves_none_active() {
    let (copy, nodes) = forked();
    copy.update(nodes[1], LocalChanges::Refuse, MergeTool::Local)
        .unwrap();
    set_all(&copy, &[("book", nodes[1])]);
    set_active_bookmark(&copy.repository, Some(b"book")).unwrap();
    let activated = |first: Option<&[u8]>, target: Rev, follows: bool| {
        let mut edit = edit(&copy, false);
        edit.activate(first.map(<[u8]>::to_vec), Some(target), follows);
        edit.active().map(<[u8]>::to_vec)
    };
    let book = Some(b"book".to_vec());
    assert_eq!(activated(Some(b"book"), Rev(2), false), None);
    assert_eq!(activated(Some(b"book"), Rev(1), false), book);
    assert_eq!(activated(Some(b"other"), Rev(2), false), book);
    assert_eq!(
        activated(Some(b"other"), Rev(1), true),
        Some(b"other".to_vec())
    );
}
