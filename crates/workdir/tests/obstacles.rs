//! Obstacles to an update: a refused update changes nothing.

use super::model::{Files, WorkingCopy, at_first_of_two, file, files, letters, plain_files};
use proptest::prelude::*;
use std::os::unix::fs::symlink;
use varve_repo::Node;
use varve_workdir::{LocalChanges, MergeTool, WorkdirError, is_interrupted};

const MODES: [LocalChanges; 4] = [
    LocalChanges::Merge,
    LocalChanges::Keep,
    LocalChanges::KeepApart,
    LocalChanges::Refuse,
];

/// Updates and expects a refusal that changes nothing.
fn refusal(copy: &WorkingCopy, target: Node, local: LocalChanges) -> WorkdirError {
    let before = (
        copy.on_disk(),
        letters(&copy.status()),
        copy.dirstate().parents(),
    );
    let refused = copy.update(target, local, MergeTool::Fail).unwrap_err();
    let after = (
        copy.on_disk(),
        letters(&copy.status()),
        copy.dirstate().parents(),
    );
    assert_eq!(after, before, "{refused}");
    assert!(!is_interrupted(&copy.repository).unwrap(), "{refused}");
    refused
}

#[test]
fn an_untracked_file_in_place_of_a_directory_refuses() {
    let (copy, _, second) = at_first_of_two(
        &plain_files(&[("a", "1")]),
        &plain_files(&[("a", "1"), ("d/e/b", "2")]),
    );
    for place in ["d", "d/e"] {
        copy.write(place, &file("mine"));
        for local in MODES {
            let refused = refusal(&copy, second, local);
            assert!(
                matches!(refused, WorkdirError::NotADirectory { .. }),
                "{local:?}: {refused}"
            );
        }
        copy.remove(place);
    }
    copy.update(second, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
}

#[test]
fn a_directory_with_untracked_files_in_place_of_a_file_refuses() {
    let (copy, _, second) = at_first_of_two(
        &plain_files(&[("a", "1")]),
        &plain_files(&[("a", "1"), ("d", "2")]),
    );
    copy.write("d/e/mine", &file("mine"));
    for local in MODES {
        let refused = refusal(&copy, second, local);
        // The deepest directory that is not empty is named.
        let is_named =
            matches!(&refused, WorkdirError::DirectoryInTheWay { path } if path.ends_with("d/e"));
        assert!(is_named, "{local:?}: {refused}");
    }
    // An empty directory is no obstacle.
    copy.remove("d/e/mine");
    copy.update(second, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    assert_eq!(copy.on_disk()["d"], file("2"));
}

#[test]
fn a_link_in_place_of_a_directory_is_never_followed() {
    let (copy, _, second) = at_first_of_two(
        &plain_files(&[("a", "1")]),
        &plain_files(&[("a", "1"), ("d/b", "2")]),
    );
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), copy.path("d")).unwrap();
    for local in MODES {
        let refused = copy.update(second, local, MergeTool::Fail).unwrap_err();
        assert!(
            refused.to_string().contains("symbolic link 'd'"),
            "{local:?}: {refused}"
        );
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(copy.path("d").is_symlink());
}

#[test]
fn another_repository_is_never_written_into() {
    let (copy, _, second) = at_first_of_two(
        &plain_files(&[("a", "1")]),
        &plain_files(&[("a", "1"), ("d/b", "2")]),
    );
    std::fs::create_dir_all(copy.path("d/.hg")).unwrap();
    let refused = copy
        .update(second, LocalChanges::Merge, MergeTool::Fail)
        .unwrap_err();
    assert!(
        refused.to_string().contains("inside nested repo 'd'"),
        "{refused}"
    );
    assert!(!copy.path("d/b").exists());
}

#[test]
fn ignored_files_that_differ_are_in_the_way_too() {
    let old = plain_files(&[(".hgignore", "syntax: glob\n*.o\n")]);
    let mut new = old.clone();
    new.insert("x.o".to_owned(), file("theirs"));
    let (copy, _, second) = at_first_of_two(&old, &new);
    copy.write("x.o", &file("mine"));
    let refused = refusal(&copy, second, LocalChanges::Merge);
    assert!(matches!(refused, WorkdirError::UntrackedDiffer(paths) if paths == ["x.o"]));
    copy.write("x.o", &file("theirs"));
    copy.update(second, LocalChanges::Merge, MergeTool::Fail)
        .unwrap();
    assert!(copy.status().is_unchanged());
}

#[test]
fn all_files_in_the_way_are_named_in_order() {
    let paths = [("c", "1"), ("b/d", "1"), ("a", "1"), ("same", "1")];
    let (copy, _, second) = at_first_of_two(&plain_files(&[("z", "1")]), &plain_files(&paths));
    for path in ["a", "b/d", "c"] {
        copy.write(path, &file("mine"));
    }
    copy.write("same", &file("1"));
    match refusal(&copy, second, LocalChanges::Merge) {
        WorkdirError::UntrackedDiffer(paths) => assert_eq!(paths, ["a", "b/d", "c"]),
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Untracked files refuse an update if one of them differs from the file that would be written there; no other one
    /// is touched.
    #[test]
    fn untracked_files_are_never_lost(old in files(), new in files(), mine in files()) {
        let (copy, _, second) = at_first_of_two(&old, &new);
        // Only names that are free here; directories of others do not occur in the model.
        let mine: Files = mine.into_iter().filter(|(path, _)| !old.contains_key(path)).collect();
        for (path, file) in &mine {
            copy.write(path, file);
        }
        let differ = mine.iter().any(|(path, file)| new.get(path).is_some_and(|new| new.0 != file.0));
        let result = copy.update(second, LocalChanges::Merge, MergeTool::Fail);
        let on_disk = copy.on_disk();
        match result {
            Err(WorkdirError::UntrackedDiffer(paths)) => {
                prop_assert!(differ);
                prop_assert!(paths.is_sorted());
                for (path, file) in old.iter().chain(&mine) {
                    prop_assert_eq!(on_disk.get(path), Some(file), "{}", path);
                }
            }
            Err(other) => panic!("{other}"),
            Ok(_) => {
                prop_assert!(!differ);
                for (path, (content, _)) in &mine {
                    prop_assert_eq!(&on_disk[path].0, content, "{}", path);
                }
                for (path, (content, _)) in &new {
                    prop_assert_eq!(&on_disk[path].0, content, "{}", path);
                }
            }
        }
    }

    /// An update there and back is no change, whatever was between.
    #[test]
    fn there_and_back_is_no_change(old in files(), new in files(), local in prop::sample::select(MODES.to_vec())) {
        let (copy, first, second) = at_first_of_two(&old, &new);
        for _ in 0..2 {
            copy.update(second, local, MergeTool::Fail).unwrap();
            prop_assert_eq!(&copy.on_disk(), &new);
            copy.update(first, local, MergeTool::Fail).unwrap();
            prop_assert_eq!(&copy.on_disk(), &old);
            prop_assert!(copy.status().is_unchanged());
        }
    }
}
