//! Updates with local changes, one kind after another.

use super::random::same_state_of_merge;
use crate::hgcli::Twin;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

fn executable(path: &Path, file: &str) {
    std::fs::set_permissions(path.join(file), PermissionsExt::from_mode(0o755)).unwrap();
}

/// Two changesets on one line, a third beside the second; the first is checked out.
fn history(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for file in ["a", "b", "c", "d/x", "e", "mode", "old"] {
        write(path, file, format!("{file}\n2\n3\n4\n5\n").as_bytes());
    }
    write(path, "binary", b"\0one");
    symlink("a", path.join("link")).unwrap();
    commit(hg, path, "zero");
    write(path, "a", b"a\n2\n3\n4\nfive\n");
    write(path, "e", b"e in one\n");
    write(path, "binary", b"\0two");
    write(path, "new", b"new\n");
    std::fs::remove_file(path.join("link")).unwrap();
    symlink("b", path.join("link")).unwrap();
    executable(path, "mode");
    hg.ok(path, &["remove", "c"]);
    hg.ok(path, &["rename", "old", "renamed"]);
    hg.ok(path, &["copy", "b", "copy of b"]);
    commit(hg, path, "one");
    hg.ok(path, &["update", "0"]);
    write(path, "a", b"another a\n");
    commit(hg, path, "two");
    hg.ok(path, &["update", "0"]);
}

/// Changes both copies and compares update after update from there.
fn after(change: impl Fn(&Path), lines: &[&str]) {
    for line in lines {
        let twin = Twin::writing(history);
        twin.each(&change);
        twin.all_same(&[line]);
        same_state_of_merge(&twin);
    }
}

#[test]
fn changes_of_one_file_come_together_or_conflict() {
    after(
        |path| write(path, "a", b"mine\n2\n3\n4\n5\n"),
        &[
            "up 1", "up -v 1", "up -q 1", "up 2", "up -m 2", "up -c 1", "up -C 1", "up .",
            "up -v .",
        ],
    );
    after(
        |path| write(path, "a", b"a\n2\n3\n4\nmine\n"),
        &[
            "up 1",
            "up -q 1",
            "up -t :union 1",
            "up -t :prompt 1",
            "up --config ui.merge=:local 1",
        ],
    );
    after(
        |path| write(path, "e", b"e in one\n"),
        &["up 1", "up --config commands.update.check=abort 1"],
    );
}

#[test]
fn a_conflict_is_resolved_with_the_other_program() {
    let twin = Twin::writing(history);
    twin.each(|path| write(path, "e", b"mine\n"));
    twin.all_same(&[
        "up 1",
        "st",
        "sum",
        "commit -m no",
        "up 0",
        "up -m 0",
        "up -c 0",
    ]);
    twin.each(|path| {
        write(path, "e", b"both\n");
        hg().ok(path, &["resolve", "--mark", "e"]);
    });
    twin.all_same(&["sum", "st", "commit -m yes", "up -C 0"]);
    same_state_of_merge(&twin);
}

#[test]
fn deletions_meet_changes() {
    after(
        |path| write(path, "c", b"mine\n"),
        &["up 1", "up -t :local 1", "up -t :other 1"],
    );
    after(
        |path| drop(hg().ok(path, &["remove", "a"])),
        &["up 1", "up -t :other 1"],
    );
    after(
        |path| std::fs::remove_file(path.join("a")).unwrap(),
        &["up 1"],
    );
    after(
        |path| drop(hg().ok(path, &["remove", "c", "mode"])),
        &["up 1", "up null"],
    );
    after(
        |path| write(path, "b", b"mine\n"),
        &["up null", "up -C null"],
    );
}

