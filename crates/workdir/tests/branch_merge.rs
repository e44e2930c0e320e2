//! Merges of two changesets against a naive merge of each file, and files that they leave to be resolved.

use super::model::{Files, Recording, WorkingCopy, file, files};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_base::Interrupt;
use varve_repo::{FileKind, Node};
use varve_workdir::{
    Backups, LocalChanges, MarkerStyle, MergeBase, MergeLabels, MergeOptions, MergeRequest,
    MergeState, MergeTool, ResolveRequest, ToolSelection, UpdateStats, WorkdirError, check_merge,
    merge_again, merge_changeset, unresolved,
};

fn options(tool: MergeTool) -> MergeOptions {
    MergeOptions {
        markers: MarkerStyle::Basic,
        chosen: ToolSelection::Forced(tool),
        backups: Backups::None,
        ..MergeOptions::default()
    }
}

/// Merges `other` into the working copy, which is clean.
fn merge(copy: &WorkingCopy, other: Node, tool: MergeTool) -> Result<UpdateStats, WorkdirError> {
    merge_telling(copy, other, tool, &mut Recording::default())
}

/// The same, and tells an observer of it.
pub fn merge_telling(
    copy: &WorkingCopy,
    other: Node,
    tool: MergeTool,
    observer: &mut Recording,
) -> Result<UpdateStats, WorkdirError> {
    let view = copy.view();
    let mut dirstate = copy.dirstate();
    let stop = Interrupt::default();
    let other = view.changelog().rev(&other).unwrap();
    check_merge(&copy.repository, &view, &dirstate, (other, false), &stop)?;
    let request = MergeRequest {
        repository: &copy.repository,
        view: &view,
        other,
        base: MergeBase::CommonAncestors,
        keeps_changes: false,
        tool: &options(tool),
        labels: &MergeLabels::of_merge(),
        progress: &varve_base::Silent,
        stop: &stop,
    };
    merge_changeset(&request, &mut dirstate, observer)
}

fn plain(files: Files) -> Files {
    let plain = files.into_iter();
    plain
        .map(|(path, (content, _))| (path, (content, FileKind::Plain)))
        .collect()
}

