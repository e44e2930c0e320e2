//! `merge -f`: another changeset into a working directory with changes.

use super::super::Twin;
use super::super::state::same_state;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// Two heads that both changed `a`; changes of all kinds that are not committed over the second.
fn begin(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", b"[ui]\nmerge = :merge\n");
    write(path, "a", b"1\n2\n3\n4\n");
    write(path, "gone", b"gone\n");
    write(path, "kept", b"kept\n");
    commit(hg, path, "zero");
    write(path, "a", b"1\n2\n3\nother\n");
    write(path, "there", b"there\n");
    hg.ok(path, &["remove", "-q", "gone"]);
    commit(hg, path, "one");
    hg.ok(path, &["update", "-q", "0"]);
    write(path, "a", b"one\n2\n3\n4\n");
    commit(hg, path, "two");
    write(path, "a", b"one\ndirty\n3\n4\n");
    write(path, "kept", b"dirty\n");
    write(path, "new", b"new\n");
    hg.ok(path, &["add", "-q", "new"]);
}

#[test]
fn changes_are_merged_only_by_force() {
    let twin = Twin::writing(begin);
    twin.all_same(&["merge 1", "merge --force --preview 1", "merge -f 0"]);
    twin.all_same(&["merge -f 1", "status -A", "diff -g", "resolve -l"]);
    same_state(&twin);
    twin.all_same(&["merge -f 1", "commit -m merged", "log -v", "manifest"]);
    same_state(&twin);
}

#[test]
fn conflicts_with_changes_and_with_untracked_files_are_marked() {
    let twin = Twin::writing(begin);
    twin.each(|path| write(path, "a", b"in conflict\n"));
    twin.each(|path| write(path, "there", b"untracked\n"));
    twin.all_same(&[
        "merge 1",
        "merge -f 1",
        "status",
        "resolve -l",
        "merge -f 1",
    ]);
    same_state(&twin);
    twin.each(|path| write(path, "a", b"resolved\n"));
    twin.all_same(&["resolve -m -a", "commit -m merged", "log -v -p -r tip"]);
    same_state(&twin);
}

#[test]
fn a_forced_merge_can_be_given_up() {
    let twin = Twin::writing(begin);
    twin.each(|path| write(path, "a", b"in conflict\n"));
    twin.all_same(&["merge -f 1", "merge --abort", "status", "log -r . -q"]);
    same_state(&twin);
}

/// A file that was removed here and changed there is asked about, whatever lies in its place.
#[test]
fn untracked_files_give_way_to_deleted_ones() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "f", b"base\n");
        commit(hg, path, "base");
        hg.ok(path, &["remove", "f"]);
        commit(hg, path, "removed");
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "f", b"theirs\n");
        commit(hg, path, "changed");
        hg.ok(path, &["update", "-q", "1"]);
        write(path, "f", b"untracked\n");
    });
    twin.all_same(&[
        "merge 2",
        "merge -f --tool :dump 2",
        "status -A",
        "resolve -l",
    ]);
    let left = |root: &Path| std::fs::read(root.join("f")).unwrap();
    assert_eq!(left(twin.ours()), left(twin.theirs()));
}
