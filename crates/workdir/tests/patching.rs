//! Patches between random files: applied to the working copy, and to the files of a changeset alone.

use super::model::{Content, Files, WorkingCopy, begin, file, files, files_of, letters};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_base::Interrupt;
use varve_patch::{ApplyOptions, PatchError};
use varve_repo::{FileKind, Node, Phase, RepoView};
use varve_workdir::{
    CommitMetadata, LocalChanges, MergeTool, PatchSession, SessionStart, WorkdirError,
};

/// Renames are not looked for.
const NO_RENAMES: f64 = 0.0;

const METADATA: CommitMetadata<'_> = CommitMetadata {
    user: b"Ada",
    date: (4, 0),
    branch: b"default",
    extras: &[],
    description: b"imported",
    phase: Phase::Draft,
};

fn mode(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Executable => "100755",
        _ => "100644",
    }
}

/// All old lines go, and all new ones come.
fn hunk(old: &[u8], new: &[u8]) -> String {
    let lines = |sign: char, text: &[u8]| -> (usize, String) {
        let text = str::from_utf8(text).unwrap();
        let lines = text.lines().map(|line| format!("{sign}{line}\n"));
        (text.lines().count(), lines.collect())
    };
    let ((gone, old), (come, new)) = (lines('-', old), lines('+', new));
    let range = |len: usize| format!("{},{len}", usize::from(len > 0));
    format!("@@ -{} +{} @@\n{old}{new}", range(gone), range(come))
}

/// The patch of one file in git's form.
fn file_patch(path: &str, old: Option<&Content>, new: Option<&Content>) -> String {
    let heading = format!("diff --git a/{path} b/{path}\n");
    let both = |old: &str, new: &str| format!("--- {old}\n+++ {new}\n");
    let (from, to) = (format!("a/{path}"), format!("b/{path}"));
    let (metadata, names) = match (old, new) {
        (None, Some((_, kind))) => (
            format!("new file mode {}\n", mode(*kind)),
            both("/dev/null", &to),
        ),
        (Some((_, kind)), None) => (
            format!("deleted file mode {}\n", mode(*kind)),
            both(&from, "/dev/null"),
        ),
        (Some((_, before)), Some((_, after))) if before != after => (
            format!("old mode {}\nnew mode {}\n", mode(*before), mode(*after)),
            both(&from, &to),
        ),
        _ => (String::new(), both(&from, &to)),
    };
    let content = |file: Option<&Content>| file.map(|file| file.0.clone()).unwrap_or_default();
    let (old, new) = (content(old), content(new));
    match old == new {
        true => heading + &metadata,
        false => heading + &metadata + &names + &hunk(&old, &new),
    }
}

fn patch(old: &Files, new: &Files) -> String {
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = paths
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path));
    changed
        .map(|path| file_patch(path, old.get(path), new.get(path)))
        .collect()
}

fn options() -> ApplyOptions {
    ApplyOptions {
        strip: 1,
        ..ApplyOptions::default()
    }
}

fn session<'a>(copy: &'a WorkingCopy, view: &'a RepoView, stop: &'a Interrupt) -> PatchSession<'a> {
    let start = SessionStart {
        repository: &copy.repository,
        view,
        dirstate: copy.dirstate(),
        batch: Some(begin(&copy.repository)),
        stop,
    };
    PatchSession::begin(start).unwrap()
}

/// Applies a patch to the working copy and commits it.
fn import(session: &mut PatchSession<'_>, text: &str) -> Node {
    let mut notices = Vec::new();
    let observer = &mut |notice: &varve_patch::PatchNotice<'_>| notices.push(format!("{notice:?}"));
    let patched = session
        .apply(text.as_bytes(), &options(), NO_RENAMES, observer)
        .unwrap();
    assert_eq!(patched.fault, None);
    assert!(patched.missing.is_empty() && patched.untracked.is_empty());
    assert!(
        notices.iter().all(|notice| notice.starts_with("File")),
        "{notices:?}"
    );
    let status = session.status(&patched.files).unwrap();
    session.commit(&status, &METADATA).unwrap().unwrap()
}

