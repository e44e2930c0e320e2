//! `unshelve --interactive`: the changes that are taken, and the shelf with the others.

use super::{DATES, Deltas, changed, same_as};
use crate::hgcli::{Twin, our_hg};
use std::path::Path;
use std::process::{Command, Stdio};
use varve_testkit::peers::{hg, hg_program};
use varve_testkit::repos::write;

/// All changes of the history are shelved, and the working copy is at `rev`.
fn shelved(rev: &str) -> Twin {
    Twin::writing_with(|hg, path| {
        changed(hg, path);
        // Two hunks, and more than one way to take a copy.
        write(
            path,
            "b",
            b"B\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\nend\n",
        );
        hg.ok(path, &["copy", "-q", "b", "copied"]);
        write(path, "copied", b"B\n1\n2\n3\n4\n5\nmore\n");
        let hgrc = [DATES, "[ui]\ninteractive = yes\n"].concat();
        write(path, ".hg/hgrc", hgrc.as_bytes());
        hg.ok(
            path,
            &["shelve", "-q", "-u", "--date", "5 0", "-m", "some words"],
        );
        hg.ok(path, &["update", "-q", rev]);
    })
}

/// One letter for each question.
#[track_caller]
fn answering(twin: &Twin, line: &str, letters: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    println!("{line}: {letters}");
    let answers: Vec<String> = letters
        .chars()
        .map(|letter| format!("{letter}\n"))
        .collect();
    twin.same_answering(&words, &answers.concat());
    same_as(twin, Deltas::Passed);
}

#[test]
fn what_is_not_taken_stays_shelved() {
    for (rev, letters) in [
        ("0", ["yynnnnnnnnnnn", "a"]),
        ("1", ["nyynynnyynynyyn", "yyd"]),
        ("0", ["fsfnfnfnfnf", "yyyyyyyyyyyyyyyyy"]),
    ] {
        let twin = shelved(rev);
        answering(&twin, "unshelve -i", letters[0]);
        // What was taken is a local change now, over which the rest comes back.
        answering(&twin, "unshelve -i --date 1970-01-02", letters[1]);
        twin.all_same(&["diff --git"]);
    }
}

#[test]
fn all_and_nothing_are_taken() {
    for rev in ["0", "1"] {
        let twin = shelved(rev);
        // Elsewhere Mercurial brings the files of the shelf's parent if nothing is taken.
        if rev == "0" {
            answering(&twin, "unshelve -i", "d");
        }
        answering(&twin, "unshelve -i", "a");
        twin.all_same(&["diff --git", "status -C"]);
    }
}

#[test]
fn local_changes_stay() {
    let twin = shelved("1");
    twin.each(|path| {
        write(path, "local", b"local\n");
        hg().ok(path, &["add", "-q", "local"]);
        write(path, "d/c", b"d/c\n1\n2\n3\n4\n5\nlocal\n");
        hg().ok(path, &["bookmark", "-q", "act"]);
    });
    answering(&twin, "unshelve -i -t :other", "nyynnnyynn");
    twin.all_same(&["diff --git", "bookmarks"]);
    // Mercurial loses the local changes if nothing is taken.
    let answers = twin.ours().parent().unwrap().join("none");
    std::fs::write(&answers, "d\n").unwrap();
    let before = hg().ok(twin.ours(), &["diff", "--git"]);
    let ran = Command::new(our_hg())
        .args(["unshelve", "-i"])
        .current_dir(twin.ours())
        .stdin(std::fs::File::open(&answers).unwrap())
        .stdout(Stdio::null())
        .status();
    assert!(ran.unwrap().success());
    assert_eq!(hg().ok(twin.ours(), &["diff", "--git"]), before);
}

#[test]
fn the_files_stay_merged_if_the_user_quits() {
    let twin = shelved("1");
    twin.each(|path| {
        write(path, "local", b"local\n");
        hg().ok(path, &["add", "-q", "local"]);
        hg().ok(path, &["bookmark", "-q", "act"]);
    });
    answering(&twin, "unshelve -i", "yq");
    twin.all_same(&["status", "bookmarks", "unshelve -c", "log"]);
    let twin = shelved("0");
    answering(&twin, "unshelve -i --config ui.interactive=no", "");
    twin.all_same(&["status", "unshelve -a"]);
}

/// The shelf is in conflict with the working copy's parent.
fn conflict() -> Twin {
    let twin = shelved("1");
    twin.each(|path| {
        write(path, "a", b"A\n1\n2\n3\n4\nother\n");
        hg().ok(path, &["commit", "-q", "-d", "0 0", "-m", "third"]);
        write(path, "local", b"local\n");
        hg().ok(path, &["add", "-q", "local"]);
    });
    twin
}

fn settle(path: &Path) {
    write(path, "a", b"settled\n1\n2\n3\n4\nboth\n");
    let _ = std::fs::remove_file(path.join("a.orig"));
    hg().ok(path, &["resolve", "-q", "-m", "a"]);
}

#[test]
fn questions_come_once_conflicts_are_settled() {
    let twin = conflict();
    answering(&twin, "unshelve -i", "");
    twin.all_same(&["unshelve -i -k", "unshelve -a -k -i", "unshelve -c"]);
    twin.each(settle);
    twin.all_same(&["unshelve -c -i", "unshelve -c -i x"]);
    answering(&twin, "unshelve -c --keep", "yynnnyyynnn");
    twin.all_same(&["diff --git", "unshelve -c -i"]);
    let twin = conflict();
    answering(&twin, "unshelve -i", "");
    twin.each(settle);
    answering(&twin, "unshelve -c", "a");
}

#[test]
fn a_working_copy_elsewhere_is_no_unshelve_that_goes_on() {
    let twin = conflict();
    twin.same(&["unshelve", "-i"]);
    twin.each(settle);
    twin.each(|path| drop(hg().ok(path, &["debugsetparents", "0"])));
    twin.same(&["unshelve", "-c"]);
}

#[test]
fn each_program_asks_where_the_other_began() {
    let run = |program: &Path, path: &Path, words: &[&str]| {
        let answers = path.parent().unwrap().join("answers");
        std::fs::write(&answers, "y\nn\ny\nn\nd\n").unwrap();
        let ran = Command::new(program)
            .args(words)
            .current_dir(path)
            .env("HGRCPATH", "")
            .env("HGUSER", "x")
            .stdin(std::fs::File::open(&answers).unwrap())
            .output();
        ran.unwrap().status.code()
    };
    for is_ours_first in [true, false] {
        let twin = conflict();
        let programs = [hg_program(), our_hg()];
        let first = usize::from(is_ours_first);
        for (path, [one, other]) in [(twin.theirs(), [0, 0]), (twin.ours(), [first, 1 - first])] {
            run(&programs[one], path, &["unshelve", "-i"]);
            settle(path);
            let code = run(&programs[other], path, &["unshelve", "--continue"]);
            assert_eq!(code, Some(0), "{one} {other}");
        }
        same_as(&twin, Deltas::Passed);
    }
}
