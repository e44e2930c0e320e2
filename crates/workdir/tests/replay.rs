//! Changes replayed without the working copy end as a merge in the working copy does.

use super::model::{Files, Recording, WorkingCopy, files};
use proptest::prelude::*;
use varve_base::Interrupt;
use varve_repo::{Node, Phase, RepoView, StorageSettings};
use varve_workdir::{
    Backups, CommitMetadata, LocalChanges, MarkerStyle, MergeBase, MergeLabels, MergeOptions,
    MergeRequest, MergeTool, ReplayStep, Replayed, Replayer, ToolSelection, Tree, merge_changeset,
};

const METADATA: CommitMetadata<'_> = CommitMetadata {
    user: b"Ada",
    date: (9, 0),
    branch: b"default",
    extras: &[],
    description: b"replayed",
    phase: Phase::Draft,
};

/// Contents of all files of a changeset.
fn files_of(view: &RepoView, node: &Node) -> Files {
    let tree = Tree::of(view, view.changelog().rev(node)).unwrap();
    let mut found = Files::new();
    for entry in tree.iter() {
        let entry = entry.unwrap();
        let content = view.file_content(entry.path, &entry.node).unwrap();
        let path = String::from_utf8(entry.path.to_vec()).unwrap();
        found.insert(path, (content, entry.kind));
    }
    found
}

/// The destination is checked out, and the changes from `base` to `other` are merged into it: the files, if none is left unresolved.
fn merged(copy: &WorkingCopy, [onto, base, other]: [Node; 3]) -> Option<Files> {
    copy.update(onto, LocalChanges::Discard, MergeTool::Fail)
        .unwrap();
    let view = copy.view();
    let rev = |node: &Node| view.changelog().rev(node);
    let request = MergeRequest {
        repository: &copy.repository,
        view: &view,
        other: rev(&other).unwrap(),
        base: MergeBase::Chosen(rev(&base)),
        tool: &MergeOptions {
            markers: MarkerStyle::Basic,
            chosen: ToolSelection::Forced(MergeTool::Merge),
            backups: Backups::None,
        },
        labels: &MergeLabels::of_graft(),
        progress: &varve_base::Silent,
        stop: &Interrupt::default(),
    };
    let stats = merge_changeset(&request, &mut copy.dirstate(), &mut Recording::default()).unwrap();
    (stats.unresolved == 0).then(|| copy.on_disk())
}

/// Three states: a base, one change of it and another one.
fn forks() -> impl Strategy<Value = [Files; 3]> {
    (files(), files(), files()).prop_map(|(base, onto, other)| {
        // Files that one side lets go are kept by it half of the time, so that most steps need no question.
        let keep = |mut side: Files| {
            for (path, file) in base.iter().step_by(2) {
                side.entry(path.clone()).or_insert_with(|| file.clone());
            }
            side
        };
        let (onto, other) = (keep(onto), keep(other));
        [base, onto, other]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn replayed_changes_are_those_of_a_merge([base, onto, other] in forks()) {
        prop_assume!(base != onto && base != other && !base.is_empty());
        let copy = WorkingCopy::new();
        let root = copy.commit(Node::NULL, &Files::new(), &base);
        let onto_node = copy.commit(root, &base, &onto);
        let other_node = copy.commit(root, &base, &other);
        prop_assume!(onto_node != other_node);
        let options = StorageSettings::default().write_options(copy.repository.requirements());
        let mut batch = copy.repository.begin(options).unwrap();
        let view = copy.view();
        let rev = |node: &Node| view.changelog().rev(node);
        let step = ReplayStep {
            rev: rev(&other_node).unwrap(),
            base: rev(&root),
            parents: [onto_node, Node::NULL],
        };
        let replayed = Replayer::new(&view).plan(&batch, &step).unwrap();
        match replayed {
            Replayed::Plan(plan) => {
                let unchanged = plan.is_unchanged();
                let node = plan.commit(&mut batch, &METADATA).unwrap();
                batch.finish().unwrap();
                let files = files_of(&copy.view(), &node);
                prop_assert_eq!(unchanged, files == onto);
                prop_assert_eq!(plan.parents(), [onto_node, Node::NULL]);
                prop_assert_eq!(Some(files), merged(&copy, [onto_node, root, other_node]));
            }
            Replayed::Conflict { merged: names } => {
                drop(batch);
                prop_assert!(!names.is_empty());
                prop_assert_eq!(None, merged(&copy, [onto_node, root, other_node]));
            }
            Replayed::NeedsWorkingCopy => {}
        }
    }
}

/// Two steps in one batch: the second builds on the first, which no view has.
#[test]
fn a_step_may_build_on_one_of_the_same_batch() {
    let state = |all: &[(&str, &str)]| -> Files {
        let all = all.iter();
        all.map(|(path, content)| {
            let content = content.as_bytes().to_vec();
            ((*path).to_owned(), (content, varve_repo::FileKind::Plain))
        })
        .collect()
    };
    let copy = WorkingCopy::new();
    let states = [
        state(&[("a", "1\n2\n3\n")]),
        state(&[("a", "one\n2\n3\n")]),
        state(&[("a", "one\n2\n3\n"), ("b", "new\n")]),
        state(&[("a", "1\n2\nthree\n")]),
    ];
    let root = copy.commit(Node::NULL, &Files::new(), &states[0]);
    let first = copy.commit(root, &states[0], &states[1]);
    let second = copy.commit(first, &states[1], &states[2]);
    let onto = copy.commit(root, &states[0], &states[3]);
    let options = StorageSettings::default().write_options(copy.repository.requirements());
    let mut batch = copy.repository.begin(options).unwrap();
    let view = copy.view();
    let mut replayer = Replayer::new(&view);
    let mut parent = onto;
    for (node, base, added) in [(first, root, 0), (second, first, 1)] {
        let step = ReplayStep {
            rev: view.changelog().rev(&node).unwrap(),
            base: view.changelog().rev(&base),
            parents: [parent, Node::NULL],
        };
        let Replayed::Plan(plan) = replayer.plan(&batch, &step).unwrap() else {
            panic!("the step needs no more than a merge of lines");
        };
        assert_eq!(plan.added().count(), added);
        // The first changes lines beside those of the destination, the second no line at all.
        assert_eq!(plan.merged.len(), 1 - added);
        assert_eq!(plan.keeps_diff, added == 1);
        parent = plan.commit(&mut batch, &METADATA).unwrap();
    }
    batch.finish().unwrap();
    let expected = state(&[("a", "one\n2\nthree\n"), ("b", "new\n")]);
    assert_eq!(files_of(&copy.view(), &parent), expected);
}
