//! Arguments that lie elsewhere: through links, outside of the current directory's repository, and in the
//! way of each other.

use super::Twin;
use std::os::unix::fs::symlink;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// A repository in a directory, and a link to it.
fn below(hg: &Hg, path: &Path) {
    let root = path.join("r");
    std::fs::create_dir(&root).unwrap();
    hg.ok(&root, &["init"]);
    write(&root, "a", b"a\n");
    write(&root, "d/d", b"d\n");
    commit(hg, &root, "one");
    write(&root, "d/d", b"d\ne\n");
    symlink("r", path.join("link")).unwrap();
    symlink("d", root.join("inner")).unwrap();
    std::fs::create_dir(path.join("other")).unwrap();
    hg.ok(&path.join("other"), &["init"]);
}

#[test]
fn the_repository_is_that_of_the_arguments() {
    let twin = Twin::writing(below);
    twin.all_same(&[
        "status r/a",
        "status r",
        "status r/a r/d/d",
        "status r/a other/x",
        "status glob:r/a",
        "status",
        "diff --nodates r/d",
        "cat r/a",
        "cat r/nosuch",
        "log r/a",
        "annotate r/d/d",
        "parents r/a",
        "add r/d/d",
        "branch r/a",
        "files r/a",
        "commit r/d/d -m two",
        "remove r/a",
        "forget r/d/d",
        "log -T {rev}{desc}\\n r",
    ]);
}

#[test]
fn links_to_the_repository_are_the_repository() {
    let twin = Twin::writing(below);
    twin.all_same(&[
        "status link/a",
        "-R r status link/d",
        "-R link diff --nodates r/d/d",
        "-R r diff --nodates link/d/d",
        "-R r log link/inner/d",
        "-R r cat link/a",
        "-R r status link/inner/d",
        "-R r status other/x",
    ]);
    twin.same_in("link/d", &["status", "."]);
    twin.same_in("r", &["log", "inner/d"]);
}

#[test]
fn files_and_directories_of_one_name_are_not_tracked_together() {
    let twin = Twin::writing(below);
    twin.each(|path| {
        let root = path.join("r");
        std::fs::remove_file(root.join("a")).unwrap();
        write(&root, "a/x", b"x\n");
        std::fs::remove_dir_all(root.join("d")).unwrap();
        write(&root, "d", b"file\n");
    });
    for line in [
        "add a/x",
        "add d",
        "add",
        "commit -m two a/x",
        "rename -A a a/x",
        "addremove",
        "status",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        twin.same_in("r", &words);
    }
}

#[test]
fn commit_names_new_files_from_the_root() {
    let twin = Twin::writing(below);
    twin.each(|path| write(&path.join("r"), "d/new", b"new\n"));
    twin.same(&["commit", "-A", "-R", "r", "-m", "two"]);
    twin.each(|path| write(&path.join("r"), "d/newer", b"new\n"));
    twin.same_in("r/d", &["commit", "-A", "-m", "three"]);
    let setting = "ui.relative-paths=yes";
    twin.each(|path| write(&path.join("r"), "d/newest", b"new\n"));
    twin.same_in("r/d", &["commit", "-A", "-m", "four", "--config", setting]);
}

#[test]
fn paths_are_shown_as_configured() {
    let twin = Twin::writing(below).with("HGPLAIN", "");
    for value in ["yes", "no", "legacy"] {
        let setting = format!("ui.relative-paths={value}");
        for line in [
            "status",
            "copy d f",
            "copy --after nope d",
            "rename -n d/d e",
            "add nosuch",
            "forget nosuch",
            "revert -a -C",
        ] {
            let words = line.split(' ').chain(["--config", &setting]);
            twin.same_in("r/d", &words.collect::<Vec<_>>());
        }
    }
}

#[test]
fn tweaked_defaults_are_defaults() {
    let twin = Twin::writing(below).with("HGPLAIN", "");
    let tweaked = |line: &str| {
        let words = line.split(' ').chain(["--config", "ui.tweakdefaults=yes"]);
        twin.same_in("r/d", &words.collect::<Vec<_>>());
    };
    tweaked("status");
    tweaked("diff --config diff.showfunc=no");
    tweaked("config commands ui.statuscopies");
    tweaked("config diff --config diff.git=no");
    twin.each(|path| {
        hg().ok(&path.join("r"), &["rename", "a", "b"]);
    });
    tweaked("status");
    let plain = Twin::writing(below);
    plain.same_in("r/d", &["status", "--config", "ui.tweakdefaults=yes"]);
}

/// The arguments of `identify` may be a repository whose working copy counts.
#[test]
fn another_repository_is_identified_by_its_working_copy() {
    let twin = Twin::writing(below);
    twin.all_same(&[
        "identify r",
        "-R other identify r",
        "identify r -nibtB",
        "identify r -T json",
        "identify r#default",
        "identify -r 0 r",
        "identify -r .^ r",
        "identify -r wdir() r",
        "identify other",
        "-R r update -q null",
        "identify r",
        "identify r -n",
        "-R r bundle -q -a r/b.hg",
        "identify r/b.hg",
        "-R r identify r/b.hg -r tip",
    ]);
    twin.same_in("r", &["identify", "."]);
    twin.same_in(
        "r",
        &["identify", "../other", "-T", "{id}|{tags}|{dirty}\n"],
    );
}

#[test]
fn commands_without_a_repository_tell_that_they_ignore_one() {
    let twin = Twin::writing(below);
    twin.all_same(&[
        "-R r clone r copied",
        "-R nosuch clone -q r again",
        "-R other init made",
        "-R other debugdate 0",
        "-R other debugwireargs r 1 2",
        "-R r identify r",
    ]);
    twin.same(&["-R", "", "init", "unnamed"]);
    twin.same_in(
        "r",
        &["clone", "-q", ".", "inside", "--repository", "../other"],
    );
}
