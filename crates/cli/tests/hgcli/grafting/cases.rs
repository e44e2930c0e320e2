//! Grafts that need no help.

use super::{after_each, history, same_merge};
use crate::hgcli::Twin;
use crate::hgcli::state::same_state;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos::{commit, write};

#[test]
fn changesets_are_grafted_with_their_metadata_or_that_of_the_options() {
    for options in [
        &[][..],
        &["-v"],
        &["-q"],
        &["--log"],
        &["-D"],
        &["-U"],
        &["-u", "Grace Hopper <g@example.org>"],
        &["-d", "7 -3600"],
        &["-n"],
        &["--no-commit"],
        &["--config", "phases.new-commit=secret"],
        &["--config", "ui.username=x", "--debug", "-n"],
    ] {
        if options.contains(&"--debug") {
            continue;
        }
        // The clock of -D differs between the runs.
        let twin = Twin::writing(history);
        twin.same(&[&["graft", "1"], options].concat());
        if options != ["-D"] {
            same_merge(&twin);
        }
    }
}

#[test]
fn renames_are_traced_and_recorded() {
    let twin = Twin::writing(history);
    after_each(
        &twin,
        &["graft -v 2", "status -C --change .", "graft -v -t :other 3"],
    );
    // Without the rename, its source takes the changes.
    let twin = Twin::writing(history);
    after_each(&twin, &["graft 3 -t :local", "diff --git -c ."]);
    // And with the rename on this side.
    let twin = Twin::writing(history);
    twin.each(|path| {
        write(path, "b", b"x\nz\n");
        commit(&hg(), path, "five");
        hg().ok(path, &["update", "-q", "3"]);
    });
    after_each(&twin, &["graft -v 5 -t :other", "graft 4"]);
    twin.all_same(&["diff --git -c ."]);
}

#[test]
fn renamed_directories_take_new_files_along() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for file in ["d/1", "d/2", "d/3"] {
            write(path, file, format!("{file}\n").as_bytes());
        }
        commit(hg, path, "zero");
        hg.ok(path, &["rename", "-q", "d", "e"]);
        commit(hg, path, "one");
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "d/1", b"changed\n");
        write(path, "d/new", b"new\n");
        commit(hg, path, "two");
        hg.ok(path, &["update", "-q", "1"]);
    });
    after_each(&twin, &["graft -v 2", "update -q 2", "graft -v 1"]);
}

#[test]
fn what_is_there_already_is_skipped() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        let child = |file: &str| {
            hg.ok(path, &["update", "-q", "0"]);
            write(path, file, b"x\n");
            commit(hg, path, file);
        };
        write(path, "zero", b"x\n");
        commit(hg, path, "zero");
        ["one", "two", "three"].iter().for_each(|file| child(file));
        hg.ok(path, &["update", "-q", "2"]);
        hg.ok(path, &["merge", "-q", "3"]);
        commit(hg, path, "merge");
        hg.ok(path, &["update", "-q", "2"]);
    });
    after_each(
        &twin,
        &[
            "graft 1",
            "graft 1",
            "graft 0",
            "graft 0 1",
            "graft 4",
            "graft 4 3 0",
            "graft -f 1",
            "update -q 3",
            "graft 5",
            "graft 5",
            "graft 1",
            "graft -n 1 5 2",
            "graft -f 5",
            "update -q 1",
            "graft 5",
            "graft 7 5 2",
            "graft 4 --base 2",
            "graft 4 --base 3 -n",
            "graft 4 --base 3",
        ],
    );
    twin.each(|path| drop(hg().ok(path, &["--config", "extensions.strip=", "strip", "-q", "1"])));
    after_each(
        &twin,
        &["update -q 2", "graft 3:: -n", "log -G -T {rev}{desc}"],
    );
}

#[test]
fn a_graft_that_changes_nothing_is_not_committed() {
    let twin = Twin::writing(history);
    after_each(
        &twin,
        &[
            "graft 1 --base 2",
            "graft -q 1 --base 2",
            "graft 3 -t :local --base 1",
            "graft 1 --base 2 --config ui.allowemptycommit=1",
        ],
    );
}

#[test]
fn several_changesets_become_one_over_a_chosen_base() {
    let twin = Twin::writing(history);
    after_each(
        &twin,
        &[
            "graft -r 3 --base 0 -t :other",
            "graft 1::3 --base 0",
            "graft 2 --base nosuch",
            "graft 2 --base null -t :local",
        ],
    );
}

#[test]
fn names_branches_and_phases_are_as_with_mercurial() {
    let twin = Twin::writing(|hg, path| {
        history(hg, path);
        hg.ok(path, &["branch", "-q", "other"]);
        commit(hg, path, "five");
        hg.ok(path, &["commit", "--close-branch", "-m", "closed"]);
        hg.ok(path, &["phase", "-f", "-s", "."]);
        hg.ok(path, &["bookmark", "-r", "1", "mark"]);
        hg.ok(path, &["tag", "-l", "-r", "1", "local"]);
        hg.ok(path, &["update", "-q", "4"]);
    });
    after_each(
        &twin,
        &[
            "graft 5",
            "graft tip",
            "graft tip --config ui.allowemptycommit=1",
            "bookmark active",
            "graft mark",
            "graft 2",
            "branch new",
            "graft -f 0 -t :local",
        ],
    );
}

