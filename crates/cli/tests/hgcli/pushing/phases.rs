//! Phases on both sides afterwards.

use super::Pair;

#[test]
fn drafts_stay_drafts_where_nothing_is_published() {
    let pair = Pair::new();
    pair.settings_there("[phases]\npublish = no\n");
    for name in ["c", "d", "e"] {
        pair.commit(name);
    }
    pair.same(&["push -r 3"]);
    pair.here("phase -p 2");
    pair.same(&["push", "push", "push -r 3 --publish", "push --publish"]);
    pair.commit("f");
    pair.same(&["push --publish"]);
    pair.commit("g");
    pair.same(&["push"]);
    pair.there("phase -p tip");
    pair.same(&["push"]);
    pair.commit("h");
    pair.same(&["push"]);
    pair.here("phase -s -f tip");
    pair.same(&["push"]);
}

#[test]
fn what_is_there_already_becomes_public() {
    let pair = Pair::new();
    pair.here("phase -d -f 0");
    pair.same(&["push -r 0", "push"]);
}

#[test]
fn publishing_is_warned_about_or_refused_as_configured() {
    let pair = Pair::new();
    pair.commit("c");
    pair.commit("d");
    let abort = "--config experimental.auto-publish=abort";
    pair.same(&[
        &format!("push {abort} -r 1"),
        &format!("push {abort}"),
        &format!("push {abort} -r 2 --publish"),
        "push --config experimental.auto-publish=confirm --config ui.interactive=yes",
        "push --config experimental.auto-publish=confirm -r 2",
        "push --config experimental.auto-publish=warn",
        &format!("push {abort}"),
    ]);
    pair.settings_there("[phases]\npublish = no\n");
    pair.commit("e");
    pair.same(&[&format!("push {abort}")]);
}
