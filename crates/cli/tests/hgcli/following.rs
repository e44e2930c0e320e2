//! `log --follow`.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// Files and directories that are renamed, removed and changed.
fn renames(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    commit(hg, path, "a");
    write(path, "d/x", b"x\n");
    commit(hg, path, "x");
    hg.ok(path, &["rename", "d/x", "d/y"]);
    commit(hg, path, "y");
    hg.ok(path, &["rename", "a", "d/a"]);
    commit(hg, path, "into");
    write(path, "d/a", b"a\nk\n");
    write(path, "r", b"r\n");
    commit(hg, path, "change");
    hg.ok(path, &["remove", "r"]);
    write(path, "d/y", b"x\nl\n");
    commit(hg, path, "remove");
    write(path, "u/u", b"u\n");
    commit(hg, path, "another");
}

const SHOWN: &str = "{rev} {desc}\\n";

fn all(twin: &Twin, lines: &[&str]) {
    for line in lines {
        let words = ["log", "-T", SHOWN].into_iter().chain(line.split(' '));
        twin.same(&words.collect::<Vec<_>>());
    }
}

#[test]
fn patches_are_those_of_the_names_at_the_time() {
    let twin = Twin::writing(renames);
    all(
        &twin,
        &[
            "-f -p d/a",
            "-f -p d/a d/y",
            "-f --stat d/y",
            "-f -p -G d/a",
            "-f -p d",
            "-f -p glob:d/a",
            "-f -r 3 -p d/a",
        ],
    );
    twin.same(&["log", "-f", "-p", "-T", "json", "d/a"]);
    twin.same_in("d", &["log", "-f", "-p", "-T", SHOWN, "a"]);
}

#[test]
fn directories_and_patterns_are_not_followed() {
    let twin = Twin::writing(renames);
    all(
        &twin,
        &[
            "-f d",
            "-f d d/a",
            "-f u d/a",
            "-f .",
            "-f . d/a",
            "-f glob:d/*",
            "-f rootfilesin:d",
            "-f -I d/a d/a",
            "-f -X d/a d",
            "-f d/a -X u",
            "-f d/a --removed",
            "-f r --removed",
            "--follow-first d",
            "--follow-first -r 4 d",
        ],
    );
    // A name that is a file in one changeset and a directory in the other.
    twin.each(|root| write(root, "a/x", b"x\n"));
    twin.same(&["add", "a/x"]);
    twin.same(&["commit", "-m", "directory", "-d", "0 0"]);
    all(&twin, &["-f -r 0+7 a", "-f -r 7+0 a"]);
}

#[test]
fn names_are_looked_for_where_the_history_begins() {
    let twin = Twin::writing(renames);
    all(
        &twin,
        &[
            "-f r",
            "-f d nosuch",
            "-f -r 2 d",
            "-f -r 2 d/y",
            "-f -r 2 d/a",
            "-f -r 2+4 d/a",
            "-f -r 4+2 d/y",
            "-f -r 2+4 nosuch d/a",
            "-f -r 2+0 d",
            "-f -r null d",
            "-f -r none() d",
            "-f -r 4 r",
            "-f . nosuch",
            "-f nosuch d",
            "-f d/nosuch .",
            "-f -r 2 . nosuch",
            "-f -r 2+4 . nosuch",
            "-r follow(glob:d/*,startrev=2+4)",
            "-r follow(startrev=2+4)",
            "-r follow(glob:**,startrev=0+5)",
            "-r follow(glob:d/*,startrev=5+2)",
            "-r follow(glob:d/*,startrev=.-.)",
            "-r follow(glob:d/*,startrev=0+wdir())",
            "-u re:.*",
            "-u literal:test",
            "-b re:.*",
            "-b literal:default",
            "-b nosuch",
            "-b 1",
            "--only-branch re:def",
        ],
    );
    twin.each(|path| {
        let hg = hg();
        hg.ok(path, &["copy", "d/a", "q"]);
        hg.ok(path, &["rename", "d/y", "yy"]);
        hg.ok(path, &["forget", "u/u"]);
        write(path, "n/nn", b"n\n");
    });
    let lines = [
        "-f q", "-f yy", "-f d/y", "-f d", "-f n", "-f n/nn", "-f u", "-f u/u",
    ];
    all(&twin, &lines);
}

/// The same revision of a file comes with a later changeset if the one that its filelog names is hidden.
#[test]
fn hidden_changesets_give_their_place_in_the_history_of_a_file_to_later_ones() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for text in ["1", "2"] {
            write(path, "a", text.as_bytes());
            commit(hg, path, text);
        }
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "other", b"o\n");
        commit(hg, path, "other");
        hg.ok(path, &["graft", "-q", "1"]);
        write(path, "a", b"3");
        commit(hg, path, "3");
        let hidden = hg.ok(path, &["log", "-r", "1", "-T", "{node}"]);
        let markers = "--config=experimental.evolution=all";
        hg.ok(path, &["debugobsolete", &hidden, markers]);
    });
    all(
        &twin,
        &["-G a", "a", "a other", "-r filelog(a)", "--hidden a"],
    );
}
