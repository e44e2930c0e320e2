//! Reverts against a naive restoration of each file.

use super::model::{Files, WorkingCopy, files, letters, paths};
use proptest::prelude::*;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{FileKind, Node};
use varve_workdir::{
    Backups, LocalChanges, MergeTool, RevertAction, Tree, WorkingFiles, plan_revert, revert,
};

/// Reverts matching files to a changeset; returns actions by path.
fn revert_to(
    copy: &WorkingCopy,
    target: Node,
    matcher: &Matcher,
    backups: &Backups,
) -> Vec<(RevertAction, String)> {
    let view = copy.view();
    let mut dirstate = copy.dirstate();
    let parent = view.changelog().rev(&dirstate.parents()[0]);
    let from = Tree::of(&view, parent).unwrap();
    let to = Tree::of(&view, view.changelog().rev(&target)).unwrap();
    let mut status = copy.status_of(&dirstate).status;
    for list in [
        &mut status.modified,
        &mut status.added,
        &mut status.removed,
        &mut status.deleted,
    ] {
        list.retain(|path| matcher.matches(path));
    }
    let files = WorkingFiles::new(copy.directory.path());
    let plan = plan_revert(&dirstate, (&from, &to), &status, &files, matcher).unwrap();
    revert(
        &copy.repository,
        &view,
        &mut dirstate,
        &plan,
        backups,
        &Interrupt::default(),
    )
    .unwrap();
    dirstate.write(&copy.repository).unwrap();
    let path = |path: &Vec<u8>| String::from_utf8(path.clone()).unwrap();
    plan.steps
        .iter()
        .map(|step| (step.action, path(&step.path)))
        .collect()
}

/// Changes files by their position: rewritten, removed, missing.
fn change(copy: &WorkingCopy, committed: &Files, changes: &[u8]) {
    let mut dirstate = copy.dirstate();
    for (path, change) in committed.keys().zip(changes) {
        match change {
            1 => copy.write(path, &(b"local\n".to_vec(), FileKind::Plain)),
            2 => {
                copy.remove(path);
                dirstate.remove(path.as_bytes());
            }
            3 => copy.remove(path),
            _ => {}
        }
    }
    copy.write("new", &(b"new\n".to_vec(), FileKind::Plain));
    dirstate.add(b"new");
    dirstate.write(&copy.repository).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_revert_of_all_restores_all(
        old in files(), new in files(), changes in proptest::collection::vec(0..5_u8, 7),
        to_parent: bool,
    ) {
        let copy = WorkingCopy::new();
        let first = copy.commit(Node::NULL, &Files::new(), &old);
        let second = copy.commit(first, &old, &new);
        copy.update(second, LocalChanges::Refuse, MergeTool::Fail).unwrap();
        change(&copy, &new, &changes);
        let (target, expected) = if to_parent { (second, &new) } else { (first, &old) };
        revert_to(&copy, target, &Matcher::everything(), &Backups::None);
        let mut on_disk = copy.on_disk();
        prop_assert!(on_disk.remove("new").is_some());
        prop_assert_eq!(&on_disk, expected);
        // The parents stay, so that files of the other changeset are changes.
        let status = copy.status();
        prop_assert_eq!(copy.dirstate().parents(), [second, Node::NULL]);
        prop_assert!(paths(&status.unknown).contains("new"));
        for (path, letter) in letters(&status) {
            let wanted = match (new.get(&path), expected.get(&path)) {
                (None, None) => '?',
                (None, Some(_)) => 'A',
                (Some(_), None) => 'R',
                (before, after) if before == after => 'C',
                _ => 'M',
            };
            prop_assert_eq!(letter, wanted, "{}", path);
        }
        // A second revert finds nothing to do.
        let again = revert_to(&copy, target, &Matcher::everything(), &Backups::None);
        prop_assert_eq!(again, Vec::new());
    }

    #[test]
    fn only_matching_files_are_reverted(old in files(), changes in proptest::collection::vec(0..5_u8, 7)) {
        let copy = WorkingCopy::new();
        let node = copy.commit(Node::NULL, &Files::new(), &old);
        copy.update(node, LocalChanges::Refuse, MergeTool::Fail).unwrap();
        change(&copy, &old, &changes);
        let before = copy.on_disk();
        revert_to(&copy, node, &Matcher::exactly([b"a".to_vec()]), &Backups::None);
        let mut after = copy.on_disk();
        prop_assert_eq!(after.get("a"), old.get("a"));
        let mut rest = before;
        rest.remove("a");
        after.remove("a");
        prop_assert_eq!(rest, after);
    }
}

#[test]
fn lost_content_is_backed_up_and_nothing_else() {
    let copy = WorkingCopy::new();
    let file = |content: &str| (content.as_bytes().to_vec(), FileKind::Plain);
    let committed: Files = [("a", "1"), ("b", "2"), ("c", "3")]
        .into_iter()
        .map(|(path, content)| (path.to_owned(), file(content)))
        .collect();
    let node = copy.commit(Node::NULL, &Files::new(), &committed);
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    copy.write("a", &file("mine"));
    copy.remove("b");
    let actions = revert_to(&copy, node, &Matcher::everything(), &Backups::Beside);
    let expected = [
        (RevertAction::Revert, "a".to_owned()),
        (RevertAction::Revert, "b".to_owned()),
    ];
    assert_eq!(actions, expected);
    let mut wanted = committed;
    wanted.insert("a.orig".to_owned(), file("mine"));
    assert_eq!(copy.on_disk(), wanted);
    copy.write("a", &file("again"));
    let below = Backups::Below("kept/here".into());
    revert_to(&copy, node, &Matcher::everything(), &below);
    wanted.insert("kept/here/a".to_owned(), file("again"));
    assert_eq!(copy.on_disk(), wanted);
}
