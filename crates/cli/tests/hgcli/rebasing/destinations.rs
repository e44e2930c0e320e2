//! Destinations that depend on the changeset that moves, and orphans.

use super::merges::{both_ways, two_lines};
use super::{MARKERS, after_each, history};
use crate::hgcli::Twin;
use crate::hgcli::state::same_state;
use varve_testkit::peers::hg;
use varve_testkit::repos::{commit, write};

#[test]
fn each_changeset_has_its_own_destination() {
    for line in [
        "rebase -r 6+5 -d SRC^",
        "rebase -r 6+5 -d SRC^^",
        "rebase -r 5+6 -d max(4:7-ALLSRC)",
        "rebase -r 5+6 -d 3:4-SRC",
        "rebase -r 5+6 -d SRC-SRC",
        "rebase -r 5+6 -d max(ALLSRC-SRC)",
        "rebase -r 5 -d SRC-SRC -v",
        "rebase -r 6+5 -d (SRC&6)-6+(4-(4&SRC))",
        "rebase -r 5+6 -d max((SRC&6)^+0)+(SRC&5)-SRC",
        "rebase -s 2+7 -d max(roots(ALLSRC&::SRC)^)",
        "rebase -b 5 -d SRC",
        "rebase -r null -d SRC",
        "rebase -r 5 -d desc(SRC)",
        "rebase -r 5+6 -d max(4+(SRC&5)-5)+(SRC&6)-6 --collapse -m x",
    ] {
        for twin in both_ways() {
            after_each(&twin, &[line]);
        }
    }
}

#[test]
fn orphans_follow_their_parents() {
    let twin = Twin::writing(|hg, path| two_lines(hg, path, MARKERS));
    twin.each(|path| {
        hg().ok(path, &["update", "-q", "3"]);
        hg().ok(path, &["commit", "--amend", "-q", "-m", "three"]);
    });
    after_each(
        &twin,
        &[
            "rebase --auto-orphans 5:6",
            "rebase --auto-orphans 0: -d 3",
            "rebase --auto-orphans 0: -r 3",
            "rebase --auto-orphans 0: --collapse",
            "rebase --auto-orphans 0: -k",
            "rebase --auto-orphans 0: -t :local",
            "rebase --auto-orphans 0: -n",
            "rebase --auto-orphans 0:7",
            "rebase --auto-orphans 0:",
        ],
    );
}

#[test]
fn a_base_without_a_common_ancestor_keeps_all_in_place() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", b"[extensions]\nrebase =\n");
        for (name, parent) in [
            ("a", None),
            ("b", None),
            ("c", Some("null")),
            ("d", None),
            ("e", Some("0")),
        ] {
            if let Some(parent) = parent {
                hg.ok(path, &["update", "-q", parent]);
            }
            write(path, name, b"x\n");
            commit(hg, path, name);
        }
    });
    twin.all_same(&[
        "rebase -b 1+3 -d 4",
        "rebase -b 3 -d 4",
        "log -G -T {rev}{desc}",
        "rebase -b 1 -d 4",
        "log -G -T {rev}{desc}",
    ]);
}

#[test]
fn the_branch_that_is_set_at_the_destination_counts() {
    for (at, line) in [
        ("4", "rebase -r 1:3 -d ."),
        ("4", "rebase -r 1:3 -d 5"),
        ("4", "rebase -r 1:3 -d . --collapse -m all"),
        ("4", "rebase -r 1:3 -d . --keepbranches"),
        ("5", "rebase -r 1:3 -d 4"),
        ("3", "rebase -s 2 -d 4"),
        ("3", "rebase -s 1 -d 0"),
        ("0", "rebase -s 1 -d 0"),
        ("4", "rebase -r 1:3 -d . -n"),
        ("4", "rebase -r 1:3 -d . --tool :local"),
    ] {
        let twin = Twin::writing_with(|hg, path| {
            history(hg, path, "");
            hg.ok(path, &["update", "-q", at]);
            hg.ok(path, &["branch", "-q", "new"]);
        });
        twin.all_same(&[line, "branch", "log -T {rev}{desc}{branch}\n"]);
        same_state(&twin);
    }
}
