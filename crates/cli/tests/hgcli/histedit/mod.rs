//! Editing history by plans, with obsolescence markers and without.

mod cases;
mod interrupted;
mod killed;
mod random;

use super::Twin;
use super::state::{REWRITTEN, backups, same_state_and};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

const SETTINGS: &str = "[extensions]\nhistedit =\n[devel]\ndefault-date = 1700000000 0\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// A changeset that the one of this number makes, with a date of its own.
fn commit(hg: &Hg, path: &Path, number: usize, description: &str) {
    let date = format!("{number} 0");
    hg.ok(
        path,
        &["commit", "-q", "-A", "-d", &date, "-m", description],
    );
}

/// Six changesets in a line: new files, a rename, and two that change the same line.
fn history(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [SETTINGS, settings].concat().as_bytes());
    write(path, ".hgignore", b"^plan\n");
    write(path, "a", b"a\n1\n2\n3\n");
    commit(hg, path, 0, "zero");
    write(path, "b", b"b\n");
    commit(hg, path, 1, "one\n\nmore of one");
    write(path, "a", b"A\n1\n2\n3\n");
    commit(hg, path, 2, "two");
    hg.ok(path, &["rename", "b", "c"]);
    commit(hg, path, 3, "three");
    write(path, "a", b"A\n1\n2\nZ\n");
    write(path, "d/e", b"e\n");
    commit(hg, path, 4, "four");
    write(path, "a", b"AA\n1\n2\nZ\n");
    commit(hg, path, 5, "five");
    for number in 1..=5 {
        let (name, rev) = (format!("b{number}"), number.to_string());
        hg.ok(path, &["bookmark", "-r", &rev, &name]);
    }
}

/// A twin whose old changesets stay, marked as obsolete; and one where they are stripped.
fn both_ways() -> [Twin; 2] {
    [MARKERS, ""].map(twin)
}

fn twin(settings: &str) -> Twin {
    let twin = Twin::writing_with(|hg, path| history(hg, path, settings));
    twin.with("HGEDITOR", "true")
}

/// Writes a plan of actions and numbers of changesets, such as `pick 1`, into both copies.
fn write_plan(twin: &Twin, plan: &[&str]) {
    let mut text = String::new();
    for line in plan {
        let (verb, rev) = line.split_once(' ').unwrap();
        let node = hg().ok(twin.theirs(), &["log", "-r", rev, "-T", "{node|short}"]);
        text += &format!("{verb} {node} whatever\n");
    }
    twin.each(|path| write(path, "plan", text.as_bytes()));
}

/// Carries out a plan from a changeset on.
#[track_caller]
fn edit(twin: &Twin, root: &str, plan: &[&str]) {
    write_plan(twin, plan);
    after_each(twin, &[&format!("histedit --commands plan {root}")]);
}

/// Runs each line in both programs, and compares what they say and what is then in the repository.
#[track_caller]
fn after_each(twin: &Twin, lines: &[&str]) {
    for line in lines {
        twin.all_same(&[line]);
        same(twin);
    }
}

/// Compares both repositories with their markers, backups, and unfinished edits.
#[track_caller]
fn same(twin: &Twin) {
    let read = |path: &Path| {
        let state = std::fs::read_to_string(path.join(".hg/histedit-state")).unwrap_or_default();
        (state, backups(path))
    };
    let (theirs, ours) = (read(twin.theirs()), read(twin.ours()));
    assert!(theirs == ours, "--- theirs\n{theirs:#?}--- ours\n{ours:#?}");
    same_state_and(twin, REWRITTEN);
}