/// Two changesets over one, with the second checked out.
fn fork(base: &Files, ours: &Files, theirs: &Files) -> Option<(WorkingCopy, Node, Node)> {
    if [(ours, base), (theirs, base), (ours, theirs)]
        .iter()
        .any(|(one, other)| one == other)
        || base.is_empty()
    {
        return None;
    }
    let copy = WorkingCopy::new();
    let root = copy.commit(Node::NULL, &Files::new(), base);
    let their_node = copy.commit(root, base, theirs);
    let our_node = copy.commit(root, base, ours);
    copy.update(our_node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    Some((copy, our_node, their_node))
}

/// The files after a merge in which conflicts are decided for one side as a whole.
fn merged(base: &Files, ours: &Files, theirs: &Files, keep_ours: bool) -> Files {
    let all: BTreeSet<&String> = base
        .keys()
        .chain(ours.keys())
        .chain(theirs.keys())
        .collect();
    let decide = |path: &String| {
        let (base, ours, theirs) = (base.get(path), ours.get(path), theirs.get(path));
        match (ours == base, theirs == base) {
            (true, _) => theirs,
            (_, true) => ours,
            _ if keep_ours => ours,
            _ => theirs,
        }
    };
    let files = all.into_iter();
    files
        .filter_map(|path| Some((path.clone(), decide(path)?.clone())))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_side_keeps_its_changes(
        base in files(), ours in files(), theirs in files(), keep_ours in any::<bool>(),
    ) {
        let [base, ours, theirs] = [base, ours, theirs].map(plain);
        let Some((copy, our_node, their_node)) = fork(&base, &ours, &theirs) else {
            return Ok(());
        };
        let tool = if keep_ours { MergeTool::Local } else { MergeTool::Other };
        let stats = merge(&copy, their_node, tool).unwrap();
        prop_assert_eq!(stats.unresolved, 0);
        let expected = merged(&base, &ours, &theirs, keep_ours);
        prop_assert_eq!(copy.on_disk(), expected.clone());
        prop_assert_eq!(copy.dirstate().parents(), [our_node, their_node]);
        let dirstate = copy.dirstate();
        let tracked = dirstate.iter().filter(|(_, entry)| entry.is_tracked());
        let tracked: BTreeSet<String> =
            tracked.map(|(path, _)| String::from_utf8(path.to_vec()).unwrap()).collect();
        prop_assert_eq!(tracked, expected.keys().cloned().collect::<BTreeSet<_>>());
        prop_assert!(matches!(merge(&copy, their_node, tool), Err(WorkdirError::UncommittedMerge)));
    }

    /// A merge that leaves everything unresolved, resolved file by file, ends as one that decides at once.
    #[test]
    fn files_are_merged_again_from_where_they_were(
        base in files(), ours in files(), theirs in files(), keep_ours in any::<bool>(),
    ) {
        let [base, ours, theirs] = [base, ours, theirs].map(plain);
        let Some((copy, _, their_node)) = fork(&base, &ours, &theirs) else {
            return Ok(());
        };
        let left = merge(&copy, their_node, MergeTool::Fail).unwrap().unresolved;
        prop_assert_eq!(unresolved(&copy.repository).unwrap(), left);
        let tool = options(if keep_ours { MergeTool::Local } else { MergeTool::Other });
        let view = copy.view();
        let request = ResolveRequest {
            repository: &copy.repository,
            view: &view,
            tool: &tool,
            stop: &Interrupt::default(),
        };
        let mut dirstate = copy.dirstate();
        if let Some(mut state) = MergeState::read(&copy.repository).unwrap() {
            let paths: Vec<Vec<u8>> = state.files().map(|file| file.path.clone()).collect();
            for path in paths {
                let observer = &mut Recording::default();
                prop_assert!(merge_again(&request, &mut state, &path, &mut dirstate, observer).unwrap());
            }
            state.write(&copy.repository).unwrap();
        }
        prop_assert_eq!(unresolved(&copy.repository).unwrap(), 0);
        prop_assert_eq!(copy.on_disk(), merged(&base, &ours, &theirs, keep_ours));
    }
}

#[test]
fn a_merge_that_brings_nothing_is_refused() {
    let copy = WorkingCopy::new();
    let base = Files::from([("a".to_owned(), file("one\n"))]);
    let ours = Files::from([("a".to_owned(), file("two\n"))]);
    let root = copy.commit(Node::NULL, &Files::new(), &base);
    let child = copy.commit(root, &base, &ours);
    copy.update(child, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    for other in [root, child] {
        let refused = merge(&copy, other, MergeTool::Local);
        assert!(
            matches!(refused, Err(WorkdirError::MergesAncestor)),
            "{refused:?}"
        );
    }
    copy.update(root, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let refused = merge(&copy, child, MergeTool::Local);
    assert!(
        matches!(refused, Err(WorkdirError::MergesDescendant)),
        "{refused:?}"
    );
}

#[test]
fn local_changes_and_files_in_the_way_are_kept() {
    let base = Files::from([("a".to_owned(), file("one\n"))]);
    let ours = Files::from([("a".to_owned(), file("two\n"))]);
    let theirs = Files::from([
        ("a".to_owned(), file("one\n")),
        ("new".to_owned(), file("theirs\n")),
    ]);
    let (copy, _, their_node) = fork(&base, &ours, &theirs).unwrap();
    copy.write("a", &file("changed\n"));
    let refused = merge(&copy, their_node, MergeTool::Local);
    assert!(
        matches!(refused, Err(WorkdirError::ChangedFiles)),
        "{refused:?}"
    );
    copy.write("a", &file("two\n"));
    copy.write("new", &file("untracked\n"));
    match merge(&copy, their_node, MergeTool::Local) {
        Err(WorkdirError::UntrackedDiffer(files)) => assert_eq!(files, ["new"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(copy.on_disk()["new"], file("untracked\n"));
    copy.write("new", &file("theirs\n"));
    assert_eq!(
        merge(&copy, their_node, MergeTool::Local).unwrap().updated,
        1
    );
}
