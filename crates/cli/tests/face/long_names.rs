//! Files whose names the store hashes, with histories too long for one file: index and data have
//! hashes of their own.

use super::Twin;
use varve_testkit::peers::hg;
use varve_testkit::repos;

#[test]
fn split_histories_with_hashed_names_are_read_and_written() {
    let name = repos::long_names().pop().unwrap();
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        repos::write(path, &name, &repos::noise(300_000, 1));
        repos::commit(hg, path, "by stock hg");
    });
    twin.same(&["cat", "-r", "0", &name]);
    twin.same(&["verify"]);
    twin.each(|root| repos::write(root, &name, &repos::noise(300_000, 2)));
    let other = name.replace('n', "m");
    twin.each(|root| repos::write(root, &other, &repos::noise(200_000, 3)));
    twin.same(&["commit", "-q", "-A", "-m", "by both", "-d", "1 0"]);
    for both in [twin.ours(), twin.theirs()] {
        let said = hg().ok(both, &["verify"]);
        assert!(!said.contains("warning"), "{said}");
    }
    twin.same(&["cat", "-r", "1", &other]);
    twin.all_same(&["bundle -q -a -t none-v2 all.hg", "verify"]);
    twin.all_same(&[
        "init fresh",
        "-R fresh unbundle -q all.hg",
        "-R fresh verify",
    ]);
    hg().ok(&twin.ours().join("fresh"), &["verify", "-q"]);
    twin.all_same(&["clone -q --pull -r 1 . selected", "-R selected verify"]);
    hg().ok(&twin.ours().join("selected"), &["verify", "-q"]);
    twin.same(&["commit", "-q", "--amend", "-m", "amended", "-d", "2 0"]);
    hg().ok(twin.ours(), &["verify", "-q"]);
    twin.same(&["verify"]);
}

/// It does not know yet which data file belongs to which index, so it must not touch them.
#[test]
fn recompressing_such_a_store_changes_nothing() {
    let name = repos::long_names().pop().unwrap();
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        repos::write(path, &name, &repos::noise(300_000, 1));
        repos::commit(hg, path, "by stock hg");
    });
    let done = twin.run(&["recompress", ".", "--level", "10"]).ours;
    assert_eq!(done.code, Some(255), "{done:?}");
    assert!(done.stderr.starts_with("abort: "), "{done:?}");
    hg().ok(twin.ours(), &["verify", "-q"]);
    twin.same(&["cat", "-r", "0", &name]);
}
