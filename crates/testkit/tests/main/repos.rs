use varve_testkit::peers::hg;
use varve_testkit::repos::{DEFAULT, SPLIT_FILE, add_secret, make};

/// The peer tests say little if the repositories are poorer than they promise.
#[test]
fn the_rich_history_is_as_rich_as_promised() {
    let directory = tempfile::tempdir().unwrap();
    let (hg, path) = (hg(), directory.path().join("team/rich"));
    make(&hg, &path, DEFAULT);
    hg.ok(&path, &["verify"]);
    let count = |revset: &str| hg.ok(&path, &["log", "-r", revset, "-T", "x"]).len();
    for (revset, least) in [
        ("merge()", 1),
        ("branch(stable)", 2),
        ("closed()", 1),
        ("draft()", 2),
        ("bookmark()", 2),
        ("tag('v1.0')", 1),
        ("head()", 4),
        ("all()", 18),
    ] {
        assert!(count(revset) >= least, "{revset}: {}", count(revset));
    }
    let store = path.join(".hg/store");
    assert!(
        store.join(format!("data/{SPLIT_FILE}.d")).exists(),
        "not split"
    );
    assert!(!store.join("data/chain.txt.d").exists(), "not inline");
    assert!(store.join("dh").exists(), "no hashed names");
    assert!(
        !hg.ok(
            &path,
            &["log", "-r", "file('dir/b.txt')", "-T", "{file_copies}"]
        )
        .is_empty()
    );
    let secret = add_secret(&hg, &path);
    assert_eq!(
        hg.ok(&path, &["log", "-r", "secret()", "-T", "{node}"]),
        secret
    );
}
