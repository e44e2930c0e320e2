//! Changesets: which are sent, and which are refused.

use super::Pair;

#[test]
fn changesets_arrive_and_become_public() {
    let pair = Pair::new();
    pair.same(&["push"]);
    pair.commit("c");
    pair.commit("d");
    pair.commit("e");
    pair.same(&["push -r 2", "push -r 2", "push --quiet -r 3"]);
    pair.here("update -q 0");
    pair.commit("f");
    pair.here("merge -q");
    pair.commit_as("-m merge");
    pair.same(&["push", "push", "push -f"]);
    pair.verify();
}

#[test]
fn new_heads_are_refused_unless_forced() {
    let pair = Pair::new();
    pair.here("update -q 0");
    pair.commit("x");
    pair.same(&["push", "push -r tip", "push -q"]);
    pair.here("bookmark -r tip mark");
    pair.same(&["push"]);
    pair.same(&["push -f", "push"]);
    pair.commit_there("other");
    pair.commit("y");
    pair.same(&["push"]);
    for name in ["1", "2", "3", "4", "5"] {
        pair.there("update -q 0");
        pair.commit_there(name);
    }
    pair.commit("z");
    pair.here("update -q 0");
    pair.commit("zz");
    pair.same(&["push"]);
    pair.verify();
}

#[test]
fn new_branches_are_refused_unless_asked_for() {
    let pair = Pair::new();
    for branch in ["one", "two"] {
        pair.here("update -q 0");
        pair.here(&format!("branch -q {branch}"));
        pair.commit(branch);
    }
    pair.same(&["push", "push -r tip", "push -b one", "push -b nothing"]);
    pair.same(&["push -b one --new-branch", "push", "push --new-branch"]);
    pair.here("update -q 0");
    pair.here("branch -q -f two");
    pair.commit("second");
    pair.same(&["push", "push --new-branch"]);
    pair.commit_as("--close-branch -m closed");
    pair.same(&["push"]);
    pair.here("branch -q three");
    pair.commit("three");
    pair.commit_as("--close-branch -m closed");
    pair.same(&["push -r tip"]);
    for name in ["m1", "m2"] {
        pair.here("update -q 0");
        pair.here("branch -q -f many");
        pair.commit(name);
    }
    pair.same(&["push --new-branch -b many", "push -f"]);
    pair.verify();
}

#[test]
fn what_is_pushed_can_be_named() {
    let pair = Pair::new();
    pair.commit("c");
    pair.same(&[
        "push -r nope",
        "push -r none()",
        "push nowhere",
        "push http://127.0.0.1:1/",
        "push --config paths.default=",
        "push --config paths.default:pushrev=1",
        "push --config paths.default:pushrev=none()",
        "push --all-bookmarks -r 1",
        "push --all-bookmarks -B x",
    ]);
    let url = |side: &str| format!("{}{side}/origin", pair.server.url());
    let named = pair.twin.run(&["push", &format!("{}#1", url("a"))]);
    named.same(&["push", "URL#1"]);
    pair.same(&["push --config paths.default:pushrev=2"]);
}

#[test]
fn empty_and_unrelated_repositories() {
    let pair = Pair::new();
    pair.each_origin(|root| {
        std::fs::remove_dir_all(root).unwrap();
        std::fs::create_dir(root).unwrap();
        pair.hg.ok(root, &["init"]);
    });
    pair.here("branch -q other");
    pair.commit("c");
    pair.same(&["push -r 0", "push", "push --new-branch"]);
    pair.each_origin(|root| {
        std::fs::remove_dir_all(root).unwrap();
        std::fs::create_dir(root).unwrap();
        pair.hg.ok(root, &["init"]);
        super::commit(&pair.hg, root, "alone");
    });
    pair.same(&["push", "push -f"]);
    pair.verify();
}

#[test]
fn secret_changesets_stay_here() {
    let pair = Pair::new();
    pair.commit("c");
    pair.commit("s");
    pair.here("phase -s -f tip");
    pair.same(&["push -r tip", "push", "push -f"]);
    pair.here("bookmark secret");
    pair.same(&["push -B secret", "push -r 1 -B secret"]);
}
