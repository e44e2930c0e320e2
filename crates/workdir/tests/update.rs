//! Updates of the working copy against a naive merge of each file.

use super::model::{
    Content, Files, WorkingCopy, at_first_of_two, file, files, letters, paths, plain_files,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_repo::{FileKind, Node};
use varve_workdir::{
    LocalChanges, MergeTool, WorkdirError, destination, has_unresolved, is_interrupted, unresolved,
};

/// Files without permission to execute, whose merge is another matter.
fn plain() -> impl Strategy<Value = Files> {
    files().prop_map(|files| {
        let plain = files.into_iter();
        plain
            .map(|(path, (content, _))| (path, (content, FileKind::Plain)))
            .collect()
    })
}

/// A local change of each file by its position, and perhaps a new file.
fn local_changes() -> impl Strategy<Value = (Vec<u8>, bool)> {
    (proptest::collection::vec(0..4_u8, 7), any::<bool>())
}

/// Applies local changes to a clean working copy of `committed`; returns the tracked files.
fn change(copy: &WorkingCopy, committed: &Files, (changes, is_new): &(Vec<u8>, bool)) -> Files {
    let mut dirstate = copy.dirstate();
    let mut tracked = committed.clone();
    for ((path, (content, kind)), change) in committed.iter().zip(changes) {
        match change {
            1 => {
                let file = ([&content[..], b"local\n"].concat(), *kind);
                copy.write(path, &file);
                tracked.insert(path.clone(), file);
            }
            2 => {
                copy.remove(path);
                dirstate.remove(path.as_bytes());
                tracked.remove(path);
            }
            _ => {}
        }
    }
    if *is_new {
        let file = (b"new\n".to_vec(), FileKind::Plain);
        copy.write("new", &file);
        dirstate.add(b"new");
        tracked.insert("new".to_owned(), file);
    }
    dirstate.write(&copy.repository).unwrap();
    tracked
}

/// Whether both sides changed a file differently.
fn is_conflict(base: Option<&Content>, ours: Option<&Content>, theirs: Option<&Content>) -> bool {
    ours != base && theirs != base && ours != theirs
}

/// The files after a merge in which conflicts are decided for one side as a whole.
fn merged(base: &Files, ours: &Files, theirs: &Files, keep_ours: bool) -> Files {
    let all: BTreeSet<&String> = base
        .keys()
        .chain(ours.keys())
        .chain(theirs.keys())
        .collect();
    let merge = |path: &String| {
        let (base, ours, theirs) = (base.get(path), ours.get(path), theirs.get(path));
        match is_conflict(base, ours, theirs) {
            true if keep_ours => ours,
            true => theirs,
            false if ours == base => theirs,
            false => ours,
        }
    };
    let files = all
        .into_iter()
        .filter_map(|path| Some((path.clone(), merge(path)?.clone())));
    files.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_clean_working_copy_becomes_the_target(old in files(), new in files()) {
        let (copy, first, second) = at_first_of_two(&old, &new);
        copy.write("untracked", &(b"mine".to_vec(), FileKind::Plain));
        for (target, expected) in [(second, &new), (first, &old), (Node::NULL, &Files::new())] {
            let (stats, _) = copy.update(target, LocalChanges::Refuse, MergeTool::Fail).unwrap();
            let mut on_disk = copy.on_disk();
            prop_assert!(on_disk.remove("untracked").is_some());
            prop_assert_eq!(&on_disk, expected);
            let status = copy.status();
            prop_assert!(status.is_unchanged());
            prop_assert_eq!(paths(&status.clean), expected.keys().cloned().collect());
            prop_assert_eq!((stats.merged, stats.unresolved), (0, 0));
            prop_assert_eq!(copy.dirstate().parents(), [target, Node::NULL]);
            prop_assert!(!is_interrupted(&copy.repository).unwrap());
        }
    }

    #[test]
    fn local_changes_are_merged_with_the_target(
        old in plain(), new in plain(), changes in local_changes(), keep_ours: bool,
    ) {
        let (copy, _, second) = at_first_of_two(&old, &new);
        let ours = change(&copy, &old, &changes);
        let tool = if keep_ours { MergeTool::Local } else { MergeTool::Other };
        let (stats, _) = copy.update(second, LocalChanges::Merge, tool).unwrap();
        let expected = merged(&old, &ours, &new, keep_ours);
        prop_assert_eq!(&copy.on_disk(), &expected);
        prop_assert_eq!(stats.unresolved, 0);
        let found = letters(&copy.status());
        for (path, letter) in found {
            let wanted = match (new.get(&path), expected.get(&path)) {
                (None, _) => 'A',
                (_, None) => 'R',
                (theirs, file) if theirs == file => 'C',
                _ => 'M',
            };
            prop_assert_eq!(letter, wanted, "{}", path);
        }
        prop_assert_eq!(copy.dirstate().parents(), [second, Node::NULL]);
    }

    #[test]
    fn unresolved_files_are_those_that_both_sides_changed(
        old in plain(), new in plain(), changes in local_changes(),
    ) {
        let (copy, _, second) = at_first_of_two(&old, &new);
        let ours = change(&copy, &old, &changes);
        let (stats, _) = copy.update(second, LocalChanges::Merge, MergeTool::Fail).unwrap();
        let all: BTreeSet<&String> = old.keys().chain(ours.keys()).chain(new.keys()).collect();
        let conflicts = all.into_iter().filter(|path| {
            is_conflict(old.get(*path), ours.get(*path), new.get(*path))
        });
        let conflicts = conflicts.count();
        prop_assert_eq!(stats.unresolved, conflicts);
        prop_assert_eq!(unresolved(&copy.repository).unwrap(), conflicts);
        prop_assert_eq!(has_unresolved(&copy.repository).unwrap(), conflicts > 0);
    }

    #[test]
    fn discarded_changes_leave_the_target(
        old in plain(), new in plain(), changes in local_changes(),
    ) {
        let (copy, _, second) = at_first_of_two(&old, &new);
        change(&copy, &old, &changes);
        copy.update(second, LocalChanges::Discard, MergeTool::Fail).unwrap();
        let mut on_disk = copy.on_disk();
        // A new file is no longer tracked, and stays.
        prop_assert_eq!(on_disk.remove("new").is_some(), changes.1);
        prop_assert_eq!(&on_disk, &new);
        let status = copy.status();
        prop_assert!(status.is_unchanged());
        prop_assert_eq!(paths(&status.unknown).contains("new"), changes.1);
    }

    #[test]
    fn a_refused_update_changes_nothing(
        old in plain(), new in plain(), changes in local_changes(),
    ) {
        let (copy, first, second) = at_first_of_two(&old, &new);
        let ours = change(&copy, &old, &changes);
        let before = (copy.on_disk(), letters(&copy.status()));
        let refused = copy.update(second, LocalChanges::Refuse, MergeTool::Fail);
        if ours == old {
            prop_assert!(refused.is_ok());
            return Ok(());
        }
        prop_assert!(matches!(refused, Err(WorkdirError::UncommittedChanges)));
        prop_assert_eq!((copy.on_disk(), letters(&copy.status())), before);
        prop_assert_eq!(copy.dirstate().parents(), [first, Node::NULL]);
    }

    #[test]
    fn changes_that_are_kept_apart_are_never_merged(
        old in plain(), new in plain(), changes in local_changes(),
    ) {
        let (copy, first, second) = at_first_of_two(&old, &new);
        let ours = change(&copy, &old, &changes);
        let all: BTreeSet<&String> = old.keys().chain(ours.keys()).chain(new.keys()).collect();
        let touched = |path: &&String| {
            ours.get(*path) != old.get(*path) && new.get(*path) != old.get(*path)
        };
        let meets = all.into_iter().any(|path| touched(&path));
        match copy.update(second, LocalChanges::KeepApart, MergeTool::Fail) {
            Ok(_) => prop_assert_eq!(&copy.on_disk(), &merged(&old, &ours, &new, true)),
            Err(error) => {
                prop_assert!(matches!(error, WorkdirError::Conflicting), "{}", error);
                prop_assert!(meets);
                prop_assert_eq!(copy.dirstate().parents(), [first, Node::NULL]);
            }
        }
    }
}

#[test]
fn an_untracked_file_in_the_way_refuses_the_update() {
    let (old, new) = (
        plain_files(&[("a", "1")]),
        plain_files(&[("a", "1"), ("b", "2")]),
    );
    let (copy, _, second) = at_first_of_two(&old, &new);
    copy.write("b", &file("mine"));
    let refused = copy
        .update(second, LocalChanges::Keep, MergeTool::Fail)
        .unwrap_err();
    assert!(matches!(refused, WorkdirError::UntrackedDiffer(paths) if paths == ["b"]));
    assert_eq!(copy.on_disk()["b"], file("mine"));
    copy.write("b", &file("2"));
    copy.update(second, LocalChanges::Keep, MergeTool::Fail)
        .unwrap();
    assert!(copy.status().is_unchanged());
}

#[test]
fn a_file_can_become_a_directory_and_back() {
    let (old, new) = (
        plain_files(&[("d", "file")]),
        plain_files(&[("d/a", "1"), ("d/e/b", "2")]),
    );
    let (copy, first, second) = at_first_of_two(&old, &new);
    for (target, expected) in [(second, &new), (first, &old), (second, &new)] {
        copy.update(target, LocalChanges::Refuse, MergeTool::Fail)
            .unwrap();
        assert_eq!(copy.on_disk(), *expected);
    }
    copy.write("d/untracked", &file("mine"));
    let refused = copy
        .update(first, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap_err();
    let words = format!("{}'", copy.path("d").display());
    assert!(refused.to_string().ends_with(&words), "{refused}");
    assert_eq!(copy.on_disk()["d/a"], file("1"));
}

#[test]
fn lines_of_both_sides_are_merged() {
    let old = plain_files(&[("a", "1\n2\n3\n4\n5\n")]);
    let new = plain_files(&[("a", "1\n2\n3\n4\nfive\n")]);
    let (copy, _, second) = at_first_of_two(&old, &new);
    copy.write("a", &file("one\n2\n3\n4\n5\n"));
    let (stats, events) = copy
        .update(second, LocalChanges::Merge, MergeTool::Merge)
        .unwrap();
    assert_eq!((stats.merged, stats.unresolved), (1, 0));
    assert_eq!(copy.on_disk()["a"], file("one\n2\n3\n4\nfive\n"));
    assert_eq!(
        events
            .iter()
            .filter(|event| event.starts_with("Merging"))
            .count(),
        1
    );
}

#[test]
fn conflicts_are_written_into_the_file() {
    let (old, new) = (
        plain_files(&[("a", "1\n2\n3\n")]),
        plain_files(&[("a", "1\ntwo\n3\n")]),
    );
    let conflict = "1\n<<<<<<< working copy\nTWO\n=======\ntwo\n>>>>>>> destination\n3\n";
    let with_base = "1\n<<<<<<< working copy\nTWO\n||||||| working copy parent\n2\n=======\ntwo\n\
                     >>>>>>> destination\n3\n";
    for (tool, expected, unresolved) in [
        (MergeTool::Merge, conflict, 1),
        (MergeTool::Merge3, with_base, 1),
        (MergeTool::MergeLocal, "1\nTWO\n3\n", 0),
        (MergeTool::MergeOther, "1\ntwo\n3\n", 0),
        (MergeTool::Union, "1\nTWO\ntwo\n3\n", 0),
        (MergeTool::UnionOtherFirst, "1\ntwo\nTWO\n3\n", 0),
    ] {
        let (copy, _, second) = at_first_of_two(&old, &new);
        copy.write("a", &file("1\nTWO\n3\n"));
        let (stats, _) = copy.update(second, LocalChanges::Merge, tool).unwrap();
        assert_eq!(copy.on_disk()["a"], file(expected), "{tool:?}");
        assert_eq!(stats.unresolved, unresolved, "{tool:?}");
    }
}

#[test]
fn all_versions_are_dumped_beside_the_file() {
    let (old, new) = (plain_files(&[("a", "1\n")]), plain_files(&[("a", "two\n")]));
    let (copy, _, second) = at_first_of_two(&old, &new);
    copy.write("a", &file("TWO\n"));
    copy.update(second, LocalChanges::Merge, MergeTool::ForceDump)
        .unwrap();
    let expected = plain_files(&[
        ("a", "TWO\n"),
        ("a.base", "1\n"),
        ("a.local", "TWO\n"),
        ("a.other", "two\n"),
    ]);
    assert_eq!(copy.on_disk(), expected);
}

#[test]
fn a_branch_aside_is_refused_when_there_are_changes() {
    let (old, new) = (plain_files(&[("a", "1")]), plain_files(&[("a", "2")]));
    let (copy, first, second) = at_first_of_two(&old, &new);
    let aside = copy.commit(first, &old, &plain_files(&[("a", "3")]));
    copy.update(second, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    copy.update(aside, LocalChanges::Keep, MergeTool::Fail)
        .unwrap();
    copy.write("a", &file("changed"));
    let refused = copy
        .update(second, LocalChanges::Keep, MergeTool::Fail)
        .unwrap_err();
    assert!(matches!(refused, WorkdirError::NotLinear), "{refused}");
    copy.update(first, LocalChanges::Keep, MergeTool::Local)
        .unwrap();
    assert_eq!(copy.on_disk()["a"], file("changed"));
}

#[test]
fn the_destination_is_the_newest_head_of_the_branch_ahead() {
    let (old, new) = (plain_files(&[("a", "1")]), plain_files(&[("a", "2")]));
    let (copy, first, second) = at_first_of_two(&old, &new);
    let third = copy.commit(second, &new, &old);
    copy.commit(first, &old, &plain_files(&[("b", "3")]));
    let view = copy.view();
    let rev = |node: &Node| view.changelog().rev(node);
    for (from, expected) in [(&second, &third), (&third, &third)] {
        let found = destination(&view, b"default", rev(from)).unwrap();
        assert_eq!(found, rev(expected));
    }
}
