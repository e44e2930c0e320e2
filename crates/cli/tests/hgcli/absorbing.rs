//! The command of the extension `absorb`: the same words, and the same changesets.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const SETTINGS: &str =
    "[ui]\ninteractive = yes\n[devel]\ndefault-date = 9 0\n[extensions]\nabsorb =\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// A public changeset below three drafts, which add to two files each in its own place.
fn begin(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    let hgrc = [SETTINGS, settings].concat();
    write(path, ".hg/hgrc", hgrc.as_bytes());
    write(path, "a", b"1\n2\n3\n");
    write(path, "b", b"b\n");
    commit(hg, path, "zero");
    hg.ok(path, &["phase", "--public", "."]);
    write(path, "a", b"1\n2\n3\none\n");
    commit(hg, path, "one\n\nin detail");
    write(path, "a", b"1\n2\n3\none\ntwo\n");
    write(path, "b", b"b\ntwo\n");
    commit(hg, path, "two");
    write(path, "c", b"three\n");
    hg.ok(path, &["add", "c"]);
    commit(hg, path, "three");
    hg.ok(path, &["bookmark", "-r", "1", "first"]);
    hg.ok(path, &["bookmark", "top"]);
}

/// Runs one line in both programs, with and without markers, over the changed files; answers are typed.
#[track_caller]
fn absorbing(line: &str, changes: &[(&str, &str)], answers: &str) {
    for settings in [MARKERS, ""] {
        let twin = Twin::writing(|hg, path| {
            begin(hg, path, settings);
            for (name, text) in changes {
                write(path, name, text.as_bytes());
            }
        });
        println!("{line}: {changes:?}");
        let words: Vec<&str> = line.split(' ').collect();
        twin.same_answering(&words, answers);
        same_state(&twin);
        let read = |path: &Path| {
            let backups = std::fs::read_dir(path.join(".hg/strip-backup"));
            let backups = backups.into_iter().flatten().flatten();
            let mut backups: Vec<_> = backups.map(|entry| entry.file_name()).collect();
            backups.sort();
            (hg().run(path, &["debugobsolete"]).stdout, backups)
        };
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{line}");
    }
}

#[test]
fn changes_go_into_the_changesets_of_their_lines() {
    for changes in [
        &[("a", "1\n2\n3\nONE\nTWO\n")][..],
        &[("a", "1\n2\n3\nONE\ntwo\n"), ("b", "b\nTWO\n")],
        &[("c", "THREE\nmore\n")],
        &[("b", "b\n"), ("a", "1\n2\n3\none\n")],
        &[("a", "1\n2\n3\n")],
        &[("a", "1\nchanged\n3\none\ntwo\n")],
        &[("a", "1\nchanged\n3\none\nTWO\n"), ("c", "")],
        &[],
    ] {
        absorbing("absorb -a", changes, "");
    }
}

#[test]
fn changes_are_shown_and_asked_for() {
    let changes = &[("a", "1\nchanged\n3\nONE\nTWO\n"), ("c", "more\nthree\n")];
    for (line, answers) in [
        ("absorb", "y\n"),
        ("absorb", "n\n"),
        ("absorb", ""),
        ("absorb -n", ""),
        ("absorb -a -p", ""),
        ("absorb -n -T {node|short}\\n", ""),
        ("absorb a", "y\n"),
        ("absorb -X a -a", ""),
        ("absorb -a nowhere", ""),
    ] {
        absorbing(line, changes, answers);
    }
}

#[test]
fn settings_limit_the_stack_and_keep_what_is_empty() {
    let changes = &[("a", "1\n2\n3\nONE\nTWO\n"), ("c", "")];
    for setting in [
        "absorb.max-stack-size=1",
        "absorb.max-stack-size=2",
        "absorb.add-noise=no",
        "rewrite.empty-successor=keep",
        "rewrite.empty-successor=skip",
        "phases.new-commit=secret",
    ] {
        absorbing(&format!("absorb -a --config {setting}"), changes, "");
    }
}

#[test]
fn added_removed_and_renamed_files_stay_local_changes() {
    for settings in [MARKERS, ""] {
        let twin = Twin::writing(|hg, path| {
            begin(hg, path, settings);
            hg.ok(path, &["rename", "-q", "a", "moved"]);
            commit(hg, path, "four");
            write(path, "moved", b"1\n2\n3\nONE\ntwo\n");
            write(path, "new", b"new\n");
            hg.ok(path, &["add", "new"]);
            hg.ok(path, &["remove", "c"]);
            write(path, "b", b"b\0\n");
        });
        twin.same_answering(&["absorb", "-a"], "");
        same_state(&twin);
    }
}