fn checked_out(files: &Files) -> (WorkingCopy, Node) {
    let copy = WorkingCopy::new();
    let node = copy.commit(Node::NULL, &Files::new(), files);
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    (copy, node)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A series of patches leads through all states, in the working copy and without it to the same changesets.
    #[test]
    fn patches_lead_from_state_to_state(base in files(), states in proptest::collection::vec(files(), 1..4)) {
        let (copy, root) = checked_out(&base);
        let (view, stop) = (copy.view(), Interrupt::default());
        let mut patches = Vec::new();
        let mut before = &base;
        for state in &states {
            patches.push(patch(before, state));
            before = state;
        }
        // Without the working copy first; this transaction is given up.
        let mut in_memory = session(&copy, &view, &stop);
        let mut parent = root;
        let mut expected = Vec::new();
        for text in &patches {
            let changes = in_memory.apply_to(&parent, text.as_bytes(), &options(), &mut |_| {}).unwrap();
            parent = in_memory.commit_to([parent, Node::NULL], &changes, &METADATA).unwrap().unwrap();
            prop_assert!(in_memory.has(&parent));
            expected.push(parent);
        }
        drop(in_memory);
        prop_assert_eq!(copy.view().changelog().len(), 1);
        prop_assert_eq!(copy.on_disk(), base.clone());
        let mut working = session(&copy, &view, &stop);
        let found: Vec<Node> = patches.iter().map(|text| import(&mut working, text)).collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(copy.on_disk(), states[states.len() - 1].clone());
        working.finish().unwrap();
        let view = copy.view();
        for (node, state) in found.iter().zip(&states) {
            prop_assert_eq!(&files_of(&view, node), state);
        }
        prop_assert!(copy.status().is_unchanged());
        prop_assert_eq!(copy.dirstate().parents()[0], parent);
    }

    /// A patch and its reverse are no change.
    #[test]
    fn a_reversed_patch_takes_it_back(old in files(), new in files()) {
        let (copy, _) = checked_out(&old);
        let (view, stop) = (copy.view(), Interrupt::default());
        let mut session = session(&copy, &view, &stop);
        import(&mut session, &patch(&old, &new));
        prop_assert_eq!(copy.on_disk(), new.clone());
        import(&mut session, &patch(&new, &old));
        prop_assert_eq!(copy.on_disk(), old);
        session.finish().unwrap();
        prop_assert!(copy.status().is_unchanged());
    }

    /// New changesets can be checked out before they are stored.
    #[test]
    fn states_of_one_series_are_checked_out(old in files(), new in files()) {
        let (copy, root) = checked_out(&old);
        let (view, stop) = (copy.view(), Interrupt::default());
        let mut session = session(&copy, &view, &stop);
        let made = import(&mut session, &patch(&old, &new));
        let back = session.check_out(root).unwrap();
        prop_assert_eq!(copy.on_disk(), old.clone());
        let forth = session.check_out(made).unwrap();
        prop_assert_eq!(copy.on_disk(), new.clone());
        let touched = |checked: &varve_workdir::CheckedOut| -> BTreeSet<Vec<u8>> {
            checked.written.iter().chain(&checked.removed).cloned().collect()
        };
        prop_assert_eq!(touched(&back), touched(&forth));
        prop_assert_eq!(back.written.len() + back.removed.len(), touched(&back).len());
        session.finish().unwrap();
        prop_assert!(copy.status().is_unchanged());
    }

    /// A patch whose lines are not there: the rest of it is applied in the working copy, and nothing without it.
    #[test]
    fn a_patch_that_does_not_fit_is_a_fault(old in files(), new in files()) {
        let (mut old, mut new) = (old, new);
        old.insert("odd".to_owned(), file("odd\n"));
        new.insert("odd".to_owned(), file("other\n"));
        let (copy, root) = checked_out(&old);
        let (view, stop) = (copy.view(), Interrupt::default());
        let text = patch(&old, &new).replace("-odd\n", "-even\n");
        let mut session = session(&copy, &view, &stop);
        let refused = session.apply_to(&root, text.as_bytes(), &options(), &mut |_| {});
        prop_assert!(matches!(refused, Err(WorkdirError::Patch(PatchError::Rejected))));
        let patched = session.apply(text.as_bytes(), &options(), NO_RENAMES, &mut |_| {}).unwrap();
        prop_assert_eq!(patched.fault, Some(PatchError::Rejected));
        let mut on_disk = copy.on_disk();
        let (rejects, _) = on_disk.remove("odd.rej").unwrap();
        prop_assert!(rejects.starts_with(b"--- odd\n+++ odd\n@@ -1,1 +1,1 @@\n-even\n+other\n"));
        new.insert("odd".to_owned(), file("odd\n"));
        prop_assert_eq!(on_disk, new.clone());
        // What was patched shows as changes once the dirstate is written.
        session.finish().unwrap();
        let changed = letters(&copy.status());
        for path in old.keys().chain(new.keys()) {
            let expected = match (old.get(path), new.get(path)) {
                (before, after) if before == after => 'C',
                (None, _) => 'A',
                (_, None) => 'R',
                _ => 'M',
            };
            prop_assert_eq!(changed.get(path), Some(&expected), "{}", path);
        }
        prop_assert_eq!(copy.view().changelog().len(), 1);
    }
}

#[test]
fn nothing_is_patched_outside_of_the_working_copy() {
    let (copy, root) = checked_out(&Files::from([("a".to_owned(), file("a\n"))]));
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), copy.path("link")).unwrap();
    let (view, stop) = (copy.view(), Interrupt::default());
    let new = file("evil\n");
    for path in [
        "../evil",
        ".hg/hgrc",
        "d/../../evil",
        "link/evil",
        "d/.HG/hgrc",
        "/evil",
    ] {
        let text = file_patch(path, None, Some(&new));
        let mut session = session(&copy, &view, &stop);
        let applied = session.apply(text.as_bytes(), &options(), NO_RENAMES, &mut |_| {});
        assert!(applied.is_err(), "{path}: {applied:?}");
        // Without the working copy a link is no way out, and such names may be in a changeset that is never checked out.
        let in_memory = session.apply_to(&root, text.as_bytes(), &options(), &mut |_| {});
        let committed = in_memory
            .and_then(|changes| session.commit_to([root, Node::NULL], &changes, &METADATA));
        assert!(
            committed.is_err() || ["link/evil", "d/.HG/hgrc"].contains(&path),
            "{path}"
        );
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(!copy.path(".hg/hgrc").exists() && !copy.path("d").exists());
}
