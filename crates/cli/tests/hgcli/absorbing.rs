//! The command of the extension `absorb`: the same words, and the same changesets.

use super::state::{backups, same_state};
use super::{Twin, made_once};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const SETTINGS: &str =
    "[ui]\ninteractive = yes\n[devel]\ndefault-date = 9 0\n[extensions]\nabsorb =\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// A public changeset below three drafts, which add to two files each in its own place.
fn begin(hg: &Hg, path: &Path, settings: &str) {
    let key = format!("absorbing {settings}");
    made_once::copy_of(&key, path, |path| make(hg, path, settings));
}

fn make(hg: &Hg, path: &Path, settings: &str) {
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
        let twin = Twin::writing_with(|hg, path| {
            begin(hg, path, settings);
            for (name, text) in changes {
                write(path, name, text.as_bytes());
            }
        });
        println!("{line}: {changes:?}");
        let words: Vec<&str> = line.split(' ').collect();
        twin.same_answering(&words, answers);
        same_state(&twin);
        let read = |path: &Path| (hg().run(path, &["debugobsolete"]).stdout, backups(path));
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
        let line = format!("absorb -a --config {setting}");
        absorbing(&line, changes, "");
        // Nothing is left of the second changeset.
        absorbing(&line, &[("a", "1\n2\n3\n")], "");
    }
}

