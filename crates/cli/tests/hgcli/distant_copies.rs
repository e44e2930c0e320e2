//! Copies and renames between changesets that do not descend from each other, and between distant ones.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// Seven changesets on two lines of descent, which rename the same files differently and are merged.
fn renames(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["a", "b1", "b2", "b3", "d/d"] {
        write(path, name, format!("line of {name}\n").as_bytes());
    }
    commit(hg, path, "0");
    hg.ok(path, &["rename", "a", "a1"]);
    hg.ok(path, &["copy", "b1", "c1"]);
    hg.ok(path, &["rename", "d/d", "d/e"]);
    commit(hg, path, "1");
    hg.ok(path, &["rename", "a1", "a2"]);
    hg.ok(path, &["copy", "b2", "c2"]);
    commit(hg, path, "2");
    hg.ok(path, &["remove", "a2"]);
    hg.ok(path, &["rename", "c1", "c3"]);
    commit(hg, path, "3");
    hg.ok(path, &["update", "1"]);
    hg.ok(path, &["rename", "a1", "a9"]);
    hg.ok(path, &["copy", "b3", "c3"]);
    hg.ok(path, &["rename", "d/e", "e"]);
    commit(hg, path, "4");
    hg.ok(path, &["merge", "2"]);
    commit(hg, path, "5");
    hg.ok(path, &["rename", "a9", "a"]);
    hg.ok(path, &["remove", "b1"]);
    commit(hg, path, "6");
}

#[test]
fn every_pair_has_the_same_copies() {
    let twin = Twin::writing(renames);
    let revs = ["null", "0", "1", "2", "3", "4", "5", "6"];
    for (old, new) in revs.iter().flat_map(|old| revs.map(|new| (old, new))) {
        if *old != new {
            twin.same(&["status", "-C", "--rev", old, "--rev", new]);
        }
    }
}

#[test]
fn differences_and_the_working_copy_have_them_too() {
    let twin = Twin::writing(renames);
    twin.each(|path| {
        let hg = hg();
        hg.ok(path, &["copy", "a", "zz"]);
        hg.ok(path, &["rename", "c2", "c22"]);
    });
    for old in ["0", "1", "2", "3", "4", "5", "6"] {
        twin.same(&["status", "-C", "--rev", old]);
        twin.same(&["diff", "--git", "-r", old]);
        twin.same(&["diff", "--git", "-r", old, "-r", "3"]);
    }
}
