//! `branch --rev`: changesets that move to another branch.

use super::Twin;
use super::state::{backups, same_state};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const SETTINGS: &str = "[phases]\npublish = no\n[extensions]\nstrip =\n";

const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// A line of five changesets on two branches, with a rename and a removal, and one beside it.
fn begin(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [SETTINGS, settings].concat().as_bytes());
    write(path, "a", b"a\n");
    hg.ok(path, &["add", "a"]);
    commit(hg, path, "zero");
    hg.ok(path, &["branch", "foo"]);
    write(path, "b", b"b\n");
    hg.ok(path, &["add", "b"]);
    commit(hg, path, "one");
    hg.ok(path, &["branch", "bar"]);
    hg.ok(path, &["rename", "b", "c"]);
    commit(hg, path, "two");
    hg.ok(path, &["remove", "a"]);
    write(path, "d", b"d\n");
    hg.ok(path, &["add", "d"]);
    commit(hg, path, "three");
    hg.ok(path, &["update", "-q", "0"]);
    write(path, "e", b"e\n");
    hg.ok(path, &["add", "e"]);
    commit(hg, path, "beside");
    hg.ok(path, &["bookmark", "-i", "-r", "3", "mark"]);
    hg.ok(path, &["update", "-q", "3"]);
}

#[track_caller]
fn step(twin: &Twin, line: &str) {
    twin.all_same(&[line]);
    same_state(twin);
    let read = |path| (markers(path), backups(path));
    assert_eq!(read(twin.theirs()), read(twin.ours()), "{line}");
}

/// The markers but for `ef1`: Mercurial says of most changesets that their extras differ, and of some that they do not.
fn markers(path: &Path) -> Vec<String> {
    let listed = hg().run(path, &["debugobsolete"]).stdout;
    let marker = |line: &str| {
        let (before, effects) = line.split_once("'ef1': '").unwrap_or((line, ""));
        let behind = effects.split_once("', ").map_or("", |(_, behind)| behind);
        format!("{before}{behind}")
    };
    listed.lines().map(marker).collect()
}

#[test]
fn changesets_move_with_and_without_markers() {
    for settings in ["", MARKERS] {
        let twin = Twin::writing_with(|hg, path| begin(hg, path, settings));
        step(&twin, "branch -r 2: other");
        step(&twin, "branch -r mark -f bar");
        step(&twin, "branch -r desc(beside) -v bar -f");
        step(&twin, "branch -r desc(one)::desc(two) more");
        twin.each(|path| drop(hg().run(path, &["update", "-q", "-C", "desc(beside)"])));
        twin.each(|path| drop(hg().run(path, &["merge", "-q", "mark"])));
        step(&twin, "branch -r desc(zero) merging");
        twin.each(|path| commit(&hg(), path, "merge"));
        step(&twin, "branch -r desc(merge) merged");
        step(&twin, "branch -r desc(beside):: merged --force");
        step(&twin, "commit --close-branch -m closed -d 0:0");
        step(&twin, "commit --close-branch -m closed");
        step(&twin, "branch -r tip again");
    }
}

#[test]
fn what_must_stay_is_refused() {
    let twin = Twin::writing(|hg, path| begin(hg, path, ""));
    twin.all_same(&[
        "branch -r .",
        "branch -r none() x",
        "branch -r 1 x",
        "branch -r 3+4 x",
        "branch -r null x",
        "branch -r 9 x",
        "branch -r . tip",
        "branch -r . a:b",
        "branch -r . foo",
        "branch -r . bar",
        "phase -p 1",
        "branch -r 0:1 x",
    ]);
    twin.each(|path| write(path, "d", b"changed\n"));
    step(&twin, "branch -r . x");
    step(&twin, "revert -C d");
    // The next commit begins a branch of its own.
    step(&twin, "branch own");
    step(&twin, "branch -r . x");
    step(&twin, "branch -r . x --config experimental.evolution=all");
}