#[test]
fn added_removed_and_renamed_files_stay_local_changes() {
    for settings in [MARKERS, ""] {
        let twin = Twin::writing_with(|hg, path| {
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

#[test]
fn changesets_below_others_beside_the_stack_stay() {
    absorbing_over(&["absorb", "-a"], "", |hg, path| {
        write(path, "a", b"one\n");
        commit(hg, path, "one");
        write(path, "b", b"side\n");
        hg.ok(path, &["add", "b"]);
        commit(hg, path, "side");
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "c", b"two\n");
        hg.ok(path, &["add", "c"]);
        commit(hg, path, "two");
        write(path, "a", b"ONE\n");
        write(path, "c", b"TWO\n");
    });
}

/// Makes the same history in both programs' repositories, with and without markers, and runs one line in each.
#[track_caller]
fn absorbing_over(line: &[&str], answers: &str, make: impl Fn(&Hg, &Path)) {
    for settings in [MARKERS, ""] {
        let twin = Twin::writing_with(|hg, path| {
            hg.ok(path, &["init"]);
            let hgrc = [SETTINGS, settings].concat();
            write(path, ".hg/hgrc", hgrc.as_bytes());
            make(hg, path);
        });
        twin.same_answering(line, answers);
        same_state(&twin);
        twin.same(&["diff"]);
        twin.same(&[
            "log",
            "-T",
            "{node} {branch} {desc}\n{extras}\n",
            "-p",
            "--git",
        ]);
    }
}

#[test]
fn one_of_several_new_names_takes_lines_below() {
    absorbing_over(&["absorb", "-a", "-p"], "", |hg, path| {
        write(path, "b", b"1\n");
        hg.ok(path, &["add", "b"]);
        commit(hg, path, "zero");
        for name in ["a", "c", "d"] {
            hg.ok(path, &["copy", "-q", "b", name]);
        }
        hg.ok(path, &["remove", "b"]);
        write(path, "a", b"1\n2\n");
        write(path, "c", b"1\n3\n");
        write(path, "d", b"1\n4\n");
        commit(hg, path, "copies");
        hg.ok(path, &["rename", "-q", "a", "e"]);
        hg.ok(path, &["remove", "c"]);
        commit(hg, path, "moved");
        write(path, "e", b"1e\n2e\n");
        write(path, "d", b"1d\n4d\n");
    });
}

#[test]
fn names_of_rewritten_changesets_in_descriptions_follow() {
    absorbing_over(&["absorb", "-a"], "", |hg, path| {
        let node = |rev| hg.run(path, &["log", "-r", rev, "-T", "{node}"]).stdout;
        write(path, "a", b"1\n");
        hg.ok(path, &["add", "a"]);
        commit(hg, path, "zero");
        let zero = node(".");
        write(path, "b", b"b\n");
        hg.ok(path, &["add", "b"]);
        commit(hg, path, &format!("goes, after {}", &zero[..12]));
        hg.ok(
            path,
            &[
                "commit",
                "-q",
                "--config",
                "ui.allowemptycommit=yes",
                "-m",
                "stays empty",
            ],
        );
        write(path, "b", b"b\nmore\n");
        commit(hg, path, "is dropped");
        let dropped = node(".");
        write(path, "c", b"c\n");
        hg.ok(path, &["add", "c"]);
        let message = format!(
            "all {zero} {}, short {} and {}, glued x{}y, long {zero}0, dropped {}",
            &zero[..12],
            &zero[..6],
            &zero[..5],
            &zero[..9],
            &dropped[..12]
        );
        commit(hg, path, &message);
        write(path, "a", b"one\n");
        write(path, "b", b"b\n");
    });
}

#[test]
fn changesets_that_close_or_change_a_branch_stay_when_they_are_empty() {
    absorbing_over(&["absorb", "-a"], "", |hg, path| {
        write(path, "a", b"1\n");
        write(path, "b", b"");
        hg.ok(path, &["add", "-q", "a", "b"]);
        commit(hg, path, "zero");
        write(path, "b", b"b\n");
        hg.ok(path, &["commit", "-q", "--close-branch", "-m", "closes"]);
        write(path, "b", b"b\nc\n");
        commit(hg, path, "reopens, and has nothing else");
        hg.ok(path, &["branch", "-q", "other"]);
        write(path, "b", b"b\nc\nd\n");
        commit(hg, path, "other branch");
        write(path, "a", b"2\n");
        write(path, "b", b"");
    });
}

#[test]
fn changes_are_chosen_one_by_one() {
    let make = |hg: &Hg, path: &Path| {
        write(path, "a", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        write(path, "b", b"b\n");
        hg.ok(path, &["add", "-q", "a", "b"]);
        commit(hg, path, "zero");
        write(path, "a", b"ONE\n2\n3\n4\n5\n6\n7\n8\nNINE\n");
        write(path, "b", b"b\nmore\n");
        write(path, "new", b"new\n");
        hg.ok(path, &["add", "new"]);
    };
    for (line, answers) in [
        (&["absorb", "-i"][..], "y\nn\ny\nn\nn\ny\n"),
        (&["absorb", "-i", "-a"], "y\ny\nn\nn\nn\n"),
        (&["absorb", "-i", "-n"], "n\nn\nn\n"),
        (&["absorb", "-i"], "n\nn\nn\n"),
        (&["absorb", "-i", "b"], "y\ny\n"),
        (&["absorb", "-i"], "q\n"),
        (&["absorb", "-i", "-a"], "a\n"),
        (&["absorb", "-i", "-n", "--config", "ui.interactive=no"], ""),
    ] {
        absorbing_over(line, answers, make);
    }
}

/// As [`absorbing_over`], with an editor that this script is.
#[track_caller]
fn editing_over(line: &[&str], editor: &str, make: impl Fn(&Hg, &Path)) {
    let editor = format!("ui.editor={editor}");
    let line = [line, &["--config", &editor]].concat();
    absorbing_over(&line, "", make);
}

/// A public changeset below drafts that add, copy and rename, and local changes.
fn many_names(hg: &Hg, path: &Path) {
    let hgrc = std::fs::read_to_string(path.join(".hg/hgrc")).unwrap();
    made_once::copy_of(&format!("many names {hgrc}"), path, |path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", hgrc.as_bytes());
        make_many_names(hg, path);
    });
}

fn make_many_names(hg: &Hg, path: &Path) {
    write(path, "a", b"1\n2\n");
    write(path, "b", b"b\n");
    write(path, "r", b"r\n");
    hg.ok(path, &["add", "-q", "a", "b", "r"]);
    commit(hg, path, "zero");
    hg.ok(path, &["phase", "--public", "."]);
    write(path, "b", b"b\nlast");
    commit(hg, path, "one\n\nin detail");
    write(path, "a", b"1\n2\none\n");
    commit(
        hg,
        path,
        "two: a first line that is longer than all terminals have columns, and so is shown whole",
    );
    hg.ok(path, &["copy", "-q", "a", "copied"]);
    hg.ok(path, &["rename", "-q", "r", "renamed"]);
    write(path, "copied", b"1\n2\none\nthree\n");
    write(path, "renamed", b"r\nthree\n");
    write(path, "binary", b"\0\n");
    write(path, "new", b"new\n");
    hg.ok(path, &["add", "-q", "binary", "new"]);
    commit(hg, path, "three");
    write(path, "a", b"1\nTWO\nONE\n");
    write(path, "b", b"b\nLAST");
    write(path, "copied", b"1\n2\none\nTHREE\n");
    write(path, "renamed", b"r\nTHREE\n");
    write(path, "binary", b"\0\nmore\n");
    write(path, "new", b"NEW\n");
}

#[test]
fn lines_of_all_versions_are_edited() {
    for (line, editor) in [
        // The name of the file ends in the same way.
        (
            &["absorb", "-e"][..],
            "sh -c 'cat $0; echo $0 | sed s/.*absorb/absorb/'",
        ),
        (&["absorb", "-e"], "true"),
        (
            &[
                "absorb",
                "-e",
                "a",
                "-v",
                "--config",
                "experimental.evolution=createmarkers, allowunstable",
            ],
            "sed -i \"s/ : 2/ : two/\"",
        ),
        (&["absorb", "-e", "a", "-a"], "sed -i \"s/^    yy/     y/\""),
        (
            &["absorb", "-e", "-p", "a", "new"],
            "sed -i \"s/ : ONE/ : one/\"",
        ),
        (&["absorb", "-e", "-n", "-p", "a"], "false"),
        (&["absorb", "-e", "-n"], "false"),
        (&["absorb", "-e"], "sed -i \"/^HG/!s/^..../xxxx/\""),
        (&["absorb", "-e"], "sed -i \"/^HG/!d\""),
        (
            &["absorb", "-e", "-X", "b", "-X", "copied"],
            "sed -i \"/^HG/d;s/ : r/ : R/;s/ : 1/ : 11/\"",
        ),
        (&["absorb", "-e", "copied"], "sed -i \"s/ : 1/ : 11/\""),
        (&["absorb", "-e", "a", "copied"], "sed -i \"s/ : 1/ : 11/\""),
        (
            &["absorb", "-e", "a", "--config", "absorb.max-stack-size=1"],
            "sed -i \"s/ : 1/ : 11/\"",
        ),
        (
            &["absorb", "-e", "a", "--config", "absorb.max-stack-size=1"],
            "true",
        ),
    ] {
        println!("{line:?} with {editor}");
        editing_over(line, editor, many_names);
    }
}

#[test]
fn edits_that_take_all_changes_back_apply_nothing() {
    let edits = [
        "sed -i \"s/ : ONE/ : one/;/^ *: one/d;/TWO/d\"",
        "sed -i \"/ : ONE/d;s/^ *: one/     y : one/\"",
    ];
    for editor in edits {
        editing_over(&["absorb", "-e", "a"], editor, many_names);
        editing_over(&["absorb", "-e", "a", "-v"], editor, many_names);
    }
    // Nothing was found to be absorbed, and nothing is edited.
    let changed_base = |hg: &Hg, path: &Path| {
        many_names(hg, path);
        write(path, "a", b"changed\n2\none\n");
    };
    for editor in [
        "true",
        "sed -i s/^..../xxxx/",
        "sed -i \"s/ : one/ : other/\"",
    ] {
        editing_over(&["absorb", "-e", "a"], editor, changed_base);
    }
    let executable = |hg: &Hg, path: &Path| {
        many_names(hg, path);
        hg.ok(path, &["revert", "-q", "--no-backup", "a"]);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path.join("a"), mode).unwrap();
    };
    editing_over(
        &["absorb", "-e", "a"],
        "sed -i \"s/ : one/ : other/\"",
        executable,
    );
}

#[test]
fn lines_of_named_files_are_edited_without_any_change() {
    let clean = |hg: &Hg, path: &Path| {
        many_names(hg, path);
        hg.ok(path, &["revert", "-q", "--no-backup", "-a"]);
    };
    let only_b = |hg: &Hg, path: &Path| {
        clean(hg, path);
        write(path, "b", b"b\nLAST");
    };
    let editor = "sh -c 'sed -i \"s/ : one/ : other/\" $0; head -n 1 $0'";
    for words in [
        &["absorb", "-e"][..],
        &["absorb", "-e", "a"],
        &["absorb", "-e", "copied", "a"],
        &["absorb", "-e", "."],
        &["absorb", "-e", "-I", "a"],
        &["absorb", "-e", "a", "-n"],
        &["absorb", "-e", "a", "-p"],
        &["absorb", "-e", "-i", "a"],
        &["absorb", "-e", "renamed", "binary", "new"],
    ] {
        println!("{words:?}");
        editing_over(words, editor, clean);
    }
    for words in [&["absorb", "-e", "a"][..], &["absorb", "-e", "a", "b"]] {
        editing_over(words, editor, only_b);
    }
    editing_over(&["absorb", "-e", "a"], "true", clean);
}

#[test]
fn edited_lines_are_refused_when_their_place_is_unknown() {
    for editor in [
        "false",
        "sh -c \"exit 3\"",
        "sed -i d",
        "sed -i \"s/ : one/ :/\"",
        "sed -i \"s/ : one/: one/\"",
        "sed -i \"s/^    yy : 1/    y : 1/\"",
        "sed -i \"s/^HG:/HG/\"",
        "sed -i 1G",
        "echo >",
    ] {
        println!("{editor}");
        editing_over(&["absorb", "-e", "a"], editor, many_names);
    }
}

#[test]
fn chosen_changes_are_edited() {
    for answers in ["y\ny\nn\nn\nn\nn\nn\nn\nn\n", "n\nn\nn\nn\nn\nn\n"] {
        absorbing_over(
            &[
                "absorb",
                "-e",
                "-i",
                "-X",
                "binary",
                "--config",
                "ui.editor=cat",
            ],
            answers,
            many_names,
        );
    }
}
