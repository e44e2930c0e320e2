//! Amending: which changesets may be amended, which metadata the new one has, and when a branch is closed.

use super::model::{Files, WorkingCopy, file, plain_files};
use varve_base::Interrupt;
use varve_repo::{Evolution, LockKind, Node, Phase, RewriteRefusal, StorageSettings, ViewFilter};
use varve_workdir::{
    AMEND, AmendContext, AmendMarker, AmendRefusal, AmendRequest, ChangesetMetadata, CloseOptions,
    CloseRefusal, CommitBase, CommitContext, CommitMetadata, LocalChanges, MergeTool, Status,
    WorkdirError, amend, amended_status, commit, set_active_bookmark, set_branch,
};

const WITHOUT_MARKERS: Evolution = Evolution {
    markers: false,
    unstable: false,
    exchange: false,
    divergence: false,
};

fn base_of(copy: &WorkingCopy) -> Result<CommitBase, WorkdirError> {
    let view = copy.repository.view_for(ViewFilter::Visible).unwrap();
    CommitBase::read(&copy.repository, view, &copy.dirstate())
}

/// Commits the working copy without changes of files, on its branch.
fn commit_empty(copy: &WorkingCopy, closes: bool, phase: Phase) -> Node {
    let base = base_of(copy).unwrap();
    let metadata = CommitMetadata {
        user: b"Ada",
        date: (5, 0),
        branch: base.branch(),
        extras: if closes {
            &[CommitMetadata::CLOSING]
        } else {
            &[]
        },
        description: b"empty",
        phase,
    };
    let context = CommitContext {
        chosen: None,
        repository: &copy.repository,
        lock: copy.repository.try_lock(LockKind::Store).unwrap(),
        seen: &copy.view(),
        options: StorageSettings::default().write_options(copy.repository.requirements()),
        stop: &Interrupt::default(),
    };
    commit(context, &mut copy.dirstate(), &Status::default(), &metadata).unwrap()
}

fn go_to(copy: &WorkingCopy, node: Node) {
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
}

/// Amends the parent of the working copy with `metadata`, under a marker of a fixed date.
fn amend_with(copy: &WorkingCopy, status: &Status, metadata: &ChangesetMetadata) -> Node {
    let view = copy.view();
    let mut dirstate = copy.dirstate();
    let lock = copy.repository.try_lock(LockKind::Store).unwrap();
    let options = StorageSettings::default().write_options(copy.repository.requirements());
    let marker = AmendMarker {
        date: (6, 0),
        user: b"Ada",
        note: None,
    };
    let request = AmendRequest {
        view: &view,
        old: view.changelog().rev(&dirstate.parents()[0]).unwrap(),
        metadata,
        phase: Phase::Draft,
        marker: Some(&marker),
    };
    let context = AmendContext {
        chosen: None,
        repository: &copy.repository,
        batch: copy.repository.begin_named(lock, options, AMEND).unwrap(),
        stop: &Interrupt::default(),
    };
    let made = amend(context, &mut dirstate, status, &request).unwrap();
    made.node
}

fn metadata_of(copy: &WorkingCopy, node: Node) -> ChangesetMetadata {
    let view = copy.view();
    ChangesetMetadata::read(&view, view.changelog().rev(&node).unwrap()).unwrap()
}

