//! Descriptions that name changesets whose place others take.

use super::{EXTENSION, MARKERS, after_each, same_rewrite};
use crate::hgcli::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

fn name(hg: &Hg, path: &Path, rev: &str) -> String {
    hg.ok(path, &["log", "--hidden", "-r", rev, "-T", "{node}"])
}

/// Six digits, twelve and all of the name of a changeset.
fn names(hg: &Hg, path: &Path, revs: &[&str]) -> String {
    let names = revs.iter().map(|rev| {
        let name = name(hg, path, rev);
        format!("{}, {} and {name}", &name[..6], &name[..12])
    });
    names.collect::<Vec<_>>().join("; ")
}

/// Changesets 3 to 6 follow each other beside 2, and name those below them; 3 has nothing that 2 lacks, 5 conflicts.
fn history(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [EXTENSION, settings].concat().as_bytes());
    write(path, "base", b"base\n");
    commit(hg, path, "base");
    write(path, "e", b"e\n");
    commit(hg, path, "e");
    write(path, "x", b"x\n");
    commit(hg, path, "destination");
    hg.ok(path, &["update", "-q", "0"]);
    write(path, "e", b"e\n");
    commit(hg, path, "e again, facade99 is no name");
    write(path, "f", b"f\n");
    commit(hg, path, &format!("follows {}", names(hg, path, &["3"])));
    write(path, "x", b"other\n");
    let below = names(hg, path, &["3", "4"]);
    commit(hg, path, &format!("conflicts, after {below}"));
    write(path, "g", b"g\n");
    let below = names(hg, path, &["5", "4", "2"]);
    commit(hg, path, &format!("above {below}"));
}

fn descriptions(twin: &Twin) {
    twin.all_same(&["log -T {rev}:{node}\\n{desc}\\n"]);
}

#[test]
fn names_follow_the_changesets_that_move() {
    for (settings, options) in [
        (MARKERS, "-t :local"),
        ("", "--keep -t :other"),
        (
            MARKERS,
            "-t :other --config rebase.experimental.inmemory=yes",
        ),
    ] {
        let twin = Twin::writing_with(|hg, path| history(hg, path, settings));
        after_each(&twin, &[&format!("rebase -s 3 -d 2 {options}")]);
        descriptions(&twin);
    }
}

/// Changeset 4 alone can do without the working copy.
#[test]
fn names_follow_in_memory() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    after_each(&twin, &["update -q 0", "rebase -r 3+4 -d 2 --keep"]);
    descriptions(&twin);
}

#[test]
fn names_follow_when_a_rebase_goes_on() {
    let begun = || {
        let twin = Twin::writing(|hg, path| history(hg, path, MARKERS));
        twin.all_same(&["rebase -s 3 -d 2"]);
        twin.each(|path| write(path, "x", b"settled\n"));
        twin.all_same(&["resolve -q -m x"]);
        twin
    };
    let twin = begun();
    after_each(&twin, &["rebase -c"]);
    descriptions(&twin);
    // The other program has made what is named.
    let other = begun();
    std::fs::rename(twin.theirs(), twin.theirs().with_extension("done")).unwrap();
    std::fs::rename(other.theirs(), twin.theirs()).unwrap();
    hg().ok(other.ours(), &["rebase", "-q", "-c"]);
    hg().ok(twin.theirs(), &["rebase", "-q", "-c"]);
    let read = |path: &Path| hg().ok(path, &["log", "-T", "{node}\n{desc}\n"]);
    assert_eq!(read(other.ours()), read(twin.theirs()));
    assert_eq!(read(twin.ours()), read(twin.theirs()));
}

#[test]
fn the_description_of_one_for_all_stays_as_it_is_typed() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    let message = names(&hg(), twin.theirs(), &["3", "4"]);
    let twin = twin.with("HGEDITOR", "cat");
    twin.same(&[
        "rebase",
        "-s",
        "3",
        "-d",
        "2",
        "--collapse",
        "--keep",
        "-t",
        ":other",
        "-m",
        &message,
    ]);
    same_rewrite(&twin);
    after_each(&twin, &["rebase -s 3 -d 2 --collapse -t :other"]);
    descriptions(&twin);
}

/// Editors get the new names.
#[test]
fn names_are_new_in_the_editor() {
    let editor = "sh -c 'sed -n 1p \"$1\"; echo \"once more: $(sed -n 1p \"$1\")\" > \"$1\"' --";
    let twin = Twin::writing(|hg, path| history(hg, path, MARKERS)).with("HGEDITOR", editor);
    after_each(&twin, &["rebase -s 3 -d 2 -t :local -e"]);
    descriptions(&twin);
}

/// Of several successors, or none, nothing is put in the place of a name; `--verbose` tells it.
#[test]
fn names_follow_earlier_rewriting() {
    let twin = Twin::writing(|hg, path| {
        history(hg, path, MARKERS);
        let node = |rev| name(hg, path, rev);
        hg.ok(path, &["debugobsolete", "-d", "0 0", &node("6")]);
        let [old, one, two] = [node("5"), node("1"), node("2")];
        hg.ok(path, &["debugobsolete", "-d", "0 0", &old, &one, &two]);
        hg.ok(path, &["debugobsolete", "-d", "0 0", &node("4"), &one]);
        write(path, "n", b"n\n");
        hg.ok(path, &["update", "-q", "-C", "0"]);
        let named = names(hg, path, &["6", "5", "4", "3", "6"]);
        commit(hg, path, &format!("names {named}"));
        write(path, "e", b"e\n");
        let named = names(hg, path, &["6", "4"]);
        commit(hg, path, &format!("also names {named}"));
    });
    for options in [
        "--keep -v",
        "--keep --config rebase.experimental.inmemory=yes",
        "-v",
    ] {
        after_each(&twin, &[&format!("rebase -s 7 -d 2 {options}")]);
    }
    descriptions(&twin);
}
