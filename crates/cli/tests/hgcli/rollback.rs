//! `rollback`: either program undoes the last transaction of the other.

use super::strip::{each_hg, same, twin};
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

/// Runs lines in fresh copies after `before` was done by the real program, and compares what they leave.
#[track_caller]
fn alike(before: &[&str], lines: &[&str]) {
    let twin = twin();
    twin.each(|path| write(path, "all", b"changed\n"));
    each_hg(&twin, before);
    twin.all_same(lines);
    same(&twin);
}

const COMMIT: &str = "commit -m new";

#[test]
fn commits_of_both_programs_are_undone_alike() {
    let undone: &[&str] = &["rollback -n -v", "rollback -v", "status", "id", "rollback"];
    alike(&[COMMIT], undone);
    alike(&[], &[&[COMMIT], undone].concat());
    alike(
        &["add all", COMMIT, "remove a", "commit -m removed"],
        undone,
    );
    alike(
        &[COMMIT],
        &["rollback -q", "commit -m again", "rollback", "log -q"],
    );
    alike(
        &["branch foo", COMMIT, "branch bar"],
        &["rollback", "branch"],
    );
    alike(&["branch foo", COMMIT], &["rollback", "branch", "status"]);
    alike(&["bookmark x", COMMIT], &["rollback", "bookmarks"]);
    alike(&[COMMIT, "tag foo"], &["rollback", "status", "tags"]);
}

#[test]
fn the_real_program_undoes_what_ours_did() {
    for line in [COMMIT, "bookmark x", "phase -p 1", "strip 3"] {
        let twin = twin();
        twin.each(|path| write(path, "all", b"changed\n"));
        twin.all_same(&[line]);
        twin.each(|path| drop(hg().run(path, &["rollback"])));
        same(&twin);
    }
}

#[test]
fn what_is_not_checked_out_is_undone_by_force() {
    alike(
        &[COMMIT, "update -q 1"],
        &[
            "rollback",
            "rollback -n",
            "rollback -n -f",
            "rollback -f",
            "id",
            "status",
        ],
    );
    let to_head = [
        "update -qC 0",
        "commit -m other --config ui.allowemptycommit=1",
        "update -q 5",
    ];
    alike(
        &to_head,
        &["rollback -v", "rollback -f -v", "branch", "status"],
    );
}

#[test]
fn other_transactions_are_undone_alike() {
    alike(&["bookmark x"], &["rollback", "bookmarks", "rollback"]);
    alike(&["bookmark x", "bookmark -d x"], &["rollback", "bookmarks"]);
    alike(&["phase -p 1"], &["rollback -v", "phase -r all()"]);
    alike(&[COMMIT, "phase -sf 6"], &["rollback", "phase -r all()"]);
    let markers = "commit --amend -m amended --config experimental.evolution=all";
    alike(&[markers], &["rollback", "log -q --hidden", "status"]);
    alike(&["strip 5 -f"], &["rollback", "id"]);
    let merge = ["update -qC 4", "merge -q 5 -t :local", "commit -m merged"];
    alike(
        &merge,
        &[
            "rollback -v",
            "id",
            "status",
            "resolve -l",
            "commit -m again",
        ],
    );
}

/// A transaction that did not keep the dirstate leaves the working copy at nothing.
#[test]
fn bundles_and_pulls_are_undone_alike() {
    for puts_in in ["pull -q ../source", "unbundle -q ../source.hg"] {
        let twin = twin();
        twin.each(|path| {
            let (hg, parent) = (hg(), path.parent().unwrap());
            hg.ok(path, &["bundle", "-q", "--all", "../source.hg"]);
            std::fs::rename(path, parent.join("source")).unwrap();
            hg.ok(
                parent,
                &["clone", "-q", "-r", "1", "source", path.to_str().unwrap()],
            );
        });
        each_hg(&twin, &[puts_in]);
        twin.all_same(&["rollback -n -v", "rollback -v", "log -q", "rollback"]);
        same(&twin);
        each_hg(&twin, &[puts_in, "update -q tip", "branch -q bar"]);
        twin.each(|path| write(path, "fresh", b"fresh\n"));
        each_hg(&twin, &["add fresh"]);
        twin.all_same(&["rollback -v", "branch", "status", "id"]);
        same(&twin);
    }
}

#[test]
fn refusals_are_the_same() {
    let twin = twin();
    each_hg(&twin, &["tag -l local"]);
    twin.all_same(&[
        "rollback --config ui.rollback=no",
        "rollback --config ui.rollback=maybe",
        "rollback -R /",
    ]);
    twin.each(|path| std::fs::remove_file(path.join(".hg/undo.desc")).unwrap());
    twin.all_same(&["rollback -n", "rollback -v", "id", "rollback"]);
    same(&twin);
    twin.each(|path| write(path, ".hg/store/undo", b"no line of a journal\n"));
    let ours = twin.run(&["rollback"]).ours;
    assert_eq!(ours.code, Some(255));
    assert!(
        ours.stderr.contains("undo is damaged in line 1"),
        "{}",
        ours.stderr
    );
}
