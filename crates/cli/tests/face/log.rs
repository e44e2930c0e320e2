//! `log`.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos;

/// Branches, a merge, copies, removals, tags, bookmarks, phases, users and days.
pub fn history(hg: &Hg, path: &Path) {
    let commit = |message: &str, user: &str, date: &str| {
        hg.ok(
            path,
            &["commit", "-A", "-m", message, "-u", user, "-d", date],
        );
    };
    hg.ok(path, &["init"]);
    repos::write(path, "a", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    repos::write(path, "dir/b", b"b\n");
    repos::write(path, "gone", b"gone\n");
    commit(
        "one\ntwo lines\n\nthree",
        "Ada Lovelace <ada@example.org>",
        "0 0",
    );
    hg.ok(path, &["copy", "a", "copied"]);
    repos::write(path, "a", b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
    repos::write(path, "binary", b"x\0y\n");
    hg.ok(path, &["remove", "gone"]);
    commit("second", "bob", "1000000 -3600");
    hg.ok(path, &["update", "0"]);
    hg.ok(path, &["branch", "stable"]);
    repos::write(path, "z", b"no newline");
    commit(
        "third: K\u{e4}se",
        "carol <c@example.org>",
        "2006-12-06 13:18",
    );
    hg.ok(path, &["update", "1"]);
    hg.ok(path, &["merge", "2"]);
    commit("merge", "bob", "1165432709 18000");
    hg.ok(path, &["tag", "v1", "-d", "0 0"]);
    hg.ok(path, &["bookmark", "bm"]);
    hg.ok(path, &["rename", "dir/b", "dir/c"]);
    repos::write(path, "a", b"0\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n");
    repos::write(path, "binary", b"x\0z\n");
    commit("renamed", "bob", "2010-01-01");
    hg.ok(path, &["phase", "--public", "-r", "2"]);
}

#[test]
fn changesets_are_shown_and_chosen() {
    Twin::writing(history).all_same(&[
        "log",
        "log -v",
        "log --debug",
        "log -q",
        "log -l 2",
        "log -l x",
        "log -l 0",
        "log -r 1:3",
        "log -r null --debug",
        "log -r 1 -r 0 -r 1",
        "log -v -C",
        "log -C -r 1",
        "log -u bob -q",
        "log -u bob -u ada -M",
        "log -k LINES -k merge",
        "log -b stable",
        "log -b default -m",
        "log -b nosuch",
        "log -d 2006-12-06",
        "log -d >2000",
        "log -d foo",
        "log -P 3 -q",
        "log -f -q",
        "log -f -r 2",
        "log -q a",
        "log -q gone",
        "log -q --removed gone",
        "log -q dir",
        "log -q nosuch",
        "log -q -f dir/c",
        "log -q -f copied",
        "log -q -f nosuch",
        "log -q -I re:z",
        "log -q -X a",
        "log -q glob:di**",
        "log -r foo(0)",
        "log -r heds(0)",
        "log -r nosuch",
        "log -r foo(",
        "log -r 0)",
        "log -r bm",
        "log -r v1:stable",
        "log -r 1::4",
    ]);
}
