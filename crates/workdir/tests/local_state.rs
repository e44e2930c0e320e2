//! The state of one file against the status of all, and files that must not be followed.

use super::model::{Files, WorkingCopy, files, letters};
use proptest::prelude::*;
use std::os::unix::fs::symlink;
use varve_repo::{FileKind, Node};
use varve_workdir::{LocalChanges, LocalState, MergeTool, Tree, WorkingFiles, local_state};

/// A change of one file of the working copy.
#[derive(Clone, Copy, Debug)]
enum Change {
    None,
    Rewrite,
    MakeExecutable,
    MakeLink,
    Remove,
    Forget,
    Lose,
}

const CHANGES: [Change; 7] = [
    Change::None,
    Change::Rewrite,
    Change::MakeExecutable,
    Change::MakeLink,
    Change::Remove,
    Change::Forget,
    Change::Lose,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_file_is_in_the_state_that_the_status_lists(
        committed in files(), added in files(),
        changes in proptest::collection::vec(prop::sample::select(CHANGES.to_vec()), 7),
    ) {
        let copy = WorkingCopy::new();
        let node = copy.commit(Node::NULL, &Files::new(), &committed);
        copy.update(node, LocalChanges::Refuse, MergeTool::Fail).unwrap();
        let mut dirstate = copy.dirstate();
        for (path, file) in added.iter().filter(|(path, _)| !committed.contains_key(*path)) {
            copy.write(path, file);
            dirstate.add(path.as_bytes());
        }
        let mut all = committed.clone();
        all.extend(added);
        for ((path, (content, kind)), change) in all.iter().zip(&changes) {
            match change {
                Change::None => {}
                Change::Rewrite => copy.write(path, &(b"rewritten".to_vec(), *kind)),
                Change::MakeExecutable => copy.write(path, &(committed.get(path).map_or(content, |file| &file.0).clone(), FileKind::Executable)),
                Change::MakeLink => {
                    copy.remove(path);
                    symlink("elsewhere", copy.path(path)).unwrap();
                }
                Change::Remove => {
                    copy.remove(path);
                    dirstate.remove(path.as_bytes());
                }
                Change::Forget => {
                    dirstate.remove(path.as_bytes());
                }
                Change::Lose => copy.remove(path),
            }
        }
        dirstate.write(&copy.repository).unwrap();
        let view = copy.view();
        let parent = Tree::of(&view, view.changelog().rev(&node)).unwrap();
        let working = WorkingFiles::new(copy.directory.path());
        // As it was read from the disk, with sizes and times, and as it is in memory.
        let stored = copy.dirstate();
        let listed = letters(&copy.status());
        for path in all.keys() {
            for dirstate in [&stored, &dirstate] {
                let expected = match listed.get(path) {
                    Some('C') => LocalState::Clean,
                    Some('M') => LocalState::Modified,
                    Some('A') => LocalState::Added,
                    Some('R') => LocalState::Removed,
                    Some('!') => LocalState::Missing,
                    Some('?' | 'I') | None => LocalState::Unknown,
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                };
                let found = local_state(path.as_bytes(), dirstate, &parent, &working).unwrap();
                prop_assert_eq!(found, expected, "{}", path);
            }
        }
        let nowhere = local_state(b"nowhere/at/all", &stored, &parent, &working).unwrap();
        prop_assert_eq!(nowhere, LocalState::Unknown);
    }
}
