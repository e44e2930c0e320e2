//! `summary --remote`: what the usual source and destination have, or lack.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

fn add(hg: &Hg, path: &Path, name: &str) {
    write(path, name, name.as_bytes());
    hg.ok(path, &["add", name]);
    commit(hg, path, name);
}

/// A clone beside the repository that it comes from, and one that has nothing to do with it.
fn begin(hg: &Hg, path: &Path) {
    let beside = |name: &str| path.parent().unwrap().join(name);
    for name in ["source", "other", "empty"] {
        std::fs::create_dir(beside(name)).unwrap();
        hg.ok(&beside(name), &["init"]);
    }
    add(hg, &beside("source"), "zero");
    add(hg, &beside("other"), "unrelated");
    std::fs::remove_dir_all(path).unwrap();
    hg.ok(&beside("source"), &["clone", "-q", ".", "../repository"]);
    write(
        path,
        ".hg/hgrc",
        b"[paths]\ndefault = ../source\nother = ../other\n",
    );
}

/// The source goes with each copy.
fn twin() -> Twin {
    let twin = Twin::writing(begin);
    let [from, to] = [twin.theirs(), twin.ours()].map(|path| path.parent().unwrap());
    for name in ["source", "other", "empty"] {
        let copied = std::process::Command::new("cp")
            .arg("-a")
            .args([from.join(name), to.join(name)])
            .status();
        assert!(copied.unwrap().success());
    }
    twin
}

#[test]
fn the_line_counts_both_ways() {
    let twin = twin();
    let hg = hg();
    let source = |path: &Path| path.parent().unwrap().join("source");
    twin.all_same(&["summary --remote", "summary -q --remote"]);
    twin.each(|path| add(&hg, path, "one"));
    twin.each(|path| drop(hg.ok(path, &["bookmark", "here"])));
    twin.all_same(&["summary --remote"]);
    twin.each(|path| add(&hg, &source(path), "two"));
    twin.each(|path| drop(hg.ok(&source(path), &["bookmark", "there"])));
    twin.all_same(&[
        "summary --remote",
        "summary --remote -q",
        "summary --remote -v",
        "summary --remote --config paths.default-push=../empty",
        "summary --remote --config paths.default=../empty",
        "summary --remote --config paths.default=../source#default",
        "summary --remote --config paths.default=../source#nosuch",
        "summary --remote --config paths.default-push=../other",
        "summary --remote --config paths.default=../nothere",
        "summary --remote --config paths.default=http://127.0.0.1:1/",
        "phase -f -s .",
        "summary --remote",
    ]);
    // A bookmark that has moved on one side is on both.
    twin.each(|path| drop(hg.ok(path, &["bookmark", "-r", "0", "there"])));
    twin.all_same(&["summary --remote"]);
}
