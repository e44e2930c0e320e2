//! `incoming`, and `pull`, `clone` and `identify` of bundles.

use super::Twin;
use super::bundle_repository::Made;
use std::path::Path;
use varve_testkit::peers::hg;

/// A copy of the repository that lacks changesets, with one of its own.
fn part(root: &Path) {
    let from = Made::shared().path("part");
    hg().ok(root, &["init"]);
    hg().ok(root, &["pull", "-q", from.to_str().unwrap()]);
    hg().ok(root, &["update", "-q"]);
    std::fs::write(root.join("own"), "own").unwrap();
    hg().ok(root, &["commit", "-qAm", "own", "-d", "9 0"]);
}

fn text(name: &str) -> String {
    Made::shared().path(name).to_str().unwrap().to_owned()
}

const OPTIONS: [&str; 20] = [
    "",
    "-q",
    "-n -q",
    "-M -q",
    "-l 2",
    "-r 6 -q",
    "-r tip -q",
    "-r 0",
    "-r none",
    "-b default -q",
    "-b none",
    "-p",
    "-p --stat --git -l 3",
    "-v -l 1",
    "-G",
    "-G -M",
    "-G -n",
    "-B",
    "-B -v",
    "-T {rev}:{node|short}\\s{phase}\\s{tags}\\s{bookmarks}\\s{parents}\\n",
];

fn each_option(twin: &Twin, source: &str) {
    for options in OPTIONS {
        one_option(twin, options, source);
    }
}

fn one_option(twin: &Twin, options: &str, source: &str) {
    let options = options.split(' ').filter(|word| !word.is_empty());
    let words: Vec<&str> = ["incoming"].into_iter().chain(options).collect();
    twin.same(&[&words[..], &[source]].concat());
}

#[test]
fn what_a_neighbour_has_is_shown() {
    let twin = Twin::writing(|_, root| part(root));
    each_option(&twin, &text("whole"));
    twin.same(&["in", &text("part")]);
    twin.same(&["in", "."]);
    twin.same(&["in"]);
    twin.same(&["in", "none"]);
    twin.same(&["in", "-T", "json", "-r", "6", &text("whole")]);
}

#[test]
fn what_a_bundle_has_is_shown() {
    let twin = Twin::writing(|_, root| part(root));
    for kind in ["none-v1", "bzip2-v2", "zstd-v3"] {
        each_option(&twin, &text(&format!("some-{kind}.hg")));
    }
    twin.same(&["in", &text("stream.hg")]);
    twin.same(&["in", "missing.hg"]);
    twin.same(&["in", &format!("bundle:{}", text("all-none-v1.hg"))]);
}

#[test]
fn what_a_server_has_is_shown() {
    let twin = Twin::writing(|_, root| part(root));
    let server = hg().serve(&Made::shared().path("whole"));
    let quiet = |options: &&&str| !options.contains("-v");
    // Mercurial counts requests and bytes with --verbose.
    for options in OPTIONS.iter().filter(quiet) {
        one_option(&twin, options, server.url());
    }
    let empty = Twin::writing(|hg, root| {
        hg.ok(root, &["init"]);
    });
    empty.same(&["in", "-q", server.url()]);
    empty.same(&["in", "-l", "1", server.url()]);
}

#[test]
fn what_is_unrelated_is_shown_only_by_force() {
    let twin = Twin::writing(|hg, root| {
        hg.ok(root, &["init"]);
        std::fs::write(root.join("own"), "own").unwrap();
        hg.ok(root, &["commit", "-qAm", "own", "-d", "9 0"]);
    });
    let server = hg().serve(&Made::shared().path("whole"));
    for source in [text("whole"), server.url().to_owned()] {
        twin.same(&["in", &source]);
        twin.same(&["in", "-f", "-q", &source]);
        twin.same(&["in", "-f", "-G", &source]);
    }
}

#[test]
fn a_kept_bundle_brings_what_was_shown() {
    let twin = Twin::writing(|_, root| part(root));
    let server = hg().serve(&Made::shared().path("whole"));
    for (name, source) in [
        ("near.hg", text("whole")),
        ("far.hg", server.url().to_owned()),
    ] {
        twin.same(&["in", "--bundle", name, "-q", &source]);
        twin.same(&["in", "-q", name]);
        twin.same(&["in", "--bundle", "none/x.hg", "-q", &source]);
    }
    let log = |root: &Path| hg().ok(root, &["log", "-p", "--debug", "-T", "{node}\n"]);
    // One program reads the bundle that the other one kept.
    twin.each(|root| {
        hg().ok(root, &["unbundle", "-q", "far.hg"]);
        hg().ok(root, &["verify", "-q"]);
    });
    assert!(log(twin.ours()) == log(twin.theirs()));
    // What was published there is a draft in a bundle.
    let phases = |root: &Path| hg().ok(root, &["log", "-T", "{node} {phase}\n"]);
    assert!(phases(twin.ours()) == phases(twin.theirs()));
    twin.same(&["in", &text("whole")]);
}

#[test]
fn a_bundle_is_pulled_cloned_and_identified() {
    let phases = ["log", "-T", "{rev}:{node|short} {phase} {bookmarks}\n"];
    for kind in ["none-v1", "bzip2-v2", "zstd-v3"] {
        let twin = Twin::writing(|_, root| part(root));
        let (some, all) = (
            text(&format!("some-{kind}.hg")),
            text(&format!("all-{kind}.hg")),
        );
        for options in [&[][..], &["-r", "6"], &["-r", "tip"], &["-n"], &["-nibtB"]] {
            twin.same(&[&["identify", &some][..], options].concat());
        }
        twin.same(&["pull", "-r", "6", &some]);
        twin.same(&["pull", "-u", &some]);
        twin.same(&["pull", &format!("bundle:{some}")]);
        twin.same(&phases);
        twin.same_in("..", &["clone", &all, "cloned"]);
        twin.same_in("../cloned", &phases);
        twin.same_in("../cloned", &["paths"]);
        twin.same_in("../cloned", &["status"]);
        twin.same_in("..", &["clone", "-U", "-r", "6", &all, "some"]);
        twin.same_in("../some", &phases);
        // Of the first version Mercurial looks for the base of the delta first.
        if kind != "none-v1" {
            twin.same_in("..", &["clone", &some, "none"]);
        }
        twin.same_in(
            "..",
            &["clone", "-q", &format!("bundle:repository+{some}"), "both"],
        );
        twin.same_in("../both", &phases);
        twin.same_in("..", &["clone", "-U", "--stream", &all, "stream"]);
        twin.same(&["verify", "-q"]);
    }
}
