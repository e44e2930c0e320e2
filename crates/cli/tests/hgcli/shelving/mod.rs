//! Shelving and unshelving: the same words, the same files below `.hg`, the same working copy.

mod cases;
mod chosen;
mod interrupted;
mod killed;
mod random;

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// Makes the hashes of shelved changesets the same in both programs.
const DATES: &str = "[devel]\ndefault-date = 1700000000 0\n";

/// A history of two changesets, and changes of all kinds over the first.
fn changed(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", DATES.as_bytes());
    for name in ["a", "b", "d/c", "gone", "moved"] {
        write(path, name, format!("{name}\n1\n2\n3\n4\n5\n").as_bytes());
    }
    commit(hg, path, "first\nmore of it");
    write(path, "a", b"A\n1\n2\n3\n4\n5\n");
    commit(hg, path, "second");
    hg.ok(path, &["update", "-q", "0"]);
    change(hg, path);
}

/// Changes of all kinds, which merge with those of the second changeset.
fn change(hg: &Hg, path: &Path) {
    write(path, "a", b"a\n1\n2\n3\n4\nE\n");
    write(path, "d/c", b"other\n");
    hg.ok(path, &["remove", "gone"]);
    hg.ok(path, &["rename", "moved", "d/moved"]);
    write(path, "new", b"new\n");
    hg.ok(path, &["add", "new"]);
    write(path, "unknown", b"unknown\n");
}

fn twin() -> Twin {
    Twin::writing(changed)
}

/// Runs each line in both programs, and compares what they say and what is then there.
#[track_caller]
fn after_each(twin: &Twin, lines: &[&str]) {
    for line in lines {
        twin.all_same(&[line]);
        same(twin);
    }
}

/// Contents of bundles: as they are, or without the deltas that their revisions are sent as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deltas {
    Compared,
    Passed,
}

/// A line about a revision, without the base and the length of its delta.
fn without_delta(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.first() {
        Some(node) if node.len() == 40 => words[..words.len().min(4)].join(" "),
        _ => line.to_owned(),
    }
}

fn texts(directory: &Path, deltas: Deltas) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut texts: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            let bytes = match name.ends_with(".hg") {
                true => {
                    let shown = hg().ok(directory, &["debugbundle", "--all", &name]);
                    match deltas {
                        Deltas::Compared => shown.into_bytes(),
                        Deltas::Passed => {
                            let lines: Vec<String> = shown.lines().map(without_delta).collect();
                            lines.join("\n").into_bytes()
                        }
                    }
                }
                false => std::fs::read(entry.path()).unwrap(),
            };
            (name, bytes)
        })
        .collect();
    texts.sort();
    texts
}

/// Compares history, working copy, shelved changes, and unfinished unshelves.
#[track_caller]
fn same(twin: &Twin) {
    same_as(twin, Deltas::Compared);
}

#[track_caller]
fn same_as(twin: &Twin, deltas: Deltas) {
    let read = |root: &Path| {
        let state = std::fs::read_to_string(root.join(".hg/shelvedstate"));
        let shelves = ["shelved", "shelve-backup"];
        let shelves = shelves.map(|name| texts(&root.join(".hg").join(name), deltas));
        let contents = hg().run(root, &["status", "-amun"]).stdout;
        let contents: Vec<_> = contents
            .lines()
            .map(|name| (name.to_owned(), std::fs::read(root.join(name)).ok()))
            .collect();
        (state.ok(), shelves, contents)
    };
    let (theirs, ours) = (read(twin.theirs()), read(twin.ours()));
    assert!(theirs == ours, "--- theirs\n{theirs:#?}--- ours\n{ours:#?}");
    same_state(twin);
}
