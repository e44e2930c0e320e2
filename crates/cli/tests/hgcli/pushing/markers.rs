//! Obsolescence markers travel, and unstable changesets are refused.

use super::{Pair, commit};

const EVOLVES: &str = "[experimental]\nevolution = all\n";

fn evolving(publishes: bool, there: bool) -> Pair {
    let pair = Pair::new();
    pair.each_clone(|root| pair.configure(root, EVOLVES));
    let phases = if publishes {
        ""
    } else {
        "[phases]\npublish = no\n"
    };
    let markers = if there { EVOLVES } else { "" };
    pair.settings_there(&format!("{phases}{markers}"));
    pair
}

fn amend(pair: &Pair, message: &str) {
    pair.each_clone(|root| {
        let line = ["commit", "-q", "--amend", "-m", message, "-d", "2 0"];
        pair.hg.ok(root, &line);
    });
}

#[test]
fn amended_changesets_take_the_place_of_the_old_ones() {
    for there in [true, false] {
        let pair = evolving(false, there);
        pair.commit("c");
        pair.same(&["push"]);
        amend(&pair, "amended");
        pair.same(&["push", "push"]);
        pair.commit("d");
        amend(&pair, "d again");
        pair.same(&["push local", "push local"]);
        amend(&pair, "and again");
        pair.same(&["push local"]);
        pair.verify();
    }
}

#[test]
fn unstable_changesets_are_refused_unless_forced() {
    let pair = evolving(true, true);
    pair.commit("c");
    pair.commit("d");
    pair.each_clone(|root| {
        let node = pair.hg.ok(root, &["log", "-r", "2", "-T", "{node}"]);
        pair.hg.ok(root, &["debugobsolete", "-d", "0 0", &node]);
    });
    pair.same(&["push"]);
    pair.each_clone(|root| commit(&pair.hg, root, "e"));
    pair.each_clone(|root| {
        let node = pair.hg.ok(root, &["log", "-r", ".", "-T", "{node}"]);
        pair.hg.ok(root, &["debugobsolete", "-d", "0 0", &node]);
    });
    pair.same(&["push", "push -r 3"]);
}

#[test]
fn a_head_whose_successor_is_there_already_does_not_count() {
    let pair = evolving(false, true);
    pair.commit("old");
    pair.same(&["push"]);
    pair.each_clone(|root| drop(pair.hg.ok(root, &["update", "-q", "1"])));
    pair.commit("new");
    pair.same(&["push", "push -f"]);
    for name in ["one", "two"] {
        pair.each_clone(|root| drop(pair.hg.ok(root, &["update", "-q", "3"])));
        pair.commit(name);
    }
    pair.same(&["push"]);
    pair.each_clone(|root| {
        let node = |rev| pair.hg.ok(root, &["log", "-r", rev, "-T", "{node}"]);
        let marked = ["debugobsolete", "-d", "0 0", &node("2"), &node("3")];
        pair.hg.ok(root, &marked);
    });
    pair.same(&["push"]);
    pair.verify();
}
