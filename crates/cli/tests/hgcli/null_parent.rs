//! Commands in a working directory without a parent: updated to the null revision, or in a repository without history.

use super::Twin;
use varve_testkit::repos::{commit, write};

/// Commands that say something about the parent, or of history as seen from it.
const COMMANDS: &[&str] = &[
    "log -f",
    "log -f a",
    "log --follow nosuch",
    "log -f d",
    "log -fp",
    "log -f -l1",
    "log -fG",
    "log -fG a",
    "log -T json -f",
    "log -f --removed a",
    "log -fr null",
    "log -r .",
    "log -r .^",
    "log -r -1",
    "log -r -3",
    "log -r 0",
    "log -r 000",
    "log -r p1(0)",
    "log -r 0000",
    "log -G",
    "phase",
    "phase null",
    "phase -r null",
    "parents",
    "parents -r null",
    "parents a",
    "identify",
    "identify -nibtB",
    "summary",
    "summary -v",
    "diff",
    "diff -r null",
    "diff -c .",
    "diff --stat",
    "status",
    "status -A",
    "status --change .",
    "status --rev null",
    "branch",
    "cat a",
    "cat -r null a",
    "annotate a",
    "annotate -r null a",
    "files",
    "files -r null",
    "files a",
    "manifest",
    "manifest -r null",
    "manifest --all",
    "tip",
    "heads .",
    "heads null",
    "heads",
];

#[test]
fn a_repository_updated_to_null_is_the_same() {
    let twin = Twin::writing(|hg, path| {
        std::fs::create_dir_all(path).unwrap();
        hg.ok(path, &["init"]);
        write(path, "a", b"one\n");
        write(path, "d/b", b"one\n");
        commit(hg, path, "one");
        write(path, "a", b"two\n");
        commit(hg, path, "two");
        hg.ok(path, &["update", "-q", "null"]);
    });
    twin.all_same(COMMANDS);
    // In a repository without history the real program falls over these.
    twin.all_same(&["phase -p", "phase -p .", "phase -d null", "phase -p none()"]);
}

#[test]
fn a_repository_without_history_is_the_same() {
    let twin = Twin::writing(|hg, path| {
        std::fs::create_dir_all(path).unwrap();
        hg.ok(path, &["init"]);
    });
    twin.all_same(COMMANDS);
}
