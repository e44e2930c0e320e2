//! Choosing among changes by answers to questions: the same questions, and the same changesets.

use super::Twin;
use super::state::same_state;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const SETTINGS: &str = "[ui]\ninteractive = yes\n[extensions]\namend =\nrecord =\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// Lines with numbers, some of them changed.
pub(super) fn numbers(changed: &[(usize, &str)]) -> String {
    let line = |number| match changed.iter().find(|(at, _)| *at == number) {
        Some((_, text)) => format!("{text}\n"),
        None => format!("{number}\n"),
    };
    (1..=20).map(line).collect()
}

/// Changes of all kinds over one changeset.
fn begin(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    let hgrc = [SETTINGS, settings].concat();
    write(path, ".hg/hgrc", hgrc.as_bytes());
    write(path, "a", numbers(&[]).as_bytes());
    write(path, "b", b"x\ny");
    write(path, "bin", b"\0\x01");
    for name in ["gone", "mode", "moved", "source"] {
        write(path, name, format!("{name}\n").as_bytes());
    }
    commit(hg, path, "zero");
    let changes = [
        (2, "two"),
        (4, "four"),
        (12, "12\ntwelve"),
        (19, "nineteen"),
    ];
    write(path, "a", numbers(&changes).as_bytes());
    write(path, "b", b"x\ny\nz");
    write(path, "bin", b"\0\x02");
    hg.ok(path, &["remove", "gone"]);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path.join("mode"), mode).unwrap();
    hg.ok(path, &["rename", "moved", "new place"]);
    write(path, "new place", b"moved\nmore\n");
    hg.ok(path, &["copy", "source", "copied"]);
    write(path, "new", b"new\n");
    write(path, "nothing", b"");
    hg.ok(path, &["add", "new", "nothing"]);
    write(path, "unknown", b"unknown\n");
}

fn twin() -> Twin {
    Twin::writing(|hg, path| begin(hg, path, ""))
}

/// Answers to the questions of one command, one a letter.
#[track_caller]
fn answering(twin: &Twin, line: &str, answers: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let typed: String = answers
        .chars()
        .map(|letter| format!("{letter}\n"))
        .collect();
    println!("{line}: {answers}");
    twin.same_answering(&words, &typed);
    same_state(twin);
    same(twin, |path| hg().ok(path, &["diff", "--git"]));
}

/// Looks at both sides, which then have to show the same.
#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(twin: &Twin, look: impl Fn(&Path) -> T) {
    assert_eq!(look(twin.theirs()), look(twin.ours()));
}

#[test]
fn every_change_is_in_question() {
    for answers in [
        "yyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        "ynynyynyyynnnyynynynyn",
        "nnnnnnnnnnnnnn",
        "ysnnnnnnnnnnn",
        "yfynynnnnnnynn",
        "yya",
        "ynd",
        "d",
        "a",
        "fsfsfsfsfsfsfs",
        "?zq",
        "ey?n",
        "",
        "y",
    ] {
        answering(&twin(), "commit -i -m one", answers);
    }
}

#[test]
fn names_narrow_the_questions() {
    for (line, answers) in [
        ("commit -i -m one a", "ynyn"),
        ("commit -i -m one a b", "nnnny"),
        ("commit -i -m one gone mode", "nn"),
        ("commit -i -m one -X a -X b", "yyyyyyyyyyyy"),
        ("commit -i -m one -I a -I b", "ynynyyy"),
        ("commit -i -m one set:removed()", "yy"),
        ("commit -i -m one nothere", "y"),
        ("commit -i -m one unknown", "y"),
        ("commit -i -A -m one", "nnnnnnnnnny"),
        ("commit -i -A -m one unknown", "y"),
        ("commit -i -s -d 5 -u me -m one b", "y"),
        ("commit -i -m one b --config ui.interactive=no", "y"),
        ("commit -i -m one b --config ui.interface=curses", "y"),
        ("record -m one b", "y"),
        ("record -m one a", "ynny"),
        ("record -m one b --config ui.interactive=no", "y"),
        ("record -w -m one a b", "yyyyyy"),
    ] {
        answering(&twin(), line, answers);
    }
}

#[test]
fn commits_follow_each_other() {
    let twin = twin();
    for answers in ["yynnnd", "ynyd", "nyyd", "a", "a"] {
        answering(&twin, "commit -i -m next", answers);
    }
}

