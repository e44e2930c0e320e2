//! Rebases, with obsolescence markers and without.

mod cases;
mod collapsing;
mod destinations;
mod interrupted;
mod merges;
mod named;
mod random;

use super::Twin;
use super::state::{REWRITTEN, backups, same_state_and};
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

const EXTENSION: &str = "[extensions]\namend =\nrebase =\nuncommit =\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// A line of three changesets, of which the second renames a file, and two beside them; the second of these conflicts
/// with the last of the others.
fn history(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [EXTENSION, settings].concat().as_bytes());
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
    hg.ok(path, &["bookmark", "-r", "3", "top"]);
    hg.ok(path, &["bookmark", "-r", "2", "mid"]);
    hg.ok(path, &["update", "-q", "0"]);
    write(path, "n", b"new\n");
    commit(hg, path, "four");
    write(path, "a", b"a\nb\nc\nd\nQ\n");
    commit(hg, path, "five");
    hg.ok(path, &["bookmark", "act"]);
}

/// A twin whose rewritten changesets stay, marked as obsolete; and one where they are stripped.
fn both_ways() -> [Twin; 2] {
    [MARKERS, ""].map(|settings| Twin::writing_with(|hg, path| history(hg, path, settings)))
}

/// Runs each line in both programs, and compares what they say and what is then in the repository.
#[track_caller]
fn after_each(twin: &Twin, lines: &[&str]) {
    for line in lines {
        twin.all_same(&[line]);
        same_rewrite(twin);
    }
}

/// Compares both repositories with their markers, backups, and unfinished rebases, as stock Mercurial reads them.
#[track_caller]
fn same_rewrite(twin: &Twin) {
    let read = |path: &Path| {
        let state = std::fs::read_to_string(path.join(".hg/rebasestate")).unwrap_or_default();
        (state, backups(path))
    };
    let (theirs, ours) = (read(twin.theirs()), read(twin.ours()));
    assert!(theirs == ours, "--- theirs\n{theirs:#?}--- ours\n{ours:#?}");
    same_state_and(twin, REWRITTEN);
}