#[test]
fn an_empty_working_copy_takes_a_changeset_as_it_is() {
    let twin = Twin::writing(history);
    after_each(&twin, &["update -q null", "graft 1"]);
}

#[test]
fn what_follows_from_the_working_copy_is_taken_as_it_is() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "goes", b"a\n");
        write(path, "stays", b"a\n");
        commit(hg, path, "zero");
        write(path, "goes", b"b\n");
        write(path, "comes", b"a\n");
        commit(hg, path, "one");
        hg.ok(path, &["remove", "goes"]);
        write(path, "comes", b"b\n");
        commit(hg, path, "two");
        hg.ok(path, &["update", "-q", "0"]);
    });
    // The changed file is not there yet, and the removed one is as it was before: neither is a question.
    after_each(&twin, &["graft 2", "status --change ."]);
    let rebased = ["--config", "extensions.rebase="];
    twin.same(&[&["rebase", "-r", "2", "-d", "0", "--keep"][..], &rebased].concat());
    same_merge(&twin);
}

#[test]
fn untracked_files_in_the_way_are_merged() {
    let twin = Twin::writing(history);
    twin.each(|path| write(path, "c", b"x\n"));
    after_each(&twin, &["graft 2"]);
    let twin = Twin::writing(history);
    twin.each(|path| write(path, "c", b"other\n"));
    twin.all_same(&["graft 2", "status", "resolve --list"]);
}

#[test]
fn what_cannot_be_is_refused() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "graft",
        "graft nosuch",
        "graft none()",
        "graft -c",
        "graft --stop",
        "graft --abort",
        "graft -c 1",
        "graft -c -r 1",
        "graft --abort --stop",
        "graft --abort -c",
        "graft --stop -c",
        "graft --stop -U",
        "graft --abort -D",
        "graft --abort --log",
        "graft --stop -e",
        "graft --abort --base 1",
        "graft --stop -d 0",
        "graft --abort -u x",
        "graft -U -u x 1",
        "graft -D -d 0 1",
        "graft --no-commit -e 1",
        "graft --no-commit --log 1",
        "graft --no-commit -u x 1",
        "graft --no-commit -D 1",
        "graft --no-commit -U 1",
        "graft -r 1 2 -n",
    ]);
    twin.each(|path| write(path, "a", b"changed\n"));
    twin.all_same(&["graft 1", "graft nosuch"]);
    same_state(&twin);
    let twin = Twin::writing(history);
    twin.each(|path| drop(hg().run(path, &["merge", "-q", "-t", ":local", "1"])));
    twin.all_same(&["graft 2", "status -v", "summary"]);
}

#[test]
fn descriptions_are_edited() {
    let twin = Twin::writing(history).with("HGEDITOR", "echo edited >");
    after_each(&twin, &["graft -e 1", "graft -e --log 2"]);
    let twin = Twin::writing(history).with("HGEDITOR", "echo >");
    twin.all_same(&["graft -e 1", "status"]);
}

#[test]
fn hooks_run_around_each_step() {
    let twin = Twin::writing(history);
    for hook in ["preupdate", "update", "precommit", "commit", "pretxncommit"] {
        twin.each(|path| {
            let rc = path.join(".hg/hgrc");
            let mut text = std::fs::read_to_string(&rc).unwrap_or_default();
            text.push_str(&format!(
                "[hooks]\n{hook} = echo {hook} $HG_NODE $HG_PARENT1 $HG_PARENT2 $HG_ERROR\n"
            ));
            std::fs::write(&rc, text).unwrap();
        });
    }
    after_each(&twin, &["graft 1 2"]);
}

/// Mercurial takes "/NAME" for the new path, and falls over it.
#[test]
fn a_directory_that_was_renamed_to_the_root_takes_new_files_along() {
    const NAME: &str = "new-beside-the-renamed";
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "d/a", b"a\n");
        commit(hg, path, "zero");
        hg.ok(path, &["rename", "d/a", "a"]);
        commit(hg, path, "renamed");
        hg.ok(path, &["update", "-q", "0"]);
        write(path, &format!("d/{NAME}"), b"new\n");
        commit(hg, path, "added");
    });
    let both = twin.run(&["graft", "-r", "1"]);
    assert!(both.theirs.stderr.contains("illegal component: /"));
    assert_eq!(both.ours.code, Some(0), "{}", both.ours.stderr);
    let files = hg().ok(twin.ours(), &["manifest"]);
    assert_eq!(files, format!("a\n{NAME}\n"));
    assert!(!Path::new("/").join(NAME).exists());
}