#[test]
fn an_amendment_takes_what_is_chosen() {
    for settings in ["", MARKERS] {
        let twin = Twin::writing_with(|hg, path| begin(hg, path, settings));
        answering(&twin, "commit -i -m one", "yynnnnnnnnny");
        answering(&twin, "amend -i", "ynynnd");
        answering(&twin, "commit --amend -i -m more", "nya");
        answering(&twin, "amend -i", "y");
        answering(&twin, "amend -i -m words", "");
    }
}

#[test]
fn hunks_are_edited() {
    let editor = |script: &str| format!("ui.editor=sed -i -e '{script}'");
    for (script, answers) in [
        ("s/^+two/+deux/", "ennn"),
        ("s/^+two/+deux/", "eyey"),
        ("/^+two/d; s/^-2/ 2/", "ennn"),
        ("s/^ 3/ drei/", "enny"),
        ("/^[-+]/d", "ennn"),
    ] {
        let (twin, editor) = (twin(), editor(script));
        let words = ["commit", "-i", "-m", "one", "a", "--config", &editor];
        let typed: String = answers
            .chars()
            .map(|letter| format!("{letter}\n"))
            .collect();
        twin.same_answering(&words, &typed);
        same_state(&twin);
    }
    let twin = twin();
    let words = [
        "commit",
        "-i",
        "-m",
        "one",
        "a",
        "--config",
        "ui.editor=exit 3;",
    ];
    twin.same_answering(&words, "e\ny\nn\nn\nn\n");
    same_state(&twin);
}

#[test]
fn merges_are_committed_whole() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path, "");
        commit(hg, path, "one");
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "other", b"other\n");
        hg.ok(path, &["commit", "-q", "-A", "-m", "other", "other"]);
        hg.ok(path, &["merge", "-q", "1"]);
    });
    answering(&twin, "commit -i -m merged", "a");
    answering(&twin, "record -m merged", "a");
}

#[test]
fn what_is_chosen_is_shelved() {
    for (line, answers) in [
        ("shelve -i", "yynnnnnnnnny"),
        ("shelve -i", "nnnyynnnyny"),
        ("shelve -i a", "ynyn"),
        ("shelve -i -k", "ynynnd"),
        ("shelve -i -n part -I b", "yy"),
        ("shelve -i", "nnnnnnnnn"),
        ("shelve -i", "a"),
        ("shelve -i", "q"),
        ("shelve -i -u unknown", "y"),
        ("shelve -i b --config ui.interactive=no", "y"),
    ] {
        let twin = twin();
        answering(&twin, line, answers);
        same(&twin, |path| {
            let shelved = hg().ok(path, &["shelve", "-l", "-p"]);
            let patch = shelved.split_once("diff ");
            patch.map(|(_, patch)| patch.to_owned())
        });
    }
}

/// Local changes in places where `revert` asks.
fn begin_revert(hg: &Hg, path: &Path) {
    begin(hg, path, "");
    commit(hg, path, "one");
    let changes = [
        (2, "zwei"),
        (4, "four"),
        (12, "12\ntwelve"),
        (19, "neunzehn"),
    ];
    write(path, "a", numbers(&changes).as_bytes());
    write(path, "b", b"x\ny\nz\nzz\n");
    write(path, "added", b"added\n");
    write(path, "below/added", b"added\n");
    hg.ok(path, &["add", "added", "below/added"]);
    hg.ok(path, &["copy", "source", "again"]);
    hg.ok(path, &["remove", "new"]);
    std::fs::remove_file(path.join("nothing")).unwrap();
}

/// Files beside those that are tracked, with their contents.
fn backups(path: &Path) -> Vec<(String, Vec<u8>)> {
    let unknown = hg().ok(path, &["status", "-u", "-n"]);
    let read = |name: &str| (name.to_owned(), std::fs::read(path.join(name)).unwrap());
    unknown.lines().map(read).collect()
}

#[track_caller]
fn reverting(line: &str, answers: &str) {
    let twin = Twin::writing(begin_revert);
    answering(&twin, line, answers);
    same(&twin, backups);
}

