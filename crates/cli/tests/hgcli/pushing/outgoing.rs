//! `outgoing` and `bundle` against a server.

use super::Pair;

#[test]
fn what_a_server_lacks_is_shown_and_bundled() {
    let pair = Pair::new();
    pair.same(&["outgoing", "outgoing -v local", "bundle x.hg"]);
    pair.commit("c");
    pair.commit("d");
    pair.here("phase -s -f tip");
    pair.same(&[
        "outgoing",
        "outgoing -p -r 2",
        "outgoing -r 1 local",
        "outgoing -T {rev}\\n local",
        "outgoing nowhere",
        "outgoing -b nothing",
        "outgoing --config paths.default:pushurl=http://127.0.0.1:1/x",
        "outgoing --config paths.default-push=http://127.0.0.1:1/x",
        "outgoing --config paths.default=",
        "bundle -q -t none-v2 x.hg",
    ]);
    let bytes = |root: &std::path::Path| std::fs::read(root.join("x.hg")).unwrap();
    assert!(bytes(pair.twin.ours()) == bytes(pair.twin.theirs()));
    pair.here("phase -d -f tip");
    pair.commit_there("e");
    pair.same(&["outgoing -q", "outgoing -q local -G"]);
}

#[test]
fn bookmarks_are_compared() {
    let pair = Pair::new();
    pair.commit_there("theirs");
    pair.there("bookmark -r 2 unknown");
    pair.there("bookmark -r 2 changed");
    pair.there("bookmark -r 0 gone");
    pair.there("bookmark -r 0 ahead");
    pair.there("bookmark -r 1 behind");
    pair.there("bookmark -r 1 same");
    pair.there("bookmark -r 1 apart");
    pair.here("update -q 0");
    pair.commit("ours");
    for line in [
        "bookmark -i -r 1 changed",
        "bookmark -i -r 1 ahead",
        "bookmark -i -r 0 behind",
        "bookmark -i -r 1 same",
        "bookmark -i -r 2 apart",
        "bookmark -i -r 2 new",
    ] {
        pair.here(line);
    }
    pair.each_clone(|root| {
        let line = [
            "bookmark",
            "-i",
            "-r",
            "0",
            "a name of more than 25 letters",
        ];
        pair.hg.ok(root, &line);
    });
    pair.same(&[
        "outgoing -B",
        "outgoing -B -q",
        "outgoing -B -v local",
        "outgoing -B -r 0",
    ]);
    pair.twin.each(|root| {
        let bookmarks = root.join(".hg/bookmarks");
        std::fs::remove_file(&bookmarks).unwrap();
        let there = root.with_file_name("origin/.hg/bookmarks");
        std::fs::remove_file(there).unwrap();
    });
    pair.same(&["outgoing -B", "outgoing -B -q"]);
}
