//! `branches`, `tags`, `paths`, `manifest`: lists of names.

use super::Twin;
use varve_testkit::repos::{commit, write};

#[test]
fn branches_and_tags_are_listed_alike() {
    Twin::reading().all_same(&[
        "branches",
        "branches -c",
        "branches -a",
        "branches -q",
        "branches -c --debug",
        "branches -c -T json",
        "branches -r 3",
        "branches -c -r 3 -r 0",
        "tags",
        "tags -v",
        "tags -q",
        "tags --debug",
        "tags -T json",
    ]);
}

#[test]
fn an_empty_repository_has_few_names() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
    });
    twin.all_same(&[
        "branches",
        "tags",
        "tags -T json",
        "manifest",
        "paths",
        "paths x",
    ]);
}

#[test]
fn bookmarks_are_set_to_the_working_copy_and_to_nothing() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for name in ["a", "b"] {
            write(path, name, b"one\n");
            commit(hg, path, name);
        }
        hg.ok(path, &["update", "-q", "0"]);
    });
    twin.all_same(&[
        "bookmark -r wdir() here",
        "bookmark -i -r wdir() beside",
        "bookmark -i -r 1 here more",
        "bookmarks",
        "bookmark here",
        "bookmark -r null gone lost",
        "bookmarks",
        "log -T {rev}\\n -r bookmark(gone)",
        "log -T {rev}\\n -r bookmark('re:gone|here')",
        "log -T {rev}\\n -r bookmark()",
        "update -q 1",
        "bookmark -r wdir() next",
        "bookmark -r wdir() beside",
        "bookmarks",
        "update -q null",
        "bookmark -f here",
        "log -T {rev}\\n -r bookmark(.)",
    ]);
}

#[test]
fn files_of_changesets_are_listed_alike() {
    Twin::reading().all_same(&[
        "manifest",
        "manifest -v",
        "manifest --debug",
        "manifest -T json",
        "manifest 1",
        "manifest -r v1.0 -v",
        "manifest -r 0 1",
        "manifest -r null",
        "manifest --all",
        "manifest --all -T json",
        "manifest --all 1",
        "manifest nope",
    ]);
}

#[test]
fn paths_have_urls_and_options() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        let text = "[paths]\ndefault = ../other\nweb = https://u:secret@example.org/x\n\
                    web:pushurl = ssh://a@b/c\nbad:pushurl = x\nbad = /abs\nhome = ~/x\n\
                    same = path://web\n";
        std::fs::write(path.join(".hg/hgrc"), text).unwrap();
    });
    twin.all_same(&[
        "paths",
        "paths -v",
        "paths -q",
        "paths web",
        "paths -q web",
        "paths nope",
        "paths -q nope",
        "paths -T json",
        "paths web -T json",
        "paths nope -T json",
        "--config paths.x=path://nope paths",
        "--config paths.x=path://same paths",
        "--config paths.x=rel paths",
        "--config paths.*:pushrev=9 paths",
    ]);
}