/// Changed files whose names or contents are unusual.
fn begin_odd(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", b"[ui]\ninteractive = yes\n");
    let versions: [(&str, &[u8], &[u8]); 9] = [
        ("with blanks in it", b"1\n", b"one\n"),
        (" before", b"1\n", b"one\n"),
        ("quo\"ted", b"1\n", b"one\n"),
        ("\u{fc}mlaut", b"1\n", b"one\n"),
        ("no line end", b"1\n2\n3", b"1\n2\n3\n4"),
        ("carriage returns", b"1\r\n2\r\n3\r\n", b"1\r\ntwo\r\n3\r\n"),
        ("binary", b"a\0b\n", b"a\0c\n"),
        ("empty", b"", b"no longer\n"),
        ("dashes", b"-- a\n++ b\n", b"-- a\n"),
    ];
    for (name, before, _) in versions {
        write(path, name, before);
    }
    std::os::unix::fs::symlink("binary", path.join("link")).unwrap();
    hg.ok(path, &["commit", "-A", "-m", "zero", "-d", "0 0", "-q"]);
    for (name, _, after) in versions {
        write(path, name, after);
    }
    std::fs::remove_file(path.join("link")).unwrap();
    std::os::unix::fs::symlink("empty", path.join("link")).unwrap();
}

#[test]
fn unusual_names_and_contents_are_reverted() {
    for answers in [
        "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        "nynynynynynynynynynynynynynynynynyn",
        "a",
    ] {
        let twin = Twin::writing(begin_odd);
        answering(&twin, "revert -i --all", answers);
        same(&twin, backups);
    }
}

#[test]
fn local_changes_are_discarded_hunk_by_hunk() {
    for answers in [
        "yyyyyyyyyyyyyyyyyyyy",
        "nnnynynyy",
        "nnnnnnn",
        "?",
        "xyq",
        "ynnyq",
        "ynnydy",
        "ynna",
        "ynnfn",
        "ynnysy",
        "ynnyy?n",
    ] {
        reverting("revert -i --all", answers);
    }
}

#[test]
fn names_and_options_narrow_a_revert() {
    for (line, answers) in [
        ("revert -i a", "yn"),
        ("revert -i a b -C", "ynny"),
        ("revert -i a b -v", "ynny"),
        ("revert -i added new nothing", "yy"),
        ("revert -i below", "y"),
        ("revert -i --cwd below added", "y"),
        ("revert -i -I a -X b", "yyy"),
        ("revert -i -n --all", ""),
        ("revert -i nowhere", ""),
        ("revert -i", "yyynnnnn"),
        ("revert -i --all --config ui.interactive=no", ""),
        (
            "revert -i -a --config ui.origbackuppath=.hg/kept",
            "nnnyyyyy",
        ),
        ("revert -i a -r 0 -d 0", ""),
    ] {
        reverting(line, answers);
    }
}

#[test]
fn files_of_another_changeset_are_applied_hunk_by_hunk() {
    for (line, answers) in [
        ("revert -i -r 0 -a", "yyyyyyyyyyyyyyyyyyyyyyyyyyyyy"),
        ("revert -i -r 0 -a", "nynynynynynynynynynynynynynynyn"),
        ("revert -i -r 0 -a", "nnnnnnnnnnnnnnnnnnnnnnnn"),
        ("revert -i -r 0 a b", "ynyyy"),
        ("revert -i -r 0 gone moved", "yyy"),
        ("revert -i -r null -a", "nyyyyyyyyyyyyyyyyyyy"),
        ("revert -i -v -r null -a", "yyyyyyyyyyyyyyyyyyyy"),
    ] {
        reverting(line, answers);
    }
}

#[test]
fn hunks_are_edited_before_they_are_discarded() {
    for (script, answers) in [
        ("s/^+zwei/+zwo/", "enn"),
        ("/^+zwei/d; s/^-two/ two/", "enn"),
        ("s/^-two/-2/", "eny"),
    ] {
        let (twin, editor) = (
            Twin::writing(begin_revert),
            format!("ui.editor=sed -i -e '{script}'"),
        );
        let words = ["revert", "-i", "a", "--config", &editor];
        let typed: String = answers
            .chars()
            .map(|letter| format!("{letter}\n"))
            .collect();
        twin.same_answering(&words, &typed);
        same_state(&twin);
        same(&twin, backups);
    }
}

#[test]
fn hunks_may_have_other_context() {
    for unified in ["0", "1", "5"] {
        for answers in ["yynynyynnnyynynynyn", "ynnynnnyyyyyy", "a"] {
            let twin = twin();
            let line = "commit -i -m one --config commands.commit.interactive.unified=";
            answering(&twin, &[line, unified].concat(), answers);
            let line = "commit -i -m two --config commands.commit.interactive.unified=";
            answering(&twin, &[line, unified].concat(), "a");
        }
    }
    // Mercurial itself fails with a negative number.
    for wrong in ["x", ""] {
        let line = "commit -i -m one --config commands.commit.interactive.unified=";
        answering(&twin(), &[line, wrong].concat(), "a");
    }
}
