use super::*;
use crate::IgnoreFiles;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tempfile::TempDir;
use varve_base::DiskStorage;

/// A working copy with an empty history.
fn working_copy() -> (TempDir, Repository) {
    let directory = tempfile::tempdir().unwrap();
    let storage = Arc::new(DiskStorage::new(""));
    let repository = Repository::create(storage, directory.path()).unwrap();
    (directory, repository)
}

const ALL: StatusLists = StatusLists {
    unknown: true,
    ignored: true,
    clean: true,
};

fn status(repository: &Repository, dirstate: &Dirstate, listing: StatusLists) -> WorkingStatus {
    let files = IgnoreFiles::read(repository.root(), &[]).unwrap();
    let request = StatusRequest {
        repository,
        dirstate,
        matcher: &Matcher::everything(),
        ignore: &files.ignore,
        listing,
        stop: &Interrupt::default(),
    };
    working_status(&request).unwrap()
}

fn names(paths: &[Vec<u8>]) -> String {
    let names = paths.iter().map(|path| String::from_utf8_lossy(path));
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn files_directories_links_and_other_repositories_are_told_apart() {
    let (directory, repository) = working_copy();
    let at = |path: &str| directory.path().join(path);
    for below in ["d/e", "ignored/deep", "nested/.hg", "taken", "x"] {
        std::fs::create_dir_all(at(below)).unwrap();
    }
    for file in [
        "a",
        "d/b",
        "d.c",
        "d/e/f",
        "ignored/deep/i",
        "nested/n",
        "taken/t",
        "x/.hg",
    ] {
        std::fs::write(at(file), "text").unwrap();
    }
    std::os::unix::fs::symlink("d", at("link")).unwrap();
    std::fs::write(at(".hgignore"), "^ignored").unwrap();
    let mut dirstate = Dirstate::read(&repository).unwrap();
    let clock = Timestamp {
        seconds: i64::MAX,
        nanos: 0,
    };
    let seen = |path: &str| Stat::from(&at(path).symlink_metadata().unwrap());
    dirstate.set_clean(b"a", &seen("a"), clock);
    dirstate.set_clean(
        b"d/b",
        &Stat {
            size: 9,
            ..seen("d/b")
        },
        clock,
    );
    dirstate.set_clean(b"d.c", &seen("d.c"), clock);
    let other = Stat {
        size: 9,
        ..seen("a")
    };
    for gone in ["gone", "link/b", "nested/n", "taken", "a/b", "z/z"] {
        dirstate.set_clean(gone.as_bytes(), &other, clock);
    }
    dirstate.add(b"d/e/f");
    dirstate.set_clean(b"r", &seen("a"), clock);
    dirstate.remove(b"r");
    let found = status(&repository, &dirstate, ALL).status;
    assert_eq!(names(&found.clean), "a d.c");
    assert_eq!(names(&found.modified), "d/b");
    assert_eq!(names(&found.added), "d/e/f");
    assert_eq!(names(&found.removed), "r");
    assert_eq!(names(&found.deleted), "a/b gone link/b nested/n taken z/z");
    assert_eq!(names(&found.unknown), ".hgignore link taken/t x/.hg");
    assert_eq!(names(&found.ignored), "ignored/deep/i");
    let tracked = status(&repository, &dirstate, StatusLists::default()).status;
    // Where only tracked files are asked for, the directories above them are not checked; nor does hg.
    assert_eq!(names(&tracked.modified), "d/b link/b nested/n");
    assert!(tracked.unknown.is_empty() && tracked.clean.is_empty());
}

#[test]
fn only_what_matches_is_walked() {
    let (directory, repository) = working_copy();
    std::fs::create_dir_all(directory.path().join("d/e")).unwrap();
    for file in ["a", "d/b", "d/e/f"] {
        std::fs::write(directory.path().join(file), "text").unwrap();
    }
    let mut dirstate = Dirstate::read(&repository).unwrap();
    dirstate.add(b"d/b");
    let matcher = Matcher::exactly([b"d/b".to_vec(), b"d/e/f".to_vec(), b"no".to_vec()]);
    let request = StatusRequest {
        repository: &repository,
        dirstate: &dirstate,
        matcher: &matcher,
        ignore: &Ignore::default(),
        listing: ALL,
        stop: &Interrupt::default(),
    };
    let found = working_status(&request).unwrap().status;
    assert_eq!(
        (names(&found.added), names(&found.unknown)),
        ("d/b".into(), "d/e/f".into())
    );
    request.stop.raise();
    let stopped = working_status(&request).unwrap_err();
    assert!(matches!(stopped, WorkdirError::Interrupted(_)));
}

proptest! {
    // Each makes a repository, which waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any tree of files beside any dirstate, against looking up each name.
    #[test]
    fn walking_finds_what_looking_up_finds(
        files in proptest::collection::btree_set("[a-c]{1,2}(/[a-c.]x){0,2}", 0..12),
        tracked in proptest::collection::btree_set("[a-c]{1,2}(/[a-c.]x){0,2}", 0..12),
    ) {
        let (directory, repository) = working_copy();
        let mut there = BTreeMap::new();
        for file in &files {
            let path = directory.path().join(file);
            let made = std::fs::create_dir_all(path.parent().unwrap());
            if made.is_ok() && std::fs::write(&path, "x").is_ok() {
                there.insert(file.clone(), ());
            }
        }
        let mut dirstate = Dirstate::read(&repository).unwrap();
        tracked.iter().for_each(|path| dirstate.add(path.as_bytes()));
        let found = status(&repository, &dirstate, ALL).status;
        let expect = |wanted: bool, list: &mut dyn Iterator<Item = &String>| {
            let list = list.filter(|path| there.contains_key(*path) == wanted);
            list.cloned().collect::<Vec<_>>().join(" ")
        };
        prop_assert_eq!(names(&found.added), expect(true, &mut tracked.iter()));
        prop_assert_eq!(names(&found.deleted), expect(false, &mut tracked.iter()));
        let mut others = files.iter().filter(|file| !tracked.contains(*file));
        prop_assert_eq!(names(&found.unknown), expect(true, &mut others));
    }
}
