//! `purge`.

use super::Twin;
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_testkit::repos;

/// Files and directories below the root but `.hg`, sorted.
fn files_in(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() == ".hg" && entry.path().parent() == Some(root) {
                continue;
            }
            found.push(entry.path().strip_prefix(root).unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// A repository with unknown and ignored files, empty directories, a link and another repository.
fn littered() -> Twin {
    let twin = Twin::writing(|hg, path| repos::make(hg, path, repos::DEFAULT));
    twin.each(|root| {
        for directory in [
            "u/v",
            "e/f/g",
            "dir/empty",
            "ign/deep/er",
            "other/x",
            "dir/k",
        ] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::create_dir_all(root.join("other/.hg")).unwrap();
        std::fs::write(root.join(".hgignore"), "syntax: glob\n*.o\nign/\n").unwrap();
        for file in [
            "u/m", "u/v/n", "dir/q", "dir/k.o", "ign/j", "unk", "sp ace", "other/y",
        ] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("dir", root.join("to-dir")).unwrap();
        let mkfifo = Command::new("mkfifo").arg(root.join("fifo")).status();
        assert!(mkfifo.unwrap().success());
    });
    twin
}

/// Runs one line in both copies, which must have the same files then.
#[track_caller]
fn purge_alike(twin: &Twin, line: &str) {
    twin.all_same(&[line]);
    assert_eq!(files_in(twin.theirs()), files_in(twin.ours()), "{line}");
}

#[test]
fn what_would_be_removed_is_printed_alike() {
    let twin = littered();
    let before = files_in(twin.ours());
    for line in [
        "purge -p",
        "purge",
        "purge -y",
        "purge --all",
        "purge -i",
        "clean --confirm --dirs",
        "purge --all -i",
        "purge -p --no-confirm",
        "purge -p --no-confirm --dirs",
        "purge -p --no-confirm --files",
        "purge -p --no-confirm --files --dirs",
        "purge --no-confirm -0 --all",
        "purge -p --no-confirm -i",
        "purge -p --no-confirm dir u/v nope",
        "purge -p --no-confirm u -X u/v",
        "purge -p --no-confirm -I glob:**/g",
        "purge -p --no-confirm glob:u* set:unknown()",
        "purge -p --no-confirm ../x",
        "purge -p --no-confirm .hg",
        "purge -p --no-confirm re:x(",
        "--cwd u purge -p --no-confirm",
        "--cwd u purge -p --no-confirm v",
        "--cwd u purge -p .",
        "-R / purge",
    ] {
        purge_alike(&twin, line);
    }
    assert_eq!(files_in(twin.ours()), before);
}

#[test]
fn the_same_files_and_directories_are_removed() {
    for lines in [
        &[
            "purge --no-confirm -v",
            "purge -v",
            "purge --no-confirm --all -v",
        ][..],
        &["purge --no-confirm --all"],
        &[
            "purge --no-confirm --dirs -v",
            "purge --no-confirm --files -v",
            "purge -v",
        ],
        &["purge --no-confirm -i -v", "status"],
        &[
            "purge --no-confirm -v dir",
            "--cwd u purge --no-confirm -v v",
            "status",
        ],
        &["add unk", "purge --no-confirm -X u", "status"],
        // Users that switch the old extension on are not asked.
        &[
            "purge -v --config extensions.purge=!",
            "purge -v --config extensions.hgext.purge=",
            "purge --confirm --all --config extensions.purge=",
        ],
    ] {
        let twin = littered();
        let before = files_in(twin.ours());
        for line in lines {
            purge_alike(&twin, line);
        }
        assert_ne!(files_in(twin.ours()), before);
    }
}
