//! Files of a merge that are resolved, taken up again and merged again in any order, against a model of their states.

use super::branch_merge::merge_telling;
use super::model::{Files, Recording, WorkingCopy, file, plain_files};
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_repo::Node;
use varve_workdir::{
    Backups, LocalChanges, MarkerStyle, MergeOptions, MergeState, MergeTool, ResolveRequest,
    ToolSelection, clear_merge, has_conflict_markers, has_unresolved, merge_again, other_side,
    unresolved,
};

const NAMES: [&str; 3] = ["a", "d/b", "z"];

/// A step of a user who resolves files.
#[derive(Clone, Copy, Debug)]
enum Step {
    Mark(usize),
    Unmark(usize),
    /// With which tool.
    Again(usize, MergeTool),
    /// The user writes into the file.
    Edit(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tools = vec![
        MergeTool::Fail,
        MergeTool::Local,
        MergeTool::Other,
        MergeTool::Merge,
        MergeTool::Union,
    ];
    let file = || 0..NAMES.len();
    let step = prop_oneof![
        file().prop_map(Step::Mark),
        file().prop_map(Step::Unmark),
        (file(), prop::sample::select(tools)).prop_map(|(file, tool)| Step::Again(file, tool)),
        file().prop_map(Step::Edit),
    ];
    proptest::collection::vec(step, 0..12)
}

/// A merge in which all files have a conflict that is left.
fn conflicts() -> (WorkingCopy, Node) {
    let copy = WorkingCopy::new();
    let all = |text: &str| plain_files(&NAMES.map(|name| (name, text)));
    let states = ["base\n", "theirs\n", "ours\n"].map(all);
    let root = copy.commit(Node::NULL, &Files::new(), &states[0]);
    let theirs = copy.commit(root, &states[0], &states[1]);
    let ours = copy.commit(root, &states[0], &states[2]);
    copy.update(ours, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let stats = merge_telling(&copy, theirs, MergeTool::Fail, &mut Recording::default()).unwrap();
    assert_eq!(stats.unresolved, NAMES.len());
    (copy, theirs)
}

/// Merges one file again; returns whether it is resolved.
fn again(copy: &WorkingCopy, state: &mut MergeState, name: &str, tool: MergeTool) -> bool {
    let view = copy.view();
    let options = MergeOptions {
        markers: MarkerStyle::Basic,
        chosen: ToolSelection::Forced(tool),
        backups: Backups::Beside,
        ..MergeOptions::default()
    };
    let request = ResolveRequest {
        repository: &copy.repository,
        view: &view,
        tool: &options,
        stop: &Interrupt::default(),
    };
    let (mut dirstate, observer) = (copy.dirstate(), &mut Recording::default());
    merge_again(&request, state, name.as_bytes(), &mut dirstate, observer).unwrap()
}

/// A merge by this tool of files that differ in their only line: true if it resolves them, and the content after it.
fn merged(tool: MergeTool) -> (bool, String) {
    let (resolves, content) = match tool {
        MergeTool::Local => (true, "ours\n"),
        MergeTool::Other => (true, "theirs\n"),
        MergeTool::Union => (true, "ours\ntheirs\n"),
        MergeTool::Merge => (false, "with markers"),
        // The version before the merge is there first, whatever the user wrote.
        _ => (false, "ours\n"),
    };
    (resolves, content.to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn states_and_contents_are_those_of_the_last_step(steps in steps()) {
        let (copy, theirs) = conflicts();
        let mut model: BTreeMap<&str, (bool, String)> = NAMES.map(|name| (name, (false, "ours\n".to_owned()))).into();
        for step in steps {
            // Each command reads the state that the one before has written.
            let mut state = MergeState::read(&copy.repository).unwrap().unwrap();
            match step {
                Step::Mark(at) | Step::Unmark(at) => {
                    let resolved = matches!(step, Step::Mark(_));
                    prop_assert!(state.set_resolved(NAMES[at].as_bytes(), resolved));
                    model.get_mut(NAMES[at]).unwrap().0 = resolved;
                }
                Step::Again(at, tool) => {
                    let name = NAMES[at];
                    let found = again(&copy, &mut state, name, tool);
                    let (was_resolved, before) = model[name].clone();
                    let expected = match was_resolved {
                        true => (true, before.clone()),
                        false => merged(tool),
                    };
                    prop_assert_eq!(found, expected.0, "{:?}", step);
                    // What was there is kept, markers and all.
                    let backup = std::fs::read_to_string(copy.path(&format!("{name}.orig"))).unwrap();
                    prop_assert_eq!(backup.contains("<<<<<<<"), before == "with markers");
                    prop_assert!(before == "with markers" || backup == before, "{:?}: {:?}", before, backup);
                    model.insert(name, expected);
                }
                Step::Edit(at) => {
                    copy.write(NAMES[at], &file("edited\n"));
                    model.get_mut(NAMES[at]).unwrap().1 = "edited\n".to_owned();
                }
            }
            state.write(&copy.repository).unwrap();
            let left = model.values().filter(|(resolved, _)| !resolved).count();
            prop_assert_eq!(state.unresolved(), left);
            prop_assert_eq!(unresolved(&copy.repository).unwrap(), left);
            prop_assert_eq!(has_unresolved(&copy.repository).unwrap(), left > 0);
            for (name, (_, content)) in &model {
                let has_markers = has_conflict_markers(&copy.repository, name.as_bytes()).unwrap();
                prop_assert_eq!(has_markers, content == "with markers", "{}", name);
                if !has_markers {
                    prop_assert_eq!(std::fs::read_to_string(copy.path(name)).unwrap(), content.clone());
                }
            }
        }
        prop_assert_eq!(other_side(&copy.repository).unwrap(), Some(theirs));
        clear_merge(&copy.repository).unwrap();
        prop_assert_eq!(unresolved(&copy.repository).unwrap(), 0);
        prop_assert_eq!(other_side(&copy.repository).unwrap(), None);
        prop_assert_eq!(MergeState::read(&copy.repository).unwrap(), None);
        // A second time there is nothing to clear.
        clear_merge(&copy.repository).unwrap();
    }
}

#[test]
fn files_that_are_not_of_the_merge_are_left_alone() {
    let (copy, _) = conflicts();
    let mut state = MergeState::read(&copy.repository).unwrap().unwrap();
    let before = copy.on_disk();
    assert!(again(&copy, &mut state, "elsewhere", MergeTool::Other));
    assert!(!state.set_resolved(b"elsewhere", true));
    assert_eq!(copy.on_disk(), before);
    assert_eq!(state.unresolved(), NAMES.len());
    copy.remove("a");
    assert!(!has_conflict_markers(&copy.repository, b"a").unwrap());
    // A file that is gone comes back from the version before the merge.
    assert!(again(&copy, &mut state, "a", MergeTool::Local));
    assert_eq!(copy.on_disk()["a"], file("ours\n"));
    assert!(!copy.path("a.orig").exists());
}
