//! Bookmarks of another repository: which of them it shows, and how `bookmarks.mode` has them exchanged.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// Two lines of development in `source`, with bookmarks that a pull has kept beside others, and `copy` of it,
/// whose bookmarks are elsewhere.
fn sides(hg: &Hg, path: &Path) {
    let source = path.join("source");
    std::fs::create_dir(&source).unwrap();
    hg.ok(&source, &["init"]);
    for (name, parent) in [("a", "null"), ("b", "0"), ("c", "0")] {
        hg.ok(&source, &["update", "-q", parent]);
        write(&source, name, name.as_bytes());
        commit(hg, &source, name);
    }
    hg.ok(path, &["clone", "-q", "source", "copy"]);
    let mark = |directory: &str, rev: &str, names: &[&str]| {
        let words = [&["bookmark", "-q", "-r", rev][..], names].concat();
        hg.ok(&path.join(directory), &words);
    };
    mark("source", "1", &["apart", "@", "only-there", "ahead"]);
    mark("source", "2", &["apart@other", "ahead@1"]);
    mark("copy", "2", &["apart", "@", "only-here"]);
    mark("copy", "0", &["ahead"]);
    write(
        &path.join("copy"),
        ".hg/hgrc",
        b"[paths]\nnamed = ../source\n",
    );
}

fn in_modes(line: &[&str]) {
    for mode in ["default", "mirror", "ignore", "other"] {
        let twin = Twin::writing(sides);
        let setting = format!("--config=paths.named:bookmarks.mode={mode}");
        let of_all = format!("--config=paths.*:bookmarks.mode={mode}");
        for (address, setting) in [("named", &setting), ("../source", &of_all)] {
            twin.same_in("copy", &[line, &[address, setting]].concat());
        }
        twin.same_in("copy", &["bookmarks"]);
    }
}

#[test]
fn a_path_decides_how_bookmarks_are_pulled() {
    in_modes(&["pull"]);
}

#[test]
fn a_path_decides_which_bookmarks_are_incoming() {
    in_modes(&["incoming", "-B", "-v"]);
}

#[test]
fn bookmarks_kept_beside_others_are_not_shown_to_others() {
    let twin = Twin::writing(sides);
    twin.same_in("copy", &["debugpushkey", "../source", "bookmarks"]);
    twin.same_in("copy", &["incoming", "-B", "../source"]);
}

#[test]
fn the_active_bookmark_is_pulled_by_a_dot() {
    let twin = Twin::writing(sides);
    twin.same_in("copy", &["pull", "-B", ".", "named"]);
    for name in ["apart", "only-here"] {
        twin.same_in("copy", &["update", "-q", name]);
        twin.same_in("copy", &["pull", "-B", ".", "named"]);
    }
    twin.same_in("copy", &["bookmarks"]);
}

#[test]
fn a_bookmark_that_moves_takes_those_kept_beside_it_along() {
    let twin = Twin::writing(sides);
    let in_source = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        twin.same_in("source", &words);
    };
    for line in [
        "bookmark -q -r 0 ahead@0",
        "bookmark -q -r 1 ahead@2",
        "bookmark ahead -r ahead@1",
        "bookmarks",
        "bookmark apart -r 0",
        "bookmark -q -r 0 apart@0",
        "bookmark -q -f -r 0 apart",
        "bookmark apart -r 2",
        "bookmarks",
        "bookmark only-there -r 2",
    ] {
        in_source(line);
    }
}

/// A changeset with a bookmark that is rewritten in `source` while `copy` has it.
#[test]
fn bookmarks_follow_to_the_successors_of_their_changesets() {
    const MARKERS: &str = "--config=experimental.evolution=all";
    let twin = Twin::writing_with(|hg, path| {
        let source = path.join("source");
        std::fs::create_dir(&source).unwrap();
        hg.ok(&source, &["init"]);
        for name in ["a", "b"] {
            write(&source, name, name.as_bytes());
            commit(hg, &source, name);
        }
        write(&source, ".hg/hgrc", b"[phases]\npublish = no\n");
        hg.ok(&source, &["bookmark", "moves"]);
        hg.ok(path, &["clone", "-q", "-u", "moves", "source", "copy"]);
        write(&source, "b", b"changed");
        hg.ok(&source, &["commit", "--amend", "-m", "new", MARKERS]);
    });
    twin.same_in("copy", &["pull", "-q", MARKERS]);
    twin.same_in("copy", &["bookmarks", MARKERS]);
}

#[test]
fn bookmarks_at_the_null_changeset_are_exchanged() {
    let twin = Twin::writing(sides);
    for words in [
        &["bookmark", "-r", "null", "empty"][..],
        &["push", "-B", "empty", "../source"],
        &["debugpushkey", "../source", "bookmarks"],
        &["clone", "../source", "../again"],
        &["-R", "../again", "bookmarks"],
        // Neither needs a changeset in common.
        &["clone", "-r", "null", "../source", "../nothing"],
        &["-R", "../nothing", "bookmarks"],
        &["init", "../unrelated"],
        &["-R", "../unrelated", "debugbuilddag", "+1"],
        &["-R", "../unrelated", "pull", "-B", "empty", "../source"],
        &["-R", "../unrelated", "bookmarks"],
        &["bookmark", "-d", "empty"],
        &["push", "-B", "empty", "../source"],
        &["debugpushkey", "../source", "bookmarks"],
    ] {
        twin.same_in("copy", words);
    }
}

/// Only a bookmark that is new there makes a new head of its own; and those beside others stay at home.
#[test]
fn named_bookmarks_are_pushed_or_stay() {
    let twin = Twin::writing(|hg, path| {
        sides(hg, path);
        write(&path.join("copy"), "d", b"d");
        hg.ok(&path.join("copy"), &["update", "-q", "0"]);
        commit(hg, &path.join("copy"), "d");
        hg.ok(
            &path.join("copy"),
            &["bookmark", "-f", "-r", "3", "apart", "x@other"],
        );
    });
    for line in ["push -B apart", "push -B x@other", "push -B apart -f"] {
        let words: Vec<&str> = line.split(' ').chain(["../source"]).collect();
        twin.same_in("copy", &words);
    }
    twin.same_in("source", &["bookmarks"]);
}
