//! Status of the working copy against any changeset, and the directories that match, against naive comparisons.

use super::commit::bring_about;
use super::model::{Files, WorkingCopy, file, files, letters};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_repo::Node;
use varve_workdir::{
    IgnoreFiles, LocalChanges, MergeTool, Status, StatusLists, StatusRequest, matching_directories,
    status_against,
};

const ALL: StatusLists = StatusLists {
    unknown: true,
    ignored: true,
    clean: true,
};

/// Calls `read` with a request about those files that are, or are below, one of `names`; about all without a name.
fn requested<T>(
    copy: &WorkingCopy,
    names: &[&str],
    listing: StatusLists,
    read: impl FnOnce(&StatusRequest<'_>) -> T,
) -> T {
    let matcher = copy.named(names);
    let files = IgnoreFiles::read(copy.repository.root(), &[]).unwrap();
    read(&StatusRequest {
        repository: &copy.repository,
        dirstate: &copy.dirstate(),
        matcher: &matcher,
        ignore: &files.ignore,
        listing,
        stop: &Interrupt::default(),
    })
}

fn against(copy: &WorkingCopy, old: Node, names: &[&str]) -> Status {
    let view = copy.view();
    let working = copy.status();
    requested(copy, names, ALL, |request| {
        status_against(request, &view, view.changelog().rev(&old), working).unwrap()
    })
}

/// A working copy on the second of two changesets, with local changes.
fn changed(old: &Files, parent: &Files, now: &Files) -> (WorkingCopy, Node) {
    let copy = WorkingCopy::new();
    copy.write(".hgignore", &file("syntax: glob\n*.o\n"));
    let first = copy.commit(Node::NULL, &Files::new(), old);
    let second = copy.commit(first, old, parent);
    copy.update(second, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    bring_about(&copy, parent, now);
    (copy, first)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Tracked files are compared by content and kind with the changeset, whatever the parent has.
    #[test]
    fn tracked_files_are_compared_with_the_old_changeset(
        old in files(), parent in files(), now in files(), lost in any::<prop::sample::Index>(), loses: bool,
    ) {
        let (copy, first) = changed(&old, &parent, &now);
        let lost = (loses && !now.is_empty()).then(|| now.keys().nth(lost.index(now.len())).unwrap().clone());
        if let Some(lost) = &lost {
            copy.remove(lost);
        }
        let mut expected = BTreeMap::from([(".hgignore".to_owned(), '?')]);
        for path in old.keys().chain(now.keys()) {
            let letter = match (old.get(path), now.get(path)) {
                _ if Some(path) == lost.as_ref() => '!',
                (Some(_), None) => 'R',
                (None, _) => 'A',
                (before, after) if before == after => 'C',
                _ => 'M',
            };
            expected.insert(path.clone(), letter);
        }
        prop_assert_eq!(letters(&against(&copy, first, &[])), expected.clone());
        // Against nothing all is new.
        let mut fresh = letters(&against(&copy, Node::NULL, &[]));
        fresh.retain(|_, letter| *letter == 'A');
        let there = now.keys().filter(|path| Some(*path) != lost.as_ref());
        prop_assert_eq!(fresh.into_keys().collect::<Vec<_>>(), there.cloned().collect::<Vec<_>>());
        // Of names, these alone; files that are not tracked are those of the status that is given.
        let below = |path: &String| path == "a" || path.starts_with("d/");
        expected.retain(|path, letter| below(path) || matches!(letter, '?' | '!'));
        prop_assert_eq!(letters(&against(&copy, first, &["a", "d"])), expected);
    }

    /// A file that the changeset has and the working copy does not track is removed, and neither unknown nor ignored.
    #[test]
    fn what_is_tracked_no_more_is_not_unknown(old in files(), parent in files()) {
        let (copy, first) = changed(&old, &parent, &Files::new());
        let all: BTreeSet<&String> = old.keys().chain(parent.keys()).collect();
        for path in &all {
            copy.write(path, &file("left behind\n"));
        }
        let found = letters(&against(&copy, first, &[]));
        for path in all {
            // Removed against the parent is not unknown either.
            let expected = match (old.contains_key(path), parent.contains_key(path)) {
                (true, _) => Some('R'),
                (false, true) => None,
                (false, false) => Some(if path.ends_with(".o") { 'I' } else { '?' }),
            };
            prop_assert_eq!(found.get(path).copied(), expected, "{}", path);
        }
    }

    /// Directories are listed whether they are empty or not; ignored ones where something in them is tracked, or all.
    #[test]
    fn directories_are_those_on_the_disk_that_match(
        made in proptest::collection::btree_set("[ab](/[ab]){0,2}|x\\.o(/[ab]){0,1}", 0..7), tracked: bool, ignored: bool,
    ) {
        let copy = WorkingCopy::new();
        copy.write(".hgignore", &file("syntax: glob\n*.o\n"));
        for path in &made {
            std::fs::create_dir_all(copy.path(path)).unwrap();
        }
        std::fs::create_dir_all(copy.path("nested/.hg")).unwrap();
        let is_tracked = tracked && made.contains("x.o/a");
        if is_tracked {
            copy.write("x.o/a/file", &file("tracked\n"));
            let mut dirstate = copy.dirstate();
            dirstate.add(b"x.o/a/file");
            dirstate.write(&copy.repository).unwrap();
        }
        let above = |path: &String| {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]).collect::<Vec<_>>();
            ends.into_iter().map(|end| path[..end].to_owned()).collect::<Vec<_>>()
        };
        let all: BTreeSet<String> = made.iter().flat_map(above).collect();
        let is_listed = |path: &String| match path.starts_with("x.o") {
            false => true,
            true => ignored || (is_tracked && (path == "x.o" || path.starts_with("x.o/a"))),
        };
        let expected: Vec<String> = all.into_iter().filter(is_listed).collect();
        let listing = StatusLists { unknown: true, ignored, clean: false };
        let list = |names: &[&str]| -> Vec<String> {
            let found = requested(&copy, names, listing, |request| matching_directories(request).unwrap());
            found.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
        };
        prop_assert_eq!(list(&[]), expected.clone());
        let below: Vec<String> = expected.into_iter().filter(|path| path == "a" || path.starts_with("a/")).collect();
        prop_assert_eq!(list(&["a"]), below);
    }
}
