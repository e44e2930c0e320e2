//! `backout`.

use super::{after_each, history, same_merge};
use crate::hgcli::Twin;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos::{commit, write};

/// At the end of the line of three.
fn at_three() -> Twin {
    Twin::writing(|hg, path| {
        history(hg, path);
        hg.ok(path, &["update", "-q", "3"]);
    })
    .with("HGEDITOR", "true")
}

#[test]
fn the_parent_is_reverted() {
    for line in [
        "backout 3",
        "backout -r . -v",
        "backout -q .",
        "backout --no-commit 3",
        "backout --merge .",
        "backout 3 -m text -u me",
        "backout 3 -d 1 --config ui.username=x",
        "backout --commit 3",
    ] {
        after_each(&at_three(), &[line, "summary"]);
    }
}

#[test]
fn earlier_changesets_are_merged_away() {
    for line in [
        "backout 1",
        "backout 1 -v",
        "backout -q 2",
        "backout 2 --no-commit",
        "backout 2 -v -m x",
        "backout 1 --merge",
        "backout 1 --merge -v",
        "backout 2 --merge -m x",
    ] {
        after_each(&at_three(), &[line, "summary", "status -C"]);
    }
}

#[test]
fn files_outside_the_patterns_stay_changed() {
    for line in [
        "backout -r . -m x -I a",
        "backout -r . -m x -X a -v",
        "backout -r 1 -m x -I glob:**",
        "backout -r . -m x -I nosuch",
        "backout -r . --no-commit -I a",
    ] {
        after_each(&at_three(), &[line, "summary", "status -C"]);
    }
}

#[test]
fn the_description_is_edited() {
    let twin = at_three().with("HGEDITOR", "sed -i s/Backed/Took/");
    after_each(
        &twin,
        &["backout 1", "backout 2 -m plain", "backout 3 -m Backed -e"],
    );
    twin.all_same(&["log -T {desc}\\n"]);
    let twin = at_three().with("HGEDITOR", "echo >");
    after_each(&twin, &["backout 1", "revert -a --no-backup"]);
}

#[test]
fn conflicts_wait_for_the_user() {
    let twin = at_three();
    twin.each(|path| {
        write(path, "a", b"another\nb\nc\nd\nE\n");
        commit(&hg(), path, "five");
    });
    after_each(
        &twin,
        &["backout 1", "summary", "resolve -l", "backout 2", "graft 4"],
    );
    let read = |path: &Path| std::fs::read_to_string(path.join("a")).unwrap();
    assert_eq!(read(twin.theirs()), read(twin.ours()));
    assert!(read(twin.ours()).contains(">>>>>>> other\n"));
    after_each(&twin, &["resolve a -t :other", "commit -m x"]);
}

#[test]
fn the_branch_of_the_working_copy_stays() {
    let twin = at_three();
    after_each(
        &twin,
        &[
            "branch new",
            "commit -m five",
            "backout 1",
            "backout 2 --merge",
        ],
    );
}

#[test]
fn a_merge_needs_a_parent() {
    let twin = at_three();
    twin.each(|path| {
        hg().ok(path, &["merge", "-q", "-t", ":local", "4"]);
        hg().ok(path, &["commit", "-m", "merge"]);
    });
    after_each(
        &twin,
        &[
            "backout .",
            "backout . --parent 0",
            "backout 1 --parent 0",
            "backout . --parent 4",
            "log -r . --debug",
        ],
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let twin = at_three();
    twin.all_same(&[
        "backout",
        "backout 1 -r 1",
        "backout 4",
        "backout 0",
        "backout null",
        "backout nosuch",
        "backout 1 --merge --no-commit",
        "backout 1 --commit --no-commit",
        "backout 1 -d nodate",
        "backout 1 -m x -l y",
    ]);
    twin.each(|path| drop(hg().ok(path, &["update", "-q", "-C", "."])));
    after_each(&twin, &["backout 1 -t :local -m x"]);
    twin.each(|path| write(path, "c", b"changed\n"));
    twin.all_same(&["backout 1"]);
    same_merge(&twin);
}

#[test]
fn revert_records_copies_of_the_changeset_that_it_takes_files_from() {
    let twin = at_three();
    after_each(&twin, &["revert -a -r 0", "status -C"]);
    let twin = Twin::writing(history);
    after_each(&twin, &["revert -a -r 3", "status -C", "revert -a -r 4"]);
}
