//! Grafts and backouts.

mod backouts;
mod cases;
mod interrupted;
mod random;

use super::Twin;
use super::state::same_state_and;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// A line of three changesets, of which the second renames a file, and one beside them, which is checked out.
fn history(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\nb\nc\nd\ne\n");
    write(path, "b", b"x\n");
    commit(hg, path, "zero");
    write(path, "a", b"A\nb\nc\nd\ne\n");
    commit(hg, path, "one");
    hg.ok(path, &["rename", "b", "c"]);
    commit(hg, path, "two");
    write(path, "a", b"A\nb\nc\nd\nE\n");
    write(path, "c", b"x\ny\n");
    commit(hg, path, "three");
    hg.ok(path, &["update", "0"]);
    write(path, "a", b"a\nb\nc\nd\nQ\n");
    commit(hg, path, "four");
}

/// Runs each line in both programs, and compares what they say and what is then in the repository.
#[track_caller]
fn after_each(twin: &Twin, lines: &[&str]) {
    for line in lines {
        twin.all_same(&[line]);
        same_merge(twin);
    }
}

/// Compares both repositories, and the unfinished merges as stock Mercurial reads them.
#[track_caller]
fn same_merge(twin: &Twin) {
    let read = |path: &Path| std::fs::read(path.join(".hg/graftstate")).unwrap_or_default();
    assert_eq!(read(twin.theirs()), read(twin.ours()));
    same_state_and(twin, &[&["debugmergestate"]]);
}
