//! `experimental.copytrace` and its limits.

use super::super::Twin;
use super::super::state::same_state;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// 1 renames files that 2 changes; both have one parent, and 2 is checked out.
fn renamed(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["a", "dir/f", "dir/g", "kept", "gone"] {
        write(path, name, format!("{name}\n").repeat(9).as_bytes());
    }
    commit(hg, path, "0");
    hg.ok(path, &["mv", "-q", "a", "b"]);
    hg.ok(path, &["mv", "-q", "dir/f", "other/f"]);
    hg.ok(path, &["mv", "-q", "dir/g", "far/away"]);
    hg.ok(path, &["cp", "kept", "copy"]);
    hg.ok(path, &["mv", "gone", "here"]);
    write(path, "n1", b"unrelated\n");
    commit(hg, path, "1");
    hg.ok(path, &["update", "-q", "0"]);
    for name in ["a", "dir/f", "dir/g", "kept"] {
        let content = format!("first\n{}", format!("{name}\n").repeat(9));
        write(path, name, content.as_bytes());
    }
    write(path, "dir/new", b"new\n");
    hg.ok(path, &["rm", "gone"]);
    commit(hg, path, "2");
}

const MODES: [&[&str]; 9] = [
    &[],
    &["copytrace=off"],
    &["copytrace=no"],
    &["copytrace=wrong"],
    // All are drafts and few.
    &["copytrace=heuristics"],
    &["copytrace=heuristics", "copytrace.sourcecommitlimit=-1"],
    &["copytrace=heuristics", "copytrace.sourcecommitlimit=2"],
    &["copytrace=heuristics", "copytrace.sourcecommitlimit=3"],
    &[
        "copytrace=heuristics",
        "copytrace.sourcecommitlimit=-1",
        "copytrace.movecandidateslimit=2",
    ],
];

/// Calls both programs with a mode, and compares what is left; a merge that goes on is given up.
fn same_with(twin: &Twin, command: &str, mode: &[&str]) {
    let settings: Vec<String> = mode
        .iter()
        .map(|setting| format!("--config=experimental.{setting}"))
        .collect();
    let words = command.split_whitespace();
    let words: Vec<&str> = words.chain(settings.iter().map(String::as_str)).collect();
    twin.same(&words);
    same_state(twin);
    twin.same(&["update", "-qC", "2"]);
    twin.same(&["purge", "-q", "--config=extensions.purge="]);
}

#[test]
fn merges_follow_renames_as_the_mode_says() {
    let twin = Twin::writing(renamed);
    for mode in MODES {
        same_with(&twin, "merge 1 -t :merge", mode);
    }
    twin.same(&["update", "-q", "1"]);
    for mode in &MODES[4..] {
        twin.same(&["update", "-qC", "1"]);
        same_with(&twin, "merge 2 -t :merge", mode);
    }
}

#[test]
fn public_bases_are_too_old_to_trace_all() {
    let twin = Twin::writing(renamed);
    twin.same(&["phase", "--public", "0"]);
    same_with(&twin, "merge 1 -t :merge --debug", MODES[4]);
    same_with(&twin, "graft 1 -t :merge", MODES[4]);
}

#[test]
fn rebases_follow_renames_as_the_mode_says() {
    for mode in [MODES[1], MODES[5], MODES[8]] {
        let twin = Twin::writing(renamed);
        let extension = "--config=extensions.rebase=";
        same_with(
            &twin,
            &format!("rebase -s 2 -d 1 -t :other {extension}"),
            mode,
        );
    }
}

#[test]
fn updates_take_names_as_they_are_without_tracing() {
    for mode in [MODES[0], MODES[1]] {
        let twin = Twin::writing(renamed);
        twin.same(&["update", "-q", "0"]);
        twin.each(|path| write(path, "a", b"changed\n"));
        same_with(&twin, "update 1 -t :merge", mode);
    }
}
