//! Pushes that meet other writers, refusals, and connections that break.

use super::Pair;

#[test]
fn who_changes_the_other_side_meanwhile_wins() {
    let pair = Pair::new();
    let hg = varve_testkit::peers::hg_program();
    let racing = |line: &str| format!("preoutgoing = cd ../origin && {} {line}\n", hg.display());
    let race = |lines: &str| {
        pair.each_clone(|root| pair.configure(root, &format!("[hooks]\n{lines}")));
    };
    pair.commit("c");
    race(&racing(
        "commit -q --config ui.allowemptycommit=1 -u x -m race -d '1 0'",
    ));
    pair.same(&["push"]);
    race("");
    pair.same(&["push -f"]);
    pair.here("bookmark -r 1 mark");
    pair.commit("d");
    race(&racing("bookmark -f -r 0 mark"));
    pair.same(&["push -f -B mark", "push -B mark"]);
}

#[test]
fn refusals_are_told_as_hg_tells_them() {
    let pair = Pair::new();
    pair.commit("c");
    for settings in [
        "push_ssl = yes",
        "allow-push =",
        "deny_push = *",
        "allow-pull = no",
        "deny_read = *",
    ] {
        pair.settings_there(&format!("[web]\n{settings}\n"));
        pair.same(&["push"]);
    }
}
