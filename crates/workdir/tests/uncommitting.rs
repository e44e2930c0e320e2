//! The working copy below a changeset that it was on, files that leave a changeset, and copies up to the working copy.

use super::commit::{bring_about, commit_all};
use super::model::{Files, WorkingCopy, at_first_of_two, file, files, letters, plain_files};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Node, Rev};
use varve_workdir::{
    LocalChanges, MergeTool, UncommitObstacle, UncommitRefusal, path_copies,
    path_copies_to_working_copy, return_to_parent, uncommit_refusal,
};

/// A working copy on the second of two changesets.
fn two_changesets(first: &Files, second: &Files) -> (WorkingCopy, Node, Rev) {
    let (copy, parent, node) = at_first_of_two(first, second);
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    let rev = copy.view().changelog().rev(&node).unwrap();
    (copy, parent, rev)
}

#[test]
fn a_file_is_not_below_another_whose_name_it_begins_with() {
    let (copy, _, rev) = two_changesets(&Files::new(), &plain_files(&[("f.o", "1")]));
    let refusal = |names: &[&str]| {
        uncommit_refusal(&copy.repository, &copy.view(), rev, &copy.named(names)).unwrap()
    };
    assert_eq!(refusal(&["f.o"]), None);
    let expected = UncommitRefusal {
        path: b"f".to_vec(),
        reason: UncommitObstacle::Missing,
    };
    assert_eq!(refusal(&["f.o", "f"]), Some(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The working copy is as if it had been changed from the parent, and its files stay.
    #[test]
    fn below_its_changeset_a_working_copy_has_all_as_local_changes(first in files(), second in files(), third in files()) {
        let (copy, parent, rev) = two_changesets(&first, &second);
        bring_about(&copy, &second, &third);
        let on_disk = copy.on_disk();
        let mut dirstate = copy.dirstate();
        return_to_parent(&copy.view(), &mut dirstate, rev).unwrap();
        dirstate.write(&copy.repository).unwrap();
        prop_assert_eq!(copy.dirstate().parents(), [parent, Node::NULL]);
        prop_assert_eq!(copy.on_disk(), on_disk);
        let expected: BTreeMap<String, char> = first.keys().chain(third.keys()).map(|path| {
            let letter = match (first.get(path), third.get(path)) {
                (Some(_), None) => 'R',
                (None, _) => 'A',
                (before, after) if before == after => 'C',
                _ => 'M',
            };
            (path.clone(), letter)
        }).collect();
        prop_assert_eq!(letters(&copy.status()), expected);
    }

    /// Of named files, the first that the changeset does not change is refused, unless it is a directory above one.
    #[test]
    fn named_files_must_be_changed_by_the_changeset(
        first in files(), second in files(), named in proptest::collection::vec(prop::sample::select(vec!["a", "b", "d", "d/a", "d/e", "f", "z", "new"]), 1..5),
    ) {
        let (copy, _, rev) = two_changesets(&first, &second);
        copy.write("new", &file("untracked\n"));
        let matcher = copy.named(&named);
        let all = first.keys().chain(second.keys());
        let changed: BTreeSet<&String> = all.filter(|path| first.get(*path) != second.get(*path)).collect();
        let is_changed = |name: &&str| {
            let below = format!("{name}/");
            changed.iter().any(|path| path == name || path.starts_with(&below))
        };
        let expected: Vec<UncommitRefusal> = named.iter().filter(|name| !is_changed(name)).map(|name| {
            let reason = match second.contains_key(*name) {
                true => UncommitObstacle::Unchanged,
                false if copy.path(name).exists() => UncommitObstacle::Untracked,
                false => UncommitObstacle::Missing,
            };
            UncommitRefusal { path: name.as_bytes().to_vec(), reason }
        }).collect();
        let found = uncommit_refusal(&copy.repository, &copy.view(), rev, &matcher).unwrap();
        match found {
            None => prop_assert_eq!(expected, Vec::new()),
            Some(found) => prop_assert!(expected.contains(&found), "{:?} of {:?}", found, expected),
        }
    }

    /// Copies up to the working copy are those up to the changeset that it becomes.
    #[test]
    fn copies_to_the_working_copy_are_those_to_its_commit(
        committed in files(), renames in proptest::collection::vec((any::<prop::sample::Index>(), 0..6_usize, any::<bool>()), 1..6), split in 0..6_usize,
    ) {
        prop_assume!(!committed.is_empty());
        // Copies are told apart by their contents.
        let committed: Files = committed.into_keys().map(|path| (path.clone(), file(&format!("of {path}\n")))).collect();
        let copy = WorkingCopy::new();
        let first = copy.commit(Node::NULL, &Files::new(), &committed);
        copy.update(first, LocalChanges::Refuse, MergeTool::Fail).unwrap();
        let mut now = committed.clone();
        let mut changed = BTreeSet::new();
        for (number, (from, to, is_rename)) in renames.into_iter().enumerate() {
            if number == split && !copy.status().is_unchanged() {
                commit_all(&copy, "the first half");
                changed.clear();
            }
            let from = now.keys().nth(from.index(now.len())).unwrap().clone();
            let to = format!("new{to}");
            if now.contains_key(&to) || !changed.insert(from.clone()) || !changed.insert(to.clone()) {
                continue;
            }
            let content = now[&from].clone();
            copy.write(&to, &content);
            let mut dirstate = copy.dirstate();
            dirstate.add(to.as_bytes());
            dirstate.copy(to.as_bytes(), Some(from.as_bytes()));
            if is_rename {
                copy.remove(&from);
                dirstate.remove(from.as_bytes());
                now.remove(&from);
            }
            dirstate.write(&copy.repository).unwrap();
            now.insert(to, content);
        }
        let view = copy.view();
        let starts = [view.changelog().rev(&first), view.changelog().rev(&copy.dirstate().parents()[0])];
        let found = starts.map(|old| path_copies_to_working_copy(&view, old, &copy.dirstate()).unwrap());
        let end = match copy.status().is_unchanged() {
            true => copy.dirstate().parents()[0],
            false => commit_all(&copy, "the second half"),
        };
        let view = copy.view();
        let expected = starts.map(|old| path_copies(&view, old, view.changelog().rev(&end)).unwrap());
        prop_assert_eq!(found, expected);
    }
}
