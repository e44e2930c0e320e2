//! Unshelves that leave conflicts: continued and given up, also by the other program.

use super::{DATES, after_each, changed, same};
use crate::hgcli::{Twin, our_hg};
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

/// A shelved change that is in conflict with the second changeset.
fn conflict() -> Twin {
    Twin::writing(|hg, path| {
        changed(hg, path);
        write(path, "a", b"X\n1\n2\n3\n4\n5\n");
        hg.ok(path, &["shelve", "-q"]);
        hg.ok(path, &["update", "-q", "1"]);
    })
}

/// The same, with local changes.
fn with_local_changes() -> Twin {
    let twin = conflict();
    twin.each(|path| {
        write(path, "b", b"local\n");
        write(path, "local", b"local\n");
        hg().ok(path, &["add", "-q", "local"]);
        hg().ok(path, &["copy", "-q", "b", "copied"]);
    });
    twin
}

fn settle(path: &Path) {
    write(path, "a", b"settled\n");
    let _ = std::fs::remove_file(path.join("a.orig"));
}

#[test]
fn conflicts_are_settled_and_the_unshelve_goes_on() {
    for (twin, options) in [
        (conflict(), ""),
        (with_local_changes(), ""),
        (with_local_changes(), " -k"),
        (with_local_changes(), " -t :merge3"),
    ] {
        twin.all_same(&[&format!("unshelve{options}"), "resolve -l", "unshelve -c"]);
        twin.all_same(&["status -v", "summary", "commit -m x", "update 0", "shelve"]);
        twin.all_same(&["unshelve", "graft 0", "merge 0", "continue -n", "abort -n"]);
        twin.each(settle);
        after_each(
            &twin,
            &["resolve -m a", "unshelve -c", "diff --git", "abort"],
        );
    }
}

#[test]
fn an_unshelve_is_given_up() {
    for line in ["unshelve --abort", "abort"] {
        let twin = conflict();
        twin.all_same(&["unshelve"]);
        after_each(&twin, &[line, "unshelve -a", "shelve -l none"]);
    }
}

#[test]
fn tools_that_leave_no_conflict_need_no_user() {
    for tool in [":local", ":other", ":union"] {
        let twin = with_local_changes();
        after_each(&twin, &[&format!("unshelve -t {tool}"), "diff --git"]);
    }
}

#[test]
fn the_active_bookmark_comes_back() {
    let twin = with_local_changes();
    twin.all_same(&["bookmark act", "unshelve", "bookmarks"]);
    twin.each(settle);
    after_each(&twin, &["resolve -m a", "continue", "bookmarks"]);
}

#[test]
fn each_program_ends_what_the_other_began() {
    let ours = |path: &Path, arguments: &[&str]| {
        let ran = Command::new(our_hg())
            .args(arguments)
            .current_dir(path)
            .env("HGRCPATH", "")
            .output();
        ran.unwrap()
    };
    for end in ["--continue", "--abort"] {
        for is_ours_first in [true, false] {
            let twin = with_local_changes();
            // All steps of the first copy are the real program's.
            for (path, mixes) in [(twin.theirs(), false), (twin.ours(), true)] {
                match mixes && is_ours_first {
                    true => drop(ours(path, &["unshelve"])),
                    false => drop(hg().run(path, &["unshelve"])),
                }
                if end == "--continue" {
                    settle(path);
                    hg().ok(path, &["resolve", "-m", "a"]);
                }
                match mixes && !is_ours_first {
                    true => assert!(ours(path, &["unshelve", end]).status.success()),
                    false => drop(hg().ok(path, &["unshelve", end])),
                }
                // A file that giving up leaves behind or not.
                let _ = std::fs::remove_file(path.join("new"));
                let _ = std::fs::remove_file(path.join("d/moved"));
            }
            same(&twin);
        }
    }
}

#[test]
fn a_damaged_state_is_told_apart_from_one_of_another_version() {
    for state in ["foo\n", "2\nname=x\n", "3\n"] {
        let twin = Twin::writing_with(|hg, path| {
            changed(hg, path);
            write(path, ".hg/hgrc", DATES.as_bytes());
            write(path, ".hg/shelvedstate", state.as_bytes());
        });
        twin.all_same(&["unshelve -c", "unshelve -a", "unshelve -a"]);
    }
}
