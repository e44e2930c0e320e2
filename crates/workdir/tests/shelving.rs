//! Local changes that are shelved and come back, and the files that keep them.

use super::commit::{bring_about, commit_all};
use super::model::{Files, Recording, WorkingCopy, file, files, letters};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_repo::Node;
use varve_workdir::{
    Backups, LocalChanges, MarkerStyle, MergeOptions, MergeTool, RevertAction, ShelfDirectory,
    ShelfFile, ShelvedChanges, ToolSelection, UpdateRequest, leave_changeset, plan_local_changes,
    revert, show_as_local_changes,
};

/// A working copy of `committed` in which `local` was brought about, with its status.
fn with_changes(committed: &Files, local: &Files) -> (WorkingCopy, Node, BTreeMap<String, char>) {
    let copy = WorkingCopy::new();
    let node = copy.commit(Node::NULL, &Files::new(), committed);
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    bring_about(&copy, committed, local);
    copy.write("untracked", &file("mine\n"));
    let before = letters(&copy.status());
    (copy, node, before)
}

/// Goes from the shelved changeset back to its parent.
fn leave(copy: &WorkingCopy, parent: Node) {
    let view = copy.view();
    let tool = MergeOptions {
        markers: MarkerStyle::Basic,
        chosen: ToolSelection::Forced(MergeTool::Fail),
        backups: Backups::None,
        ..MergeOptions::default()
    };
    let request = UpdateRequest {
        repository: &copy.repository,
        view: &view,
        target: view.changelog().rev(&parent),
        local: LocalChanges::Refuse,
        tool: &tool,
        progress: &varve_base::Silent,
        stop: &Interrupt::default(),
    };
    leave_changeset(&request, &mut copy.dirstate(), &mut Recording::default()).unwrap();
}

/// Makes local changes of what a shelved changeset has; returns the actions by path.
fn unshelve(copy: &WorkingCopy, parent: Node, shelved: Node) -> BTreeMap<Vec<u8>, RevertAction> {
    let view = copy.view();
    let mut dirstate = copy.dirstate();
    let stop = Interrupt::default();
    let revs = [parent, shelved].map(|node| view.changelog().rev(&node));
    let plan = plan_local_changes((&copy.repository, &view), &dirstate, revs, &stop).unwrap();
    let is_there = |path: &[u8]| copy.path(str::from_utf8(path).unwrap()).exists();
    let mut losing = plan.steps.iter().filter(|step| step.loses_content);
    assert!(losing.all(|step| step.action == RevertAction::Add && !is_there(&step.path)));
    let backups = &Backups::None;
    revert(
        &copy.repository,
        &view,
        &mut dirstate,
        &plan,
        backups,
        &stop,
    )
    .unwrap();
    dirstate.write(&copy.repository).unwrap();
    let steps = plan.steps.into_iter();
    steps.map(|step| (step.path, step.action)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The working copy is clean while its changes are shelved, and as before when they are back.
    #[test]
    fn what_was_shelved_comes_back(committed in files(), local in files()) {
        let (copy, parent, before) = with_changes(&committed, &local);
        let on_disk = copy.on_disk();
        let shelved = commit_all(&copy, "shelved");
        leave(&copy, parent);
        prop_assert_eq!(copy.dirstate().parents(), [parent, Node::NULL]);
        let mut clean = copy.on_disk();
        prop_assert_eq!(clean.remove("untracked"), Some(file("mine\n")));
        prop_assert_eq!(&clean, &committed);
        prop_assert!(copy.status().is_unchanged());
        let actions = unshelve(&copy, parent, shelved);
        prop_assert_eq!(letters(&copy.status()), before);
        prop_assert_eq!(copy.on_disk(), on_disk);
        // One step for each change.
        let changed = committed.keys().chain(local.keys()).filter(|path| committed.get(*path) != local.get(*path));
        let changed: BTreeSet<Vec<u8>> = changed.map(|path| path.clone().into_bytes()).collect();
        prop_assert_eq!(actions.into_keys().collect::<BTreeSet<_>>(), changed);
        prop_assert_eq!(unshelve(&copy, parent, shelved), BTreeMap::new());
    }

    /// Files that went missing while the changes were shelved come back with them.
    #[test]
    fn missing_files_come_back_too(committed in files(), local in files(), at in any::<prop::sample::Index>()) {
        prop_assume!(!committed.is_empty());
        let (copy, parent, before) = with_changes(&committed, &local);
        let shelved = commit_all(&copy, "shelved");
        leave(&copy, parent);
        let lost = committed.keys().nth(at.index(committed.len())).unwrap();
        copy.remove(lost);
        unshelve(&copy, parent, shelved);
        prop_assert_eq!(letters(&copy.status()), before);
    }

    /// Without touching a file, the changes of a changeset become local ones; chosen new files are not tracked any more.
    #[test]
    fn a_changeset_becomes_local_changes(committed in files(), local in files(), forget: bool) {
        let (copy, parent, mut before) = with_changes(&committed, &local);
        let on_disk = copy.on_disk();
        let shelved = commit_all(&copy, "kept");
        let view = copy.view();
        let revs = [parent, shelved].map(|node| view.changelog().rev(&node));
        let added: BTreeSet<Vec<u8>> = before.iter().filter(|(_, letter)| **letter == 'A' && forget)
            .map(|(path, _)| path.clone().into_bytes()).collect();
        show_as_local_changes((&copy.repository, &view), &mut copy.dirstate(), revs, &added).unwrap();
        for path in &added {
            before.insert(String::from_utf8(path.clone()).unwrap(), '?');
        }
        prop_assert_eq!(letters(&copy.status()), before);
        prop_assert_eq!(copy.dirstate().parents(), [parent, Node::NULL]);
        prop_assert_eq!(copy.on_disk(), on_disk);
    }

    /// A cut file never names another changeset.
    #[test]
    fn a_cut_node_is_none(bytes in any::<[u8; Node::LEN]>()) {
        let copy = WorkingCopy::new();
        let directory = ShelfDirectory::of(&copy.repository);
        directory.create().unwrap();
        let shelf = directory.shelf(b"default");
        prop_assert!(!shelf.exists());
        prop_assert_eq!(shelf.node().unwrap(), None);
        let info = ShelvedChanges::info(&Node(bytes));
        for len in 0..=info.len() {
            shelf.write(ShelfFile::Info, &info[..len]).unwrap();
            // The line end may be missing.
            let expected = (len + 1 >= info.len()).then_some(Node(bytes));
            prop_assert_eq!(shelf.node().unwrap(), expected);
        }
        prop_assert!(shelf.exists());
        prop_assert_eq!(directory.free_name(b"default"), Some(b"default-01".to_vec()));
        shelf.retire().unwrap();
        prop_assert!(!shelf.exists() && directory.list().unwrap().is_empty());
    }
}
