//! Rebases without conflicts.

use super::{MARKERS, after_each, both_ways, history};
use crate::hgcli::Twin;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

#[test]
fn lines_of_changesets_move_with_their_bookmarks() {
    for line in [
        "rebase -s 1 -d 4",
        "rebase -b top -d 4 --keep",
        "rebase -s 2 -d 4 -v --keep",
    ] {
        for twin in both_ways() {
            after_each(&twin, &[line]);
        }
    }
}

#[test]
fn new_changesets_are_told_through_templates() {
    let many = "{nodechanges % '{oldnode}:{newnodes % '{node} '}\\n'}";
    for line in [
        "rebase -q -s 1 -d 4 -T json",
        "rebase -s 1 -d 4 -T {nodechanges|json}",
        "rebase -q -s 2 -d 4 --keep -T MANY",
        "rebase -q -s 1 -d 4 --collapse -m one -T MANY",
        "rebase -q -s 1 -d 4 -n -T json",
        "rebase -b 3 -d 3 -T json",
        "rebase -s 1 -d 4 -T json",
        "rebase --abort -T json",
    ] {
        for twin in both_ways() {
            let words: Vec<&str> = line.split(' ').collect();
            let words = words
                .iter()
                .map(|word| if *word == "MANY" { many } else { word });
            twin.same(&words.collect::<Vec<_>>());
        }
    }
}

#[test]
fn the_working_copy_follows_its_changeset() {
    for twin in both_ways() {
        after_each(
            &twin,
            &[
                "update -q 2",
                "rebase -d 4",
                "rebase -d 4",
                "rebase",
                "rebase -s . -d 0",
            ],
        );
    }
}

#[test]
fn single_changesets_leave_orphans_or_are_refused() {
    for twin in both_ways() {
        after_each(
            &twin,
            &[
                "rebase -r 1 -d 4",
                "rebase -r 2+3 -d 4",
                "rebase -r 1 -d null",
                "rebase -r 3 -d 0",
            ],
        );
    }
}

#[test]
fn phases_branches_and_extras_are_kept() {
    for options in ["", " --keepbranches"] {
        for twin in both_ways() {
            after_each(
                &twin,
                &[
                    "phase --force --secret 2",
                    "update -q 3",
                    "branch -q foo",
                    "commit -q -m branched",
                    "commit -q --close-branch -m closed",
                    "graft -q 4",
                    &format!("rebase -s 1 -d 4{options}"),
                    "branch",
                ],
            );
        }
    }
}

#[test]
fn changesets_without_changes_are_left_out() {
    for twin in both_ways() {
        after_each(
            &twin,
            &[
                "update -q 4",
                "graft -q 1",
                "rebase -s 1 -d tip",
                "graft -q 5 -t :other",
                "rebase -r 5 -d . --config rewrite.empty-successor=keep",
            ],
        );
    }
}

#[test]
fn what_is_done_already_is_not_done_again() {
    let twin = Twin::writing(|hg, path| history(hg, path, MARKERS));
    after_each(
        &twin,
        &[
            "rebase -s 3 -s 5 -d 4",
            "rebase -r 2 -d 4",
            "rebase -s 1 -d 7",
            "rebase --hidden -r 2 -d 0",
            "rebase --hidden -r 2 -d 7",
        ],
    );
}

#[test]
fn nothing_to_rebase_and_refusals() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    after_each(
        &twin,
        &[
            "rebase -b 3 -d 3",
            "rebase -b 1 -d 3",
            "rebase -b 3 -d 2",
            "rebase -s 0 -d 3",
            "rebase -r null -d 3",
            "rebase -d null",
            "rebase -d .",
            "rebase -r 3 -d 2",
            "rebase -s 5 -d 4 -v",
            "rebase -r none() -d 4",
            "rebase -s none() -d 4",
            "rebase -b none() -d 4",
            "rebase -d none()",
            "rebase",
            "rebase --config commands.rebase.requiredest=1",
            "rebase -a -c",
            "rebase --stop --abort",
            "rebase -c -s 1",
            "rebase --stop -n",
            "rebase -n --confirm",
            "rebase -r 1 -s 2",
            "rebase -c",
            "rebase -a",
            "rebase --stop",
            "rebase -m x -d 3",
            "rebase -i",
            "phase -p 2",
            "rebase -s 1 -d 5",
        ],
    );
}

#[test]
fn changed_files_are_in_the_way() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    twin.each(|path| write(path, "a", b"changed\n"));
    after_each(
        &twin,
        &[
            "rebase -s 1 -d 4",
            "rebase -s 4 -d 3 --config rebase.experimental.inmemory=1",
            "rebase -s 1 -d 4 --config rebase.experimental.inmemory=1",
        ],
    );
}

#[test]
fn the_extension_is_asked_for() {
    let twin = Twin::writing(|hg, path| {
        history(hg, path, "");
        write(path, ".hg/hgrc", b"");
    });
    let both = twin.run(&["rebase", "-d", "4"]);
    assert!(
        both.ours
            .stderr
            .starts_with("hg: unknown command 'rebase'\n")
    );
    assert_eq!(both.ours.code, both.theirs.code);
    after_each(&twin, &["--config extensions.rebase= rebase -s 1 -d 4"]);
}

#[test]
fn closed_heads_are_reopened_and_changed_files_are_in_the_way() {
    for twin in both_ways() {
        twin.each(|path| {
            hg().ok(path, &["update", "-q", "2"]);
            hg().ok(path, &["branch", "-q", "b"]);
            hg().ok(path, &["commit", "-m", "on b"]);
            hg().ok(path, &["commit", "--close-branch", "-m", "closed"]);
            hg().ok(path, &["update", "-q", "4"]);
        });
        twin.each(|path| write(path, "n", b"dirty\n"));
        after_each(
            &twin,
            &[
                "rebase -s 4 -d 2 --dry-run",
                "rebase -s 4 -d 2 --confirm",
                "rebase -r 5 -d 1 --dry-run",
                "update -q -C 4",
                "rebase -s 4 -d b",
            ],
        );
    }
}
