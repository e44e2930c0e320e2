//! Commits and amendments of random changes.

use super::model::{Files, WorkingCopy, file, files, files_of, letters};
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, Node, Phase, RepoView, StorageSettings};
use varve_workdir::{
    AMEND, AmendContext, AmendMarker, AmendRequest, ChangesetMetadata, CommitContext,
    CommitMetadata, LocalChanges, MergeTool, Status, amend, commit, copies_against, copies_between,
    message, set_active_bookmark, status_between,
};

fn metadata(description: &str) -> CommitMetadata<'_> {
    CommitMetadata {
        user: b"Ada",
        date: (5, 0),
        branch: b"default",
        extras: &[],
        description: description.as_bytes(),
        phase: Phase::Draft,
    }
}

/// Commits the working copy as it is tracked.
pub fn commit_all(copy: &WorkingCopy, description: &str) -> Node {
    let mut dirstate = copy.dirstate();
    let status = copy.status_of(&dirstate).status;
    let context = CommitContext {
        chosen: None,
        repository: &copy.repository,
        lock: copy.repository.try_lock(LockKind::Store).unwrap(),
        seen: &copy.view(),
        options: StorageSettings::default().write_options(copy.repository.requirements()),
        stop: &Interrupt::default(),
    };
    commit(context, &mut dirstate, &status, &metadata(description)).unwrap()
}

/// Makes the working copy hold and track exactly these files.
pub fn bring_about(copy: &WorkingCopy, before: &Files, files: &Files) {
    let mut dirstate = copy.dirstate();
    for path in before.keys().filter(|path| !files.contains_key(*path)) {
        copy.remove(path);
        dirstate.remove(path.as_bytes());
    }
    for (path, file) in files {
        copy.write(path, file);
        dirstate.add(path.as_bytes());
    }
    dirstate.write(&copy.repository).unwrap();
}

