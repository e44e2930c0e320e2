//! Rebases of merge changesets.

use super::{EXTENSION, MARKERS, after_each};
use crate::hgcli::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// Two lines of development, 1 and 2, and 3, 4 and 7, which 8 merges; 5 and 6 are beside them.
pub(super) fn two_lines(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [EXTENSION, settings].concat().as_bytes());
    write(path, "shared", b"a\nb\nc\nd\ne\nf\ng\nh\n");
    for (name, parent) in [
        ("0", None),
        ("1", None),
        ("2", None),
        ("3", Some("0")),
        ("4", None),
        ("5", Some("0")),
        ("6", Some("1")),
        ("7", Some("4")),
    ] {
        if let Some(parent) = parent {
            hg.ok(path, &["update", "-q", parent]);
        }
        write(path, &format!("f{name}"), name.as_bytes());
        commit(hg, path, name);
    }
    hg.ok(path, &["merge", "-q", "2"]);
    commit(hg, path, "8");
}

pub(super) fn both_ways() -> [Twin; 2] {
    [MARKERS, ""].map(|settings| Twin::writing_with(|hg, path| two_lines(hg, path, settings)))
}

#[test]
fn merges_move_with_one_side_or_both() {
    for line in [
        "rebase -s 1 -d 5",
        "rebase -s 2 -d 4",
        "rebase -s 7 -d 6",
        "rebase -r 2+8 -d 5 -v --keep",
        "rebase -s 1 -s 3 -d 5",
    ] {
        for twin in both_ways() {
            after_each(&twin, &[line]);
        }
    }
}

#[test]
fn merges_that_would_bring_others_are_refused() {
    for line in ["rebase -r 8 -d 5", "rebase -s 2 -s 7 -d 5"] {
        for twin in both_ways() {
            after_each(&twin, &[line, "rebase --abort"]);
        }
    }
}

#[test]
fn a_merge_with_a_conflict_is_settled() {
    for option in ["--continue", "--abort", "--stop"] {
        for twin in both_ways() {
            twin.each(|path| {
                let hg = varve_testkit::peers::hg();
                write(path, "shared", b"evil merge\n");
                hg.ok(path, &["commit", "--amend", "-q", "-m", "8"]);
                hg.ok(path, &["update", "-q", "5"]);
                write(path, "shared", b"other\n");
                commit(&hg, path, "9");
            });
            after_each(&twin, &["rebase -s 2 -d tip"]);
            twin.each(|path| write(path, "shared", b"settled\n"));
            after_each(&twin, &["resolve -m shared", &format!("rebase {option}")]);
        }
    }
}
