//! `branches`, `tags`, `paths`, `manifest`: lists of names.

use super::Twin;

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
