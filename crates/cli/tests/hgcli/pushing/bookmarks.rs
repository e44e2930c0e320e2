//! Bookmarks move along.

use super::Pair;

#[test]
fn bookmarks_move_with_what_they_are_on() {
    let pair = Pair::new();
    pair.there("bookmark -r 0 moves");
    pair.there("bookmark -r 1 removed");
    pair.there("bookmark -r 1 back");
    pair.here("bookmark -r 1 moves");
    pair.here("bookmark -r 0 back");
    pair.here("bookmark -r 0 new");
    pair.commit("c");
    pair.here("bookmark active");
    pair.same(&["push -r 0", "push -r 1", "push -B nope", "push -B ."]);
    pair.same(&[
        "push -B new -B back",
        "push -B new",
        "push -B removed",
        "push -B removed",
    ]);
    pair.commit("d");
    pair.same(&["push", "push --all-bookmarks"]);
    pair.here("update -q 0");
    pair.same(&["push -B ."]);
    pair.commit("e");
    pair.here("bookmark head");
    pair.same(&["push", "push -B head", "bookmarks"]);
    pair.verify();
}

#[test]
fn a_new_head_may_come_with_a_bookmark_that_moves_along() {
    let pair = Pair::new();
    pair.there("bookmark -r 0 feature");
    pair.here("bookmark -r 0 feature");
    pair.here("update -q feature");
    pair.commit("c");
    pair.same(&["push", "push"]);
    pair.verify();
}

#[test]
fn bookmarks_move_whatever_the_path_says_of_them() {
    let pair = Pair::new();
    pair.there("bookmark -r 0 moves");
    pair.here("bookmark -r 1 moves");
    pair.same(&["push --config paths.default:bookmarks.mode=ignore", "push"]);
    pair.there("bookmark -f -r 0 moves");
    pair.same(&["push -B nowhere"]);
}

#[test]
fn bookmarks_may_move_as_keys() {
    const KEYS: &str = "--config devel.legacy.exchange=bookmarks";
    let pair = Pair::new();
    pair.there("bookmark -r 0 moves");
    pair.there("bookmark -r 1 removed");
    pair.here("bookmark -r 1 moves");
    pair.here("bookmark -r 0 new");
    pair.commit("c");
    let line = |line: &str| format!("{line} {KEYS}");
    pair.same(&[&line("push -r 1"), &line("push -B new -B removed")]);
    pair.there("bookmark -r 0 comes");
    pair.same(&[&line("pull"), "bookmarks", &line("pull -B new")]);
    // A refused key fails in words of its own, which a part of all bookmarks has not.
    pair.settings_there("[hooks]\nprepushkey.no = test $HG_KEY != refused\n");
    pair.here("bookmark -r 1 refused");
    pair.same(&[&line("push -B refused"), &line("push -B refused -r 0")]);
    pair.here("bookmark -f -r 0 moves");
    pair.same(&[&line("push -B moves"), "bookmarks"]);
    pair.verify();
}
