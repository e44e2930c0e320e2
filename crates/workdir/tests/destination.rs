//! Updates that name no revision: their destination, bookmarks, and refusals before anything changes.

use super::model::{Files, WorkingCopy, file};
use varve_base::Interrupt;
use varve_repo::{FileChange, FileKind, LockKind, NewChangeset, Node, Phase, Rev, StorageSettings};
use varve_workdir::{
    BookmarkChange, Destination, DestinationBookmark, LocalChanges, MergeTool, WorkdirError,
    active_bookmark, bookmark_change, branch, check_update, clone_destination, default_destination,
    other_heads, set_active_bookmark, set_branch,
};

/// Commits one file with other content than any changeset before, without the working copy.
fn commit_on(copy: &WorkingCopy, parent: Node, branch: &str, closes: bool) -> Node {
    let content = copy.view().changelog().len().to_string();
    let changes = [FileChange::Write {
        path: b"a",
        content: content.as_bytes(),
        kind: FileKind::Plain,
        copied_from: None,
    }];
    let new = NewChangeset {
        parents: [parent, Node::NULL],
        user: b"Ada",
        date: (0, 0),
        branch: branch.as_bytes(),
        extras: if closes { &[(b"close", b"1")] } else { &[] },
        description: b"a changeset",
        phase: Phase::Draft,
        changes: &changes,
    };
    let options = StorageSettings::default().write_options(copy.repository.requirements());
    let mut batch = copy.repository.begin(options).unwrap();
    batch.commit(&new).unwrap();
    batch.finish().unwrap()
}

fn commit(copy: &WorkingCopy, parent: Node) -> Node {
    commit_on(copy, parent, "default", false)
}

fn go_to(copy: &WorkingCopy, node: Node) {
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
}

fn set_bookmark(copy: &WorkingCopy, name: &str, node: Node) {
    let lock = copy.repository.try_lock(LockKind::Store).unwrap();
    let set = copy.repository.set_bookmark(lock, name.as_bytes(), node);
    set.unwrap();
}

fn activate(copy: &WorkingCopy, name: &str) {
    set_active_bookmark(&copy.repository, Some(name.as_bytes())).unwrap();
}

fn rev(copy: &WorkingCopy, node: Node) -> Option<Rev> {
    copy.view().changelog().rev(&node)
}

fn default_of(copy: &WorkingCopy) -> Destination {
    default_destination(&copy.repository, &copy.view()).unwrap()
}

#[test]
fn the_newest_head_of_the_branch_is_the_destination() {
    let copy = WorkingCopy::new();
    let first = commit(&copy, Node::NULL);
    let second = commit(&copy, first);
    commit_on(&copy, second, "side", false);
    go_to(&copy, first);
    let expected = Destination {
        rev: rev(&copy, second),
        bookmark: None,
    };
    assert_eq!(default_of(&copy), expected);
}

#[test]
fn an_active_bookmark_elsewhere_is_the_destination() {
    let copy = WorkingCopy::new();
    let first = commit(&copy, Node::NULL);
    commit(&copy, first);
    set_bookmark(&copy, "book", first);
    activate(&copy, "book");
    let expected = Destination {
        rev: rev(&copy, first),
        bookmark: Some(DestinationBookmark::Follows(b"book".to_vec())),
    };
    assert_eq!(default_of(&copy), expected);
    assert_eq!(change_after(&copy, &expected, None), None);
}

#[test]
fn an_active_bookmark_at_the_parent_moves_along() {
    let copy = WorkingCopy::new();
    let first = commit(&copy, Node::NULL);
    let second = commit(&copy, first);
    set_bookmark(&copy, "book", first);
    go_to(&copy, first);
    activate(&copy, "book");
    let found = default_of(&copy);
    let moves = Some(DestinationBookmark::Moves(b"book".to_vec()));
    assert_eq!((found.rev, &found.bookmark), (rev(&copy, second), &moves));
    let expected = BookmarkChange::Move {
        name: b"book".to_vec(),
        to: second,
    };
    assert_eq!(change_after(&copy, &found, None), Some(expected));
    set_bookmark(&copy, "book", second);
    assert_eq!(change_after(&copy, &found, None), None);
}

#[test]
fn an_active_bookmark_that_is_gone_does_not_count() {
    let copy = WorkingCopy::new();
    let first = commit(&copy, Node::NULL);
    go_to(&copy, first);
    activate(&copy, "gone");
    assert_eq!(default_of(&copy).bookmark, None);
}

fn change_after(
    copy: &WorkingCopy,
    destination: &Destination,
    typed: Option<&str>,
) -> Option<BookmarkChange> {
    let typed = typed.map(str::as_bytes);
    bookmark_change(&copy.repository, &copy.view(), destination, typed).unwrap()
}

#[test]
fn a_typed_bookmark_becomes_active_and_other_names_leave_it() {
    let copy = WorkingCopy::new();
    let first = commit(&copy, Node::NULL);
    set_bookmark(&copy, "one", first);
    set_bookmark(&copy, "two", first);
    let to = Destination {
        rev: rev(&copy, first),
        bookmark: None,
    };
    let activates = |name: &str| Some(BookmarkChange::Activate(name.as_bytes().to_vec()));
    assert_eq!(change_after(&copy, &to, Some("tip")), None);
    assert_eq!(change_after(&copy, &to, Some("one")), activates("one"));
    activate(&copy, "one");
    assert_eq!(change_after(&copy, &to, Some("one")), None);
    assert_eq!(change_after(&copy, &to, Some("two")), activates("two"));
    let leaves = Some(BookmarkChange::Deactivate(b"one".to_vec()));
    assert_eq!(change_after(&copy, &to, Some("tip")), leaves);
    assert_eq!(change_after(&copy, &to, None), None);
    assert_eq!(active_bookmark(&copy.repository).unwrap().unwrap(), b"one");
}

