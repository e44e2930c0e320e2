//! `branch`, `bookmarks` and `phase`, as far as they change something.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// Three changesets in a row, and one beside the last.
fn history(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for number in ["0", "1", "2"] {
        write(path, "a", number.as_bytes());
        commit(hg, path, number);
    }
    hg.ok(path, &["update", "1"]);
    write(path, "a", b"3");
    commit(hg, path, "3");
}

#[test]
fn branches_are_named_as_hg_allows() {
    let twin = Twin::writing(history);
    twin.same_but_output(&["branch", "a", "b"]);
    twin.all_same(&[
        "branch",
        "branch side",
        "branch side",
        "branch",
        "branch -C",
        "branch default",
        "branch tip",
        "branch null",
        "branch a:b",
        "branch 12",
        "branch 123456789012345678901",
        "branch +7",
        "branch 1_000",
        "branch -C",
        "branch -q side",
        "ci -m side",
        "branch default",
        "branch -f default",
        "branch -C",
        "branch other",
        "up 0",
        "branch side",
        "branch -f side",
        "branch",
    ]);
    same_state(&twin);
}

#[test]
fn bookmarks_are_set_moved_and_removed_as_hg_does() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "bookmarks",
        "bookmark m1",
        "bookmarks",
        "bookmark m1",
        "bookmark -r 0 m2 m3",
        "bookmark -r 1 m2",
        "bookmark -r 2 m2",
        "bookmark -r 3 m2",
        "bookmark -f -r 3 m2",
        "bookmark -r 0 m2",
        "bookmarks",
        "bookmark -d m9",
        "bookmark -d m3 m2",
        "bookmark -m m1 m5",
        "bookmark -m none mm",
        "bookmark -m m5",
        "bookmark -m m5 a b",
    ]);
    same_state(&twin);
    twin.all_same(&[
        "bookmark -i m5",
        "bookmarks",
        "bookmark -i",
        "bookmark -i m6",
        "bookmark m5 m6",
        "bookmark m7",
        "bookmark a:b",
        "bookmark tip",
        "bookmark default",
        "bookmark 0",
        "bookmark -d",
        "bookmark -r 0",
        "bookmark -i -d",
        "bookmark -d -m x y",
        "bookmark -d m7 -r 0",
        "bookmark -m m5 m6",
        "bookmark -f -m m5 m6",
        "bookmarks -q",
        "bookmarks -l m6",
        "bookmarks -l none",
        "bookmarks -T json",
        "up 0",
        "up m7",
        "bookmark -d m7",
        "bookmarks",
    ]);
    same_state(&twin);
    twin.all_same(&["bookmark here"]);
    twin.each(|path| write(path, "a", b"moved along"));
    twin.all_same(&["ci -m next", "bookmarks"]);
    same_state(&twin);
}

#[test]
fn tags_are_committed_as_hg_does() {
    let twin = Twin::writing(history);
    for line in [
        "tag v1",
        "tag v1",
        "tag -f -r 0 v1",
        "tag --remove v1",
        "tag v1",
        "tag -l here",
        "tag -l here",
        "tag -l -f -r 0 here",
        "tag --remove v9",
        "tag --remove here",
        "tag -l --remove here",
        "tag -m message -u someone -d 5 w1 w2",
        "tag tip",
        "tag a:b",
        "tag 5",
        "tag -r 0 --remove x",
        "tag default",
        "tag x x",
        "tags",
        "up 0",
        "tag w1",
        "tag h1",
        "tag -f h1",
        "tag -r null x",
    ] {
        twin.all_same(&[line]);
    }
    same_state(&twin);
    for name in [".hgtags", ".hg/localtags"] {
        let read = |root: &Path| std::fs::read(root.join(name)).unwrap();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{name}");
    }
    twin.each(|path| write(path, ".hgtags", b"changed\n"));
    twin.all_same(&["tag h2"]);
}

#[test]
fn phases_move_down_freely_and_up_by_force() {
    let twin = Twin::writing(history);
    for line in [
        "phase",
        "phase 0 1 -r 3",
        "phase -p 0",
        "phase -p 0",
        "phase -d 0",
        "phase -s 1 2",
        "phase -v -s -f 1",
        "phase -p 2",
        "phase -v -s -f 3",
        "phase -d -s 1",
        "phase -d -v",
        "phase -p nothing",
        "phase -d -f 0",
        "phase 0 1 2 3",
    ] {
        twin.all_same(&[line]);
        same_state(&twin);
    }
}

#[test]
fn bookmarks_of_an_empty_repository_stay() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
    });
    let list = "bookmarks";
    twin.all_same(&[
        "bookmark x",
        list,
        "bookmark y",
        list,
        "log -T {bookmarks} -r null",
    ]);
    twin.each(|path| varve_testkit::repos::write(path, "a", b"a\n"));
    twin.all_same(&[
        "commit -A -m one",
        list,
        "log -T {rev}{bookmarks}\\n",
        "bookmark -d x",
        "bookmark z -r null",
        list,
    ]);
}

#[test]
fn a_closed_branch_is_closed_again_only_with_changes() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        varve_testkit::repos::write(path, "a", b"a\n");
        hg.ok(path, &["commit", "-A", "-m", "one"]);
        hg.ok(path, &["commit", "--close-branch", "-m", "closed"]);
    });
    twin.all_same(&["commit --close-branch -m again"]);
    twin.each(|path| varve_testkit::repos::write(path, "a", b"a\nb\n"));
    twin.all_same(&[
        "commit --close-branch -m again",
        "log -T {rev}{desc}|{extras}|{extras.close}|{extras|json}\\n",
        "heads -c",
    ]);
}
