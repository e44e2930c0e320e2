//! Destinations that depend on the changeset that moves, and orphans.

use super::merges::{both_ways, two_lines};
use super::{MARKERS, after_each};
use crate::hgcli::Twin;
use varve_testkit::peers::hg;

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