fn parents_of(view: &RepoView, node: Node) -> [Option<Node>; 2] {
    let rev = view.changelog().rev(&node).unwrap();
    let parents = view.changelog().parents(rev);
    parents.map(|parent| parent.map(|rev| view.changelog().node(rev)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_commit_has_the_files_of_the_working_copy(
        states in proptest::collection::vec(files(), 1..4),
    ) {
        let copy = WorkingCopy::new();
        let (mut before, mut parent) = (Files::new(), None);
        for state in states {
            bring_about(&copy, &before, &state);
            let node = commit_all(&copy, "a state");
            let view = copy.view();
            prop_assert_eq!(&files_of(&view, &node), &state);
            prop_assert_eq!(parents_of(&view, node), [parent, None]);
            prop_assert_eq!(copy.dirstate().parents(), [node, Node::NULL]);
            let status = copy.status();
            prop_assert!(status.is_unchanged());
            prop_assert_eq!(status.clean.len(), state.len());
            (before, parent) = (state, Some(node));
        }
    }

    #[test]
    fn an_amendment_has_the_files_of_the_working_copy_and_the_old_parent(
        base in files(), old in files(), new in files(),
    ) {
        let copy = WorkingCopy::new();
        bring_about(&copy, &Files::new(), &base);
        let first = commit_all(&copy, "base");
        bring_about(&copy, &base, &old);
        let amended = commit_all(&copy, "old");
        bring_about(&copy, &old, &new);
        let view = copy.view();
        let mut dirstate = copy.dirstate();
        let status = copy.status_of(&dirstate).status;
        let lock = copy.repository.try_lock(LockKind::Store).unwrap();
        let options = StorageSettings::default().write_options(copy.repository.requirements());
        let marker = AmendMarker { date: (6, 0), user: b"Ada", note: None };
        let old_rev = view.changelog().rev(&amended).unwrap();
        let mut new_metadata = ChangesetMetadata::read(&view, old_rev).unwrap();
        new_metadata.description = b"new".to_vec();
        let request = AmendRequest {
            view: &view,
            old: old_rev,
            metadata: &new_metadata,
            phase: Phase::Draft,
            marker: Some(&marker),
        };
        let context = AmendContext {
            chosen: None,
            repository: &copy.repository,
            batch: copy.repository.begin_named(lock, options, AMEND).unwrap(),
            stop: &Interrupt::default(),
        };
        let result = amend(context, &mut dirstate, &status, &request).unwrap();
        let node = result.node;
        drop(result);
        let view = copy.view();
        prop_assert_eq!(&files_of(&view, &node), &new);
        prop_assert_eq!(parents_of(&view, node), [Some(first), None]);
        prop_assert!(copy.status().is_unchanged());
        let everything = Matcher::everything();
        let rev = view.changelog().rev(&node);
        let status = status_between(&view, view.changelog().rev(&first), rev, &everything, false);
        let named = view.with_changeset(rev.unwrap(), |changeset| changeset.files().count());
        // A changeset names the files that it changed and no other.
        prop_assert_eq!(named.unwrap(), letters(&status.unwrap()).len());
    }
}

#[test]
fn copies_are_recorded_and_followed_in_both_directions() {
    let copy = WorkingCopy::new();
    let one = Files::from([("a".to_owned(), file("1\n"))]);
    bring_about(&copy, &Files::new(), &one);
    let first = commit_all(&copy, "add");
    let two = Files::from([("b".to_owned(), file("1\n"))]);
    bring_about(&copy, &one, &two);
    let mut dirstate = copy.dirstate();
    dirstate.copy(b"b", Some(b"a"));
    dirstate.write(&copy.repository).unwrap();
    let pair = |to: &str, from: &str| BTreeMap::from([(to.into(), from.as_bytes().to_vec())]);
    let view = copy.view();
    let old = view.changelog().rev(&first);
    let files = [b"b".to_vec()];
    assert_eq!(
        copies_against(&dirstate, &view, old, &files).unwrap(),
        pair("b", "a")
    );
    let second = commit_all(&copy, "rename");
    assert_eq!(copy.dirstate().copies().count(), 0);
    let view = copy.view();
    let (old, new) = (view.changelog().rev(&first), view.changelog().rev(&second));
    let everything = Matcher::everything();
    for (from, to, expected) in [(old, new, pair("b", "a")), (new, old, pair("a", "b"))] {
        let status = status_between(&view, from, to, &everything, false).unwrap();
        assert_eq!(copies_between(&view, from, to, &status).unwrap(), expected);
    }
}

#[test]
fn the_active_bookmark_moves_with_the_commit() {
    let copy = WorkingCopy::new();
    let one = Files::from([("a".to_owned(), file("1\n"))]);
    bring_about(&copy, &Files::new(), &one);
    let first = commit_all(&copy, "add");
    let bookmarks = format!("{first} book\n{first} other\n");
    std::fs::write(copy.path(".hg/bookmarks"), &bookmarks).unwrap();
    set_active_bookmark(&copy.repository, Some(b"book")).unwrap();
    copy.write("a", &file("2\n"));
    let mut dirstate = copy.dirstate();
    dirstate.set_possibly_dirty(b"a");
    dirstate.write(&copy.repository).unwrap();
    let second = commit_all(&copy, "change");
    let view = copy.view();
    assert_eq!(view.bookmarks().get(&b"book"[..]), Some(&second));
    assert_eq!(view.bookmarks().get(&b"other"[..]), Some(&first));
}

#[test]
fn a_file_that_vanishes_leaves_everything_as_before() {
    let copy = WorkingCopy::new();
    let one = Files::from([("a".to_owned(), file("1\n"))]);
    let node = copy.commit(Node::NULL, &Files::new(), &one);
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let mut dirstate = copy.dirstate();
    dirstate.add(b"new");
    copy.write("new", &file("new"));
    let status = copy.status_of(&dirstate).status;
    copy.remove("new");
    let context = CommitContext {
        chosen: None,
        repository: &copy.repository,
        lock: copy.repository.try_lock(LockKind::Store).unwrap(),
        seen: &copy.view(),
        options: StorageSettings::default().write_options(copy.repository.requirements()),
        stop: &Interrupt::default(),
    };
    assert!(commit(context, &mut dirstate, &status, &metadata("fails")).is_err());
    assert_eq!(copy.view().changelog().len(), 1);
    assert_eq!(copy.dirstate().parents(), [node, Node::NULL]);
}

#[test]
fn descriptions_lose_their_notes_and_trailing_space() {
    let status = Status {
        added: vec![b"new".to_vec()],
        ..Status::default()
    };
    let notes = message::EditorNotes {
        user: b"Ada",
        branch: b"side",
        bookmark: None,
        is_merge: false,
        status: &status,
    };
    let text = message::with_notes(b"First line  \n\nbody\n\n", &notes);
    let shown = String::from_utf8(text.clone()).unwrap();
    assert!(
        shown.contains("HG: user: Ada") && shown.contains("HG: added new"),
        "{shown}"
    );
    let kept = message::tidy(&message::without_notes(&text));
    assert_eq!(kept, b"First line\n\nbody");
}