#[test]
fn renames_of_both_sides_are_followed() {
    after(
        |path| write(path, "old", b"old\n2\n3\n4\nmine\n"),
        &["up 1", "up -v 1", "up -t :fail 1"],
    );
    after(|path| write(path, "b", b"mine\n2\n3\n4\n5\n"), &["up 1"]);
    let renames = |from: &'static str, to: &'static str| {
        move |path: &Path| drop(hg().ok(path, &["rename", from, to]))
    };
    after(renames("a", "mine"), &["up 1"]);
    after(renames("old", "mine"), &["up 1"]);
    after(renames("old", "renamed"), &["up 1"]);
    after(renames("c", "mine"), &["up 1"]);
    after(renames("d/x", "mine"), &["up 1"]);
    after(renames("a", "new"), &["up 1"]);
    after(|path| drop(hg().ok(path, &["remove", "old"])), &["up 1"]);
    after(
        |path| drop(hg().ok(path, &["copy", "a", "mine"])),
        &["up 1"],
    );
}

#[test]
fn links_modes_and_binary_files() {
    after(
        |path| {
            write(path, "binary", b"\0mine");
            std::fs::remove_file(path.join("link")).unwrap();
            symlink("mine", path.join("link")).unwrap();
        },
        &[
            "up 1",
            "up -t :merge 1",
            "up -t :local 1",
            "up -t :other 1",
            "up -t :dump 1",
        ],
    );
    after(
        |path| write(path, "binary", b"\0mine"),
        &["up --config ui.merge=:merge 1"],
    );
    after(|path| write(path, "mode", b"mine\n"), &["up 1"]);
    after(|path| executable(path, "a"), &["up 1"]);
    after(
        |path| {
            write(path, "new", b"new\n");
            executable(path, "new");
            hg().ok(path, &["add", "new"]);
        },
        &["up 1"],
    );
}

#[test]
fn dates_and_missing_destinations() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "up -d 1970-01-01",
        "up -d 1970-01-01 1",
        "up -d 1980-01-01",
        "up -r 1 0",
        "up --config commands.update.requiredest=1",
        "up -m -C",
        "up --config commands.update.requiredest=1 0",
    ]);
}

#[test]
fn a_changed_mode_does_not_keep_a_file_that_the_other_side_removes() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        write(path, "b", b"b\n");
        commit(hg, path, "0");
        executable(path, "a");
        commit(hg, path, "1");
        hg.ok(path, &["up", "-q", "0"]);
        hg.ok(path, &["rm", "a"]);
        commit(hg, path, "2");
    });
    twin.all_same(&["merge 1", "status", "commit -m one"]);
    twin.all_same(&["update -q -C 1", "merge 2", "status", "commit -m other"]);
    twin.same(&["log", "-T", "{node} {files}\n"]);
    same_state_of_merge(&twin);
}

#[test]
fn files_move_with_the_innermost_renamed_directory() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for file in ["d/a", "d/b", "d/sub/c", "d/sub/e"] {
            write(path, file, file.as_bytes());
        }
        commit(hg, path, "0");
        hg.ok(path, &["mv", "-q", "d", "new"]);
        hg.ok(path, &["mv", "-q", "new/sub", "new/other"]);
        commit(hg, path, "1");
        hg.ok(path, &["up", "-q", "0"]);
        write(path, "d/sub/added", b"x\n");
        write(path, "d/added", b"x\n");
        commit(hg, path, "2");
    });
    twin.all_same(&["merge 1", "status -A"]);
    same_state_of_merge(&twin);
}

#[test]
fn a_merge_that_leaves_the_files_of_the_first_parent_has_its_manifest() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        commit(hg, path, "0");
        write(path, "b", b"b\n");
        commit(hg, path, "1");
        hg.ok(path, &["up", "-q", "0"]);
        write(path, "b", b"b\n");
        executable(path, "b");
        commit(hg, path, "2");
    });
    let log = "log -r tip -T {node}{manifest}{files}\\n";
    twin.all_same(&["merge", "commit -m keeps", log]);
    twin.all_same(&["update -q -C 1", "merge 2"]);
    twin.each(|path| executable(path, "b"));
    twin.all_same(&["commit -m takes", log]);
    same_state_of_merge(&twin);
}
