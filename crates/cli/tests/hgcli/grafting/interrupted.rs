//! Grafts that leave conflicts: continued, stopped and given up, also by the other program.

use super::{after_each, history, same_merge};
use crate::hgcli::Twin;
use crate::hgcli::state::same_state;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos::{commit, write};

fn settle(path: &Path) {
    write(path, "a", b"settled\n");
    std::fs::remove_file(path.join("a.orig")).unwrap();
}

/// A twin whose third graft has left a conflict.
fn interrupted(options: &[&str]) -> Twin {
    let twin = Twin::writing(history);
    twin.same(&[&["graft", "1", "2", "3"], options].concat());
    same_merge(&twin);
    twin
}

#[test]
fn conflicts_are_settled_and_the_graft_goes_on() {
    for options in [
        &[][..],
        &["--log"],
        &["-u", "Grace Hopper <g@example.org>", "-d", "7 0"],
    ] {
        let twin = interrupted(options);
        twin.all_same(&["summary", "graft -c", "resolve -l"]);
        twin.each(settle);
        after_each(
            &twin,
            &["resolve -m a", "graft -c -v", "graft -c", "summary"],
        );
    }
}

#[test]
fn each_program_continues_what_the_other_began() {
    let twin = Twin::writing(history);
    let options = ["graft", "1", "3", "2", "--log", "-d", "7 0"];
    assert_eq!(hg().run(twin.ours(), &options).code, Some(1));
    let theirs = Twin::writing(history);
    assert_eq!(theirs.run(&options).ours.code, Some(1));
    for path in [twin.ours(), theirs.ours()] {
        settle(path);
        hg().ok(path, &["resolve", "-m", "a"]);
    }
    // The program under test ends the stock graft, and the stock program ends ours.
    assert_eq!(twin.run(&["graft", "-c"]).ours.code, Some(0));
    hg().ok(theirs.ours(), &["graft", "-c"]);
    let log = |path: &Path| hg().ok(path, &["log", "--debug"]);
    assert_eq!(log(twin.ours()), log(theirs.ours()));
    assert!(log(twin.ours()).contains("(grafted from"));
}

#[test]
fn each_program_gives_up_what_the_other_began() {
    for option in ["--abort", "--stop"] {
        let twin = Twin::writing(history);
        assert_eq!(
            hg().run(twin.ours(), &["graft", "1", "2", "3"]).code,
            Some(1)
        );
        let other = Twin::writing(history);
        assert_eq!(other.run(&["graft", "1", "2", "3"]).ours.code, Some(1));
        assert_eq!(twin.run(&["graft", option]).ours.code, Some(0));
        hg().ok(other.ours(), &["graft", option]);
        let read = |path: &Path| {
            let status = hg().ok(path, &["status"]);
            (hg().ok(path, &["log", "--debug"]), status)
        };
        assert_eq!(read(twin.ours()), read(other.ours()));
    }
}

#[test]
fn other_commands_know_of_it() {
    let twin = interrupted(&[]);
    twin.all_same(&[
        "commit -m x",
        "commit --amend -m x",
        "graft 1",
        "backout .",
        "merge 1",
        "status",
        "summary",
        "identify",
    ]);
    twin.each(settle);
    twin.all_same(&[
        "resolve -m a",
        "commit -m x",
        "graft 1",
        "backout .",
        "merge 1",
    ]);
    same_merge(&twin);
    after_each(
        &twin,
        &[
            "update 0",
            "graft -c",
            "update -C 4",
            "graft --abort",
            "summary",
        ],
    );
}

#[test]
fn status_tells_of_it() {
    let twin = interrupted(&[]).with("HGPLAIN", "");
    twin.all_same(&["status -v", "status -v -q"]);
    twin.each(settle);
    twin.all_same(&["resolve -m a", "status -v", "graft --stop", "status -v"]);
}

#[test]
fn a_graft_is_stopped() {
    let twin = interrupted(&["--log"]);
    after_each(
        &twin,
        &["graft --stop", "graft --stop", "graft 3 -t :other"],
    );
}

#[test]
fn a_graft_is_given_up_with_what_it_has_made() {
    let twin = interrupted(&[]);
    after_each(&twin, &["graft --abort", "graft --abort", "graft -c"]);
    let twin = interrupted(&[]);
    twin.each(|path| drop(hg().ok(path, &["phase", "--public", "5"])));
    after_each(&twin, &["graft --abort"]);
}

#[test]
fn changesets_on_top_are_not_given_up() {
    let twin = interrupted(&[]);
    twin.each(|path| {
        let state = path.join(".hg/graftstate");
        let saved = std::fs::read(&state).unwrap();
        hg().ok(path, &["update", "-q", "-C", "tip"]);
        write(path, "new", b"new\n");
        commit(&hg(), path, "on top");
        std::fs::write(state, saved).unwrap();
    });
    after_each(&twin, &["graft --abort"]);
}

#[test]
fn nothing_is_committed_where_that_was_asked_for() {
    let twin = Twin::writing(history);
    after_each(&twin, &["graft --no-commit 3"]);
    twin.each(settle);
    after_each(&twin, &["resolve -m a", "graft -c", "commit -m x"]);
}

#[test]
fn a_damaged_state_is_refused() {
    let twin = interrupted(&[]);
    for bytes in [&b"1\n\xa1"[..], b"nonsense\n"] {
        std::fs::write(twin.ours().join(".hg/graftstate"), bytes).unwrap();
        let ours = twin.run(&["graft", "-c"]).ours;
        assert_eq!(ours.code, Some(255));
        assert!(
            ours.stderr.contains(".hg/graftstate is damaged"),
            "{}",
            ours.stderr
        );
    }
}

#[test]
fn conflicts_have_the_names_of_a_graft() {
    let twin = Twin::writing(history);
    twin.same(&["graft", "3", "-t", ":merge3"]);
    let read = |path: &Path| std::fs::read_to_string(path.join("a")).unwrap();
    assert_eq!(read(twin.theirs()), read(twin.ours()));
    assert!(read(twin.ours()).contains("||||||| parent of graft\n"));
    same_state(&twin);
}
