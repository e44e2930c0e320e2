//! Pushes to stock `hg serve --certificate`.

use super::Pair;
use varve_testkit::repos;

#[test]
fn pushes_over_tls_are_the_same() {
    let pair = Pair::over_tls();
    // More than one record of TLS.
    pair.each_clone(|root| repos::write(root, "large", &repos::noise(300_000, 1)));
    pair.commit("c");
    pair.here("bookmark -r tip mark");
    pair.same(&["outgoing", "push -B mark", "push", "outgoing"]);
    pair.commit_there("d");
    pair.commit("e");
    pair.here("bookmark -f -r tip mark");
    pair.same(&["push", "pull", "push -f", "push", "incoming"]);
    pair.settings_there("[phases]\npublish = no\n");
    pair.commit("f");
    pair.same(&["push", "push -B mark"]);
    pair.here("phase -p tip");
    pair.same(&["push"]);
    pair.verify();
}

#[test]
fn nothing_is_sent_to_untrusted_servers() {
    let mut pair = Pair::over_tls();
    pair.commit("c");
    pair.usual.clear();
    pair.each_clone(|root| pair.configure(root, ""));
    let both = pair.run(&["push"]);
    assert_eq!((both.ours.code, both.theirs.code), (Some(100), Some(100)));
    let said = &both.ours.stderr;
    assert!(said.contains("certificate"), "{said}");
    let has = |changesets: &str| {
        pair.each_origin(|root| assert_eq!(pair.hg.ok(root, &["log", "-T", "."]), changesets));
    };
    has("..");
    // Stock hg warns once for each connection.
    let both = pair.run(&["push", "--insecure"]);
    assert_eq!((both.ours.code, both.theirs.code), (Some(0), Some(0)));
    pair.same_state();
    has("...");
}