#[test]
fn a_clone_goes_to_its_bookmark_its_default_branch_or_its_tip() {
    let copy = WorkingCopy::new();
    let found = || clone_destination(&copy.view()).unwrap();
    assert_eq!(found(), Destination::default());
    let side = commit_on(&copy, Node::NULL, "side", false);
    assert_eq!((found().rev, found().bookmark), (rev(&copy, side), None));
    let default = commit(&copy, Node::NULL);
    commit_on(&copy, side, "side", false);
    assert_eq!((found().rev, found().bookmark), (rev(&copy, default), None));
    set_bookmark(&copy, "@", side);
    let follows = Some(DestinationBookmark::Follows(b"@".to_vec()));
    assert_eq!((found().rev, found().bookmark), (rev(&copy, side), follows));
}

#[test]
fn other_open_heads_of_the_branch_are_counted() {
    let copy = WorkingCopy::new();
    let heads = || other_heads(&copy.repository, &copy.view()).unwrap();
    assert_eq!(heads(), None);
    let root = commit(&copy, Node::NULL);
    let first = commit(&copy, root);
    commit(&copy, root);
    let closed = commit_on(&copy, root, "default", true);
    commit_on(&copy, root, "side", false);
    go_to(&copy, first);
    let found = heads().unwrap();
    assert_eq!((found.others, found.at_is_closed), (1, false));
    assert_eq!(
        (found.branch, Some(found.at)),
        (b"default".to_vec(), rev(&copy, first))
    );
    go_to(&copy, closed);
    let found = heads().unwrap();
    assert_eq!((found.others, found.at_is_closed), (2, true));
    set_bookmark(&copy, "book", closed);
    activate(&copy, "book");
    assert_eq!(heads(), None);
}

#[test]
fn an_update_sets_the_branch_of_the_next_commit() {
    let copy = WorkingCopy::new();
    let side = commit_on(&copy, Node::NULL, "side", false);
    for (target, expected) in [(side, "side"), (Node::NULL, "default"), (side, "side")] {
        go_to(&copy, target);
        assert_eq!(branch(&copy.repository).unwrap(), expected.as_bytes());
    }
    set_branch(&copy.repository, b"another").unwrap();
    go_to(&copy, side);
    assert_eq!(branch(&copy.repository).unwrap(), b"side");
}

#[test]
fn settings_name_the_treatment_of_local_changes() {
    for (setting, expected) in [
        (Some("abort"), LocalChanges::Refuse),
        (Some("none"), LocalChanges::Merge),
        (Some("noconflict"), LocalChanges::KeepApart),
        (Some("linear"), LocalChanges::Keep),
        (Some("unknown"), LocalChanges::Keep),
        (None, LocalChanges::Keep),
    ] {
        let found = LocalChanges::of_setting(setting.map(str::as_bytes));
        assert_eq!(found, expected, "{setting:?}");
    }
}

fn check(copy: &WorkingCopy, local: LocalChanges, looks: bool) -> Result<(), WorkdirError> {
    check_update(&copy.repository, local, looks, &Interrupt::default())
}

#[test]
fn local_changes_are_looked_for_only_where_they_refuse() {
    let copy = WorkingCopy::new();
    let node = commit(&copy, Node::NULL);
    go_to(&copy, node);
    assert!(check(&copy, LocalChanges::Refuse, true).is_ok());
    copy.write("a", &file("changed"));
    let refused = check(&copy, LocalChanges::Refuse, true);
    assert!(matches!(refused, Err(WorkdirError::UncommittedChanges)));
    assert!(check(&copy, LocalChanges::Refuse, false).is_ok());
    for local in [
        LocalChanges::Keep,
        LocalChanges::Merge,
        LocalChanges::Discard,
    ] {
        assert!(check(&copy, local, true).is_ok(), "{local:?}");
    }
}

#[test]
fn unresolved_files_refuse_every_update_but_one_that_discards() {
    let copy = WorkingCopy::new();
    let first = commit(&copy, Node::NULL);
    let second = commit(&copy, first);
    go_to(&copy, first);
    copy.write("a", &file("changed"));
    let (stats, _) = copy
        .update(second, LocalChanges::Merge, MergeTool::Fail)
        .unwrap();
    assert_eq!(stats.unresolved, 1);
    for local in [
        LocalChanges::Keep,
        LocalChanges::Merge,
        LocalChanges::KeepApart,
    ] {
        let refused = check(&copy, local, false);
        assert!(
            matches!(refused, Err(WorkdirError::UnresolvedFiles)),
            "{local:?}"
        );
    }
    let refused = check(&copy, LocalChanges::Refuse, false);
    assert!(matches!(refused, Err(WorkdirError::UncommittedChanges)));
    assert!(check(&copy, LocalChanges::Discard, false).is_ok());
    // Without a difference left, the conflict alone refuses.
    copy.write("a", &(b"1".to_vec(), FileKind::Plain));
    let refused = check(&copy, LocalChanges::Refuse, false);
    assert!(matches!(refused, Err(WorkdirError::UnresolvedFiles)));
    assert_eq!(copy.on_disk(), Files::from([("a".to_owned(), file("1"))]));
}
