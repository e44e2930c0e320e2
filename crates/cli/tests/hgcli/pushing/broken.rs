//! Pushes that meet other writers, refusals, and connections that break.

use super::Pair;
use crate::hgcli::elsewhere::{cutting_both, ours};
use varve_testkit::repos;

#[test]
fn a_change_of_the_remote_meanwhile_wins() {
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
    pair.there("bookmark -d mark");
    pair.same(&["push local -B mark"]);
    race(&racing("phase -f -d tip"));
    pair.commit("e");
    pair.same(&["push local"]);
    race("");
    pair.same(&["push local"]);
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

/// Whatever was stored there, nothing changes here before the answer is complete, and the next push
/// makes both sides equal.
#[test]
fn connections_that_break_leave_this_side_as_it_was() {
    const ALL: usize = usize::MAX;
    let pair = Pair::new();
    let root = pair.twin.ours();
    let origin = root.with_file_name("origin");
    let address = pair
        .server
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let moments = [
        (400, ALL),
        (2_000, ALL),
        (9_000, ALL),
        (ALL, 700),
        (ALL, 1_500),
        (ALL, 1_900),
        (ALL, 2_100),
        (ALL, ALL),
    ];
    let (mut broken, mut whole) = (0, 0);
    for (round, (requests, answers)) in moments.into_iter().enumerate() {
        repos::write(root, "big", vec![round as u8; 20_000].as_slice());
        let message = format!("round {round}");
        let line = ["commit", "-q", "-A", "-m", &message, "-d", "1 0"];
        pair.hg.ok(root, &line);
        let url = cutting_both(address.to_owned(), requests, answers) + "b/origin";
        let done = ours(root, &["push", &url]);
        let phase = |root| pair.hg.ok(root, &["log", "-r", "tip", "-T", "{phase}"]);
        let is_public = phase(root) == "public";
        assert_eq!(
            is_public,
            done.status.success(),
            "{requests} {answers}: {done:?}"
        );
        *(if is_public { &mut whole } else { &mut broken }) += 1;
        assert!(!root.join(".hg/store/journal").exists() && !root.join(".hg/store/lock").exists());
        pair.hg.ok(&origin, &["verify", "-q"]);
        let again = ours(root, &["push", "-q"]);
        assert!(matches!(again.status.code(), Some(0 | 1)), "{again:?}");
        let log = |root| pair.hg.ok(root, &["log", "-T", "{node} {phase}\n"]);
        assert_eq!(log(root), log(&origin));
    }
    assert!(broken >= 5 && whole >= 1, "{broken} broken, {whole} whole");
}
