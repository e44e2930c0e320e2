//! Rebases that leave conflicts: continued, stopped and given up, also by the other program.

use super::{MARKERS, after_each, both_ways, history, same_rewrite};
use crate::hgcli::Twin;
use crate::hgcli::state::same_state;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

const LINE: [&str; 5] = ["rebase", "-s", "1", "-d", "5"];

fn settle(path: &Path) {
    write(path, "a", b"settled\n");
    let _ = std::fs::remove_file(path.join("a.orig"));
}

#[test]
fn conflicts_are_settled_and_the_rebase_goes_on() {
    for options in [&[][..], &["--keep"], &["-t", ":merge3"], &["-v", "--keep"]] {
        for twin in both_ways() {
            twin.same(&[&LINE[..], options].concat());
            same_rewrite(&twin);
            after_each(&twin, &["summary", "rebase -c", "resolve -l"]);
            twin.each(settle);
            let graph = "log -G -T {rev}\\n";
            after_each(
                &twin,
                &[
                    graph,
                    "resolve -m a",
                    graph,
                    "summary",
                    "rebase -c",
                    "summary",
                ],
            );
        }
    }
}

#[test]
fn a_rebase_is_given_up_or_stopped() {
    for option in ["--abort", "--stop"] {
        for twin in both_ways() {
            twin.same(&LINE);
            after_each(
                &twin,
                &[&format!("rebase {option}"), "rebase --abort", "rebase -c"],
            );
        }
    }
}

#[test]
fn a_rebase_of_the_working_copy_is_given_up() {
    let twin = Twin::writing(|hg, path| history(hg, path, MARKERS));
    after_each(
        &twin,
        &[
            "update -q 3",
            "rebase -d 5",
            "rebase -a -t :local",
            "rebase -d 5",
            "rebase --stop",
        ],
    );
}

#[test]
fn each_program_ends_what_the_other_began() {
    for (option, settings) in [("-c", MARKERS), ("-c", ""), ("-a", ""), ("--stop", MARKERS)] {
        let twin = Twin::writing_with(|hg, path| history(hg, path, settings));
        assert_eq!(hg().run(twin.ours(), &LINE).code, Some(1));
        let other = Twin::writing_with(|hg, path| history(hg, path, settings));
        assert_eq!(other.run(&LINE).ours.code, Some(240));
        for path in [twin.ours(), other.ours()] {
            settle(path);
            hg().ok(path, &["resolve", "-m", "a"]);
        }
        assert_eq!(twin.run(&["rebase", option]).ours.code, Some(0));
        hg().ok(other.ours(), &["rebase", option]);
        let read = |path: &Path| {
            let seen =
                ["log", "bookmarks", "status", "identify"].map(|look| hg().ok(path, &[look]));
            (seen, path.join(".hg/rebasestate").exists())
        };
        assert_eq!(read(twin.ours()), read(other.ours()), "{option} {settings}");
    }
}

#[test]
fn other_commands_know_of_it() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    twin.same(&LINE);
    twin.all_same(&[
        "commit -m x",
        "commit --amend -m x",
        "update 0",
        "update -C .",
        "graft 1",
        "backout 1",
        "merge 1",
        "rebase -s 1 -d 5",
        "summary",
        "status",
    ]);
    same_rewrite(&twin);
    let twin = twin.with("HGPLAIN", "");
    twin.all_same(&["status -v"]);
    twin.each(settle);
    twin.all_same(&["resolve -m a", "status -v"]);
    same_state(&twin);
}

#[test]
fn copies_that_cannot_go_stay() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    twin.same(&LINE);
    twin.each(|path| drop(hg().ok(path, &["phase", "--public", "6"])));
    after_each(&twin, &["rebase --abort"]);
}

#[test]
fn what_was_settled_to_nothing_is_left_out() {
    for twin in both_ways() {
        twin.same(&LINE);
        twin.each(|path| {
            hg().ok(path, &["revert", "-q", "a", "c"]);
            hg().ok(path, &["resolve", "-q", "-m", "a"]);
        });
        after_each(&twin, &["rebase -c"]);
    }
}
