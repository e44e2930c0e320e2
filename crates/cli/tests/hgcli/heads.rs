//! `heads`, `tip`, `parents`, `summary`.

use super::Twin;
use varve_testkit::repos;

#[test]
fn heads_and_parents_are_those_of_the_peer() {
    let twin = Twin::reading();
    twin.all_same(&[
        "heads",
        "heads -q",
        "heads -t",
        "heads -c",
        "heads stable",
        "heads -c stable",
        "heads -r 3",
        "heads -a",
        "heads --active -c",
        "heads -a -r 3",
        "tip -p",
        "tip -p -g",
        "tip -p -T {rev}\\n",
        "tip --style compact -p",
        "heads -r 3 default stable",
        "heads . 0",
        "heads nope",
        "heads null",
        "tip",
        "tip -q",
        "tip -v",
        "parents",
        "parents -r 6",
        "parents -r 0",
        "parents -r 6 README",
        "parents nope",
        "parents glob:*",
        "summary",
    ]);
}

#[test]
fn an_empty_repository_has_no_heads() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
    });
    twin.all_same(&["heads", "parents", "summary", "id", "heads default"]);
}

#[test]
fn the_state_of_the_working_directory_is_summarized_alike() {
    let twin = Twin::writing(|hg, path| {
        repos::make(hg, path, repos::DEFAULT);
        repos::add_secret(hg, path);
        hg.ok(path, &["merge", "-q", "--tool", ":local", "@"]);
    });
    twin.all_same(&["summary", "parents", "id"]);
    let twin = Twin::writing(|hg, path| {
        repos::make(hg, path, repos::DEFAULT);
        hg.ok(path, &["update", "-q", "-r", "3"]);
        hg.ok(path, &["move", "README", "READ"]);
        hg.ok(path, &["copy", "run.sh", "walk.sh"]);
        repos::write(path, "unknown", b"");
        repos::write(path, "empty", b"changed");
        std::fs::remove_file(path.join("link")).unwrap();
        hg.ok(path, &["branch", "new"]);
    });
    twin.all_same(&["summary", "summary -q", "id"]);
}

#[test]
fn the_summary_tells_of_an_interrupted_update() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        repos::write(path, "a", b"a\n");
        repos::commit(hg, path, "0");
        hg.ok(path, &["branch", "-q", "other"]);
        repos::write(path, "b", b"b\n");
        repos::commit(hg, path, "1");
        hg.ok(path, &["update", "-q", "0"]);
        repos::write(path, "c", b"c\n");
        repos::commit(hg, path, "2");
    });
    let note = |path: &std::path::Path| repos::write(path, ".hg/updatestate", &[b'1'; 40]);
    twin.each(note);
    twin.all_same(&[
        "summary",
        "add -q a",
        "branch new",
        "summary",
        "update -q -C 1",
        "summary",
    ]);
    twin.all_same(&["merge -q 2"]);
    twin.each(note);
    twin.all_same(&["summary", "summary -q"]);
}
