//! Rebases with `--collapse`.

use super::merges::two_lines;
use super::{MARKERS, after_each, both_ways, history, same_rewrite};
use crate::hgcli::Twin;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

fn settle(path: &Path) {
    write(path, "a", b"settled\n");
    let _ = std::fs::remove_file(path.join("a.orig"));
}

#[test]
fn all_become_one() {
    for line in [
        "rebase -s 1 -d 4 --collapse -m together",
        "rebase -s 1 -d 4 --collapse --config ui.editor=true",
        "rebase -s 1 -d 4 --collapse -e -m edited --config ui.editor=true --keep",
        "rebase -s 1 -d 0 --collapse -m together -v --keep",
        "rebase -r 2:3 -d 1 --collapse -m together",
        "rebase -r 3 -d 2 --collapse -m together",
        "rebase -s 1 -d 5 --collapse -m together -t :other",
        "rebase -s 1 -d 5 --collapse -m together -t :local",
    ] {
        for twin in both_ways() {
            after_each(&twin, &[line]);
        }
    }
}

#[test]
fn a_collapsed_merge_keeps_the_parent_outside() {
    for line in [
        "rebase -r 2+8 -d 5 --collapse -m together",
        "rebase -s 7 -d 5 --collapse -m together",
        "rebase -s 1 -s 3 -d 5 --collapse -m together",
        "rebase -r 2+4 -d 5 --collapse -m together --keep",
        "rebase -r 6+5+7 -d 0 --collapse -m together --keep",
    ] {
        for settings in [MARKERS, ""] {
            let twin = Twin::writing_with(|hg, path| two_lines(hg, path, settings));
            after_each(&twin, &[line]);
        }
    }
}

#[test]
fn branches_must_not_differ_if_they_are_kept() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    after_each(
        &twin,
        &[
            "update -q 3",
            "branch -q foo",
            "commit -m branched --config ui.allowemptycommit=1",
            "rebase -s 1 -d 4 --collapse -m x --keepbranches",
            "rebase -r 6 -d 4 --collapse -m x --keepbranches",
            "rebase -s 1 -d 4 --collapse -m x",
        ],
    );
}

#[test]
fn conflicts_are_settled_in_the_middle() {
    for (options, end) in [
        (&["-m", "together"][..], "-c"),
        (&["-l", ".hg/hgrc"], "-c"),
        (&[], "-c --config ui.editor=true"),
        (&["--keep", "-m", "together"], "-c"),
        (&["-m", "together"], "-a"),
        (&["-m", "together"], "--stop"),
    ] {
        for twin in both_ways() {
            let line = ["rebase", "-s", "1", "-d", "5", "--collapse"];
            twin.same(&[&line[..], options].concat());
            same_rewrite(&twin);
            after_each(&twin, &["summary", "rebase -c"]);
            twin.each(settle);
            after_each(&twin, &["resolve -m a", &format!("rebase {end}")]);
        }
    }
}

#[test]
fn each_program_ends_what_the_other_began() {
    let line = ["rebase", "-s", "1", "-d", "5", "--collapse", "-m", "mine"];
    for option in ["-c", "-a"] {
        let twin = Twin::writing(|hg, path| history(hg, path, MARKERS));
        assert_eq!(hg().run(twin.ours(), &line).code, Some(1));
        let other = Twin::writing(|hg, path| history(hg, path, MARKERS));
        assert_eq!(other.run(&line).ours.code, Some(240));
        for path in [twin.ours(), other.ours()] {
            settle(path);
            hg().ok(path, &["resolve", "-m", "a"]);
        }
        assert_eq!(twin.run(&["rebase", option]).ours.code, Some(0));
        hg().ok(other.ours(), &["rebase", option]);
        let read = |path: &Path| ["log", "bookmarks", "status"].map(|look| hg().ok(path, &[look]));
        assert_eq!(read(twin.ours()), read(other.ours()), "{option}");
    }
}

#[test]
fn refusals() {
    let twin = Twin::writing(|hg, path| history(hg, path, ""));
    after_each(
        &twin,
        &[
            "rebase -s 1 -d 4 --collapse -m x -l y",
            "rebase -s 1 -d 4 --collapse -l nothere",
            "rebase -s 1 -d 4 -m x",
            "rebase -c --collapse",
            "rebase -a --collapse -m x",
            "rebase -r 1+4 -d max(SRC&4-4+5+(SRC&1-1))-SRC --collapse -m x",
        ],
    );
}

#[test]
fn a_collapse_is_tried_first() {
    let words = "rebase -d 1 --collapse -m together --config ui.interactive=yes --confirm";
    for twin in both_ways() {
        after_each(
            &twin,
            &[
                "rebase -r 4:5 -d 1 -n --collapse",
                "rebase -r 1 -d 4 -n --collapse -m together",
            ],
        );
        for (source, answer) in [("4:5", "n\n"), ("4:5", "y\n")] {
            let line = format!("{words} -r {source}");
            let line: Vec<&str> = line.split(' ').collect();
            twin.same_answering(&line, answer);
            same_rewrite(&twin);
        }
    }
}
