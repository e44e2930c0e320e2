//! `copy --at-rev` and `rename --at-rev`: copies of a changeset that was committed without them.

use super::Twin;
use super::state::{backups, same_state};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const COPIES: &str = "{rev}:{node} {file_copies % '{name}<{source} '}\n";

/// The third changeset has two copies that are not recorded, and one that is.
fn begin(hg: &Hg, path: &std::path::Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    write(path, "d/x", b"x\n");
    hg.ok(path, &["add", "-q"]);
    commit(hg, path, "zero");
    write(path, "b", b"b\n");
    hg.ok(path, &["add", "b"]);
    commit(hg, path, "one");
    hg.ok(path, &["copy", "a", "recorded"]);
    write(path, "c", b"b\nmore\n");
    write(path, "d/y", b"x\n");
    hg.ok(path, &["add", "c", "d/y"]);
    hg.ok(path, &["remove", "b"]);
    commit(hg, path, "two");
}

#[track_caller]
fn step(twin: &Twin, line: &str) {
    twin.all_same(&[line]);
    same_state(twin);
    let read = |path| {
        (
            hg().run(path, &["log", "-G", "-T", COPIES]).stdout,
            backups(path),
        )
    };
    assert_eq!(read(twin.theirs()), read(twin.ours()), "{line}");
}

#[test]
fn copies_are_recorded_and_forgotten() {
    let twin = Twin::writing(begin);
    twin.each(|path| write(path, "c", b"local\n"));
    step(&twin, "copy -A --at-rev . b c");
    step(&twin, "rename -v --after --at-rev . d/x d/y");
    step(&twin, "copy -A --at-rev . d/x d/x");
    step(&twin, "copy --forget --at-rev . recorded a");
    step(
        &twin,
        "copy --forget --at-rev . c --config experimental.evolution=all",
    );
    step(
        &twin,
        "copy -A --at-rev desc(one) a b --config experimental.evolution=all",
    );
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let twin = Twin::writing(begin);
    for line in [
        "copy --at-rev . b c",
        "copy -A --at-rev . c",
        "copy -A --at-rev . nosuch c",
        "copy -A --at-rev . b nosuch",
        "copy -A --at-rev . glob:* c",
        "copy -A --at-rev . b d",
        "copy -A --at-rev 1 a b",
        "copy -A --at-rev null a b",
        "copy --forget --at-rev . b",
        "phase -p .",
        "copy -A --at-rev . b c",
    ] {
        step(&twin, line);
    }
}