/// The bits of the only marker, from its bytes.
fn effects_in_marker(copy: &WorkingCopy) -> u32 {
    let bytes = std::fs::read(copy.path(".hg/store/obsstore")).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (_, rest) = text.split_once("ef1").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

type Change = fn(&mut ChangesetMetadata);

#[test]
fn each_changed_field_has_its_bit() {
    let old = ChangesetMetadata {
        user: b"Ada".to_vec(),
        date: (1, 0),
        branch: b"default".to_vec(),
        extras: vec![(b"key".to_vec(), b"value".to_vec())],
        description: b"old".to_vec(),
    };
    let changes: [(Change, u32); 5] = [
        (|new| new.description = b"new".to_vec(), 1),
        (ChangesetMetadata::close_branch, 2),
        (|new| new.user = b"Bob".to_vec(), 16),
        (|new| new.date.1 = 60, 32),
        (|new| new.branch = b"side".to_vec(), 64),
    ];
    let mut all = old.clone();
    for (change, bit) in changes {
        let mut new = old.clone();
        change(&mut new);
        assert_eq!(new.effects(&old), bit);
        change(&mut all);
    }
    assert_eq!(all.effects(&old), 1 | 2 | 16 | 32 | 64);
    assert_eq!(old.effects(&old), 0);
}

#[test]
fn the_order_of_extras_and_the_amended_changeset_are_no_difference() {
    let extra = |key: &str| (key.as_bytes().to_vec(), b"1".to_vec());
    let with = |keys: &[&str]| ChangesetMetadata {
        user: Vec::new(),
        date: (0, 0),
        branch: Vec::new(),
        extras: keys.iter().map(|key| extra(key)).collect(),
        description: Vec::new(),
    };
    let old = with(&["a", "b"]);
    assert_eq!(with(&["b", "amend_source", "a"]).effects(&old), 0);
    assert_eq!(with(&["b"]).effects(&old), ChangesetMetadata::EXTRAS);
}

#[test]
fn the_new_changeset_names_the_amended_one_and_its_marker_the_differences() {
    let copy = WorkingCopy::new();
    let first = copy.commit(Node::NULL, &Files::new(), &plain_files(&[("a", "1")]));
    let old = copy.commit(
        first,
        &plain_files(&[("a", "1")]),
        &plain_files(&[("a", "2")]),
    );
    go_to(&copy, old);
    let mut new = metadata_of(&copy, old);
    new.description = b"better".to_vec();
    new.close_branch();
    let node = amend_with(&copy, &Status::default(), &new);
    let found = metadata_of(&copy, node);
    assert_eq!(found.description, b"better");
    let source = (b"amend_source".to_vec(), old.to_hex().to_vec());
    let mut extras = found.extras;
    extras.sort_unstable();
    assert_eq!(extras, [source, (b"close".to_vec(), b"1".to_vec())]);
    assert_eq!(effects_in_marker(&copy), 1 | 2);
}

#[test]
fn changed_files_are_an_effect_too() {
    let copy = WorkingCopy::new();
    let old = copy.commit(Node::NULL, &Files::new(), &plain_files(&[("a", "1")]));
    go_to(&copy, old);
    copy.write("a", &file("changed"));
    let status = copy.status();
    amend_with(&copy, &status, &metadata_of(&copy, old));
    assert_eq!(effects_in_marker(&copy), ChangesetMetadata::CONTENT);
}

#[test]
fn amending_twice_names_the_last_changeset_only() {
    let copy = WorkingCopy::new();
    let first = copy.commit(Node::NULL, &Files::new(), &plain_files(&[("a", "1")]));
    go_to(&copy, first);
    let mut node = first;
    for description in ["second", "third"] {
        let mut new = metadata_of(&copy, node);
        new.description = description.as_bytes().to_vec();
        let amended = node;
        node = amend_with(&copy, &Status::default(), &new);
        let extras = metadata_of(&copy, node).extras;
        assert_eq!(
            extras,
            [(b"amend_source".to_vec(), amended.to_hex().to_vec())]
        );
    }
}

#[test]
fn the_amended_status_joins_both_changes() {
    let copy = WorkingCopy::new();
    let before = plain_files(&[
        ("kept", "1"),
        ("changed", "1"),
        ("removed", "1"),
        ("back", "1"),
    ]);
    let first = copy.commit(Node::NULL, &Files::new(), &before);
    let after = plain_files(&[("kept", "1"), ("changed", "2"), ("new", "1"), ("gone", "1")]);
    let old = copy.commit(first, &before, &after);
    let view = copy.view();
    let old = view.changelog().rev(&old).unwrap();
    let list = |paths: &[&str]| -> Vec<Vec<u8>> {
        paths.iter().map(|path| path.as_bytes().to_vec()).collect()
    };
    let status = Status {
        modified: list(&["kept"]),
        added: list(&["back"]),
        removed: list(&["gone"]),
        ..Status::default()
    };
    let amended = amended_status(&view, old, &status).unwrap();
    assert_eq!(amended.modified, list(&["back", "changed", "kept"]));
    assert_eq!(amended.added, list(&["new"]));
    assert_eq!(amended.removed, list(&["removed"]));
}

#[test]
fn what_must_not_be_amended_is_refused() {
    let refusal = |copy: &WorkingCopy| match base_of(copy).unwrap().amendable(WITHOUT_MARKERS) {
        Err(WorkdirError::CannotAmend(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    let copy = WorkingCopy::new();
    assert_eq!(refusal(&copy), AmendRefusal::NullParent);
    let node = copy.commit(Node::NULL, &Files::new(), &plain_files(&[("a", "1")]));
    let child = copy.commit(
        node,
        &plain_files(&[("a", "1")]),
        &plain_files(&[("a", "2")]),
    );
    go_to(&copy, node);
    let reason = RewriteRefusal::Orphans { descendants: 1 };
    assert_eq!(refusal(&copy), AmendRefusal::Rewrite { node, reason });
    let mut dirstate = copy.dirstate();
    dirstate.set_parents([node, child]);
    dirstate.write(&copy.repository).unwrap();
    assert_eq!(refusal(&copy), AmendRefusal::Merge);
    go_to_anyway(&copy, child);
    let amendable = base_of(&copy).unwrap().amendable(WITHOUT_MARKERS).unwrap();
    assert_eq!(copy.view().changelog().node(amendable), child);
}

fn go_to_anyway(copy: &WorkingCopy, node: Node) {
    copy.update(node, LocalChanges::Discard, MergeTool::Fail)
        .unwrap();
}

#[test]
fn public_changesets_are_not_amended() {
    let copy = WorkingCopy::new();
    let node = commit_empty(&copy, false, Phase::Public);
    let reason = RewriteRefusal::Public;
    match base_of(&copy).unwrap().amendable(WITHOUT_MARKERS) {
        Err(WorkdirError::CannotAmend(refusal)) => {
            assert_eq!(refusal, AmendRefusal::Rewrite { node, reason });
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unknown_parent_is_an_error() {
    let copy = WorkingCopy::new();
    let mut dirstate = copy.dirstate();
    dirstate.set_parents([Node([7; 20]), Node::NULL]);
    dirstate.write(&copy.repository).unwrap();
    let error = base_of(&copy).unwrap_err();
    assert!(matches!(error, WorkdirError::UnknownParent(node) if node == Node([7; 20])));
    assert_eq!(error.to_string(), "unknown working parent 070707070707!");
}

#[test]
fn branch_and_bookmark_of_the_next_changeset_are_those_of_the_working_copy() {
    let copy = WorkingCopy::new();
    let node = commit_empty(&copy, false, Phase::Draft);
    let base = base_of(&copy).unwrap();
    assert_eq!((base.branch(), base.bookmark()), (&b"default"[..], None));
    assert!(!base.changes_branch() && !base.is_merge());
    set_branch(&copy.repository, b"side").unwrap();
    set_active_bookmark(&copy.repository, Some(b"book")).unwrap();
    let base = base_of(&copy).unwrap();
    assert!(base.changes_branch());
    assert_eq!((base.branch(), base.bookmark()), (&b"side"[..], None));
    let lock = copy.repository.try_lock(LockKind::Store).unwrap();
    copy.repository.set_bookmark(lock, b"book", node).unwrap();
    let base = base_of(&copy).unwrap();
    assert_eq!(base.bookmark(), Some(&b"book"[..]));
    assert_eq!(base.view().changelog().len(), 1);
}

fn close_refusal(copy: &WorkingCopy, options: CloseOptions) -> Option<CloseRefusal> {
    match base_of(copy).unwrap().check_close(options) {
        Ok(()) => None,
        Err(WorkdirError::CannotClose(refusal)) => Some(refusal),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn only_open_heads_are_closed() {
    let copy = WorkingCopy::new();
    let plain = CloseOptions::default();
    let forced = CloseOptions {
        forced: true,
        ..plain
    };
    assert_eq!(close_refusal(&copy, plain), Some(CloseRefusal::NoHeads));
    let first = commit_empty(&copy, false, Phase::Draft);
    assert_eq!(close_refusal(&copy, plain), None);
    commit_empty(&copy, false, Phase::Draft);
    go_to(&copy, first);
    assert_eq!(close_refusal(&copy, plain), Some(CloseRefusal::NotAHead));
    assert_eq!(close_refusal(&copy, forced), None);
    commit_empty(&copy, true, Phase::Draft);
    let unchanged = CloseOptions {
        nothing_changed: true,
        ..forced
    };
    assert_eq!(
        close_refusal(&copy, unchanged),
        Some(CloseRefusal::AlreadyClosed)
    );
    // With changes the closed head gets a child, which closes the branch again.
    assert_eq!(close_refusal(&copy, plain), None);
}

#[test]
fn an_amendment_closes_a_branch_wherever_it_began() {
    let copy = WorkingCopy::new();
    let amends = CloseOptions {
        amends: true,
        ..CloseOptions::default()
    };
    commit_empty(&copy, false, Phase::Draft);
    // Mercurial closes a branch by amending the first changeset of all, too.
    assert_eq!(close_refusal(&copy, amends), None);
    commit_empty(&copy, false, Phase::Draft);
    assert_eq!(close_refusal(&copy, amends), None);
}

#[test]
fn a_commit_adds_a_head_unless_it_follows_one() {
    let copy = WorkingCopy::new();
    let changes = |closes| base_of(&copy).unwrap().head_changes(closes).unwrap();
    let first = commit_empty(&copy, false, Phase::Draft);
    assert!(!changes(false).created);
    commit_empty(&copy, false, Phase::Draft);
    assert!(!changes(false).created);
    go_to(&copy, first);
    assert!(changes(false).created);
    let closed = commit_empty(&copy, true, Phase::Draft);
    let rev = copy.view().changelog().rev(&closed).unwrap();
    assert_eq!(changes(false).reopened, [rev]);
    assert!(changes(true).reopened.is_empty());
}
