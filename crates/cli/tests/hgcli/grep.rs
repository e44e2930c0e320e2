//! `grep`.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::write;

/// Changed, copied, removed and binary files, a merge, and local changes.
fn history(hg: &Hg, path: &Path) {
    let commit = |message: &str, user: &str, date: &str| {
        let words = ["commit", "-A", "-m", message, "-u", user, "-d", date];
        hg.ok(path, &words);
    };
    hg.ok(path, &["init"]);
    write(path, "song", b"one river\ntwo stones\none river more\n");
    write(path, "d/other", b"nothing\n\nRiver\n");
    write(path, "d/kept", b"a river below\n");
    write(path, "picture", b"river\0bed\n");
    commit("zero", "Ada <ada@example.org>", "0 0");
    hg.ok(path, &["copy", "song", "copied"]);
    write(
        path,
        "song",
        b"two stones\none river more\nriver at the end",
    );
    write(path, "picture", b"river\0sand\nriver\n");
    commit("one", "bob", "60 3600");
    hg.ok(path, &["update", "0"]);
    write(path, "late", b"a river is late\n");
    hg.ok(path, &["remove", "d/other"]);
    commit("two", "Ada <ada@example.org>", "120 0");
    hg.ok(path, &["merge", "1"]);
    write(path, "copied", b"one river\ntwo\nno river\n");
    commit("three", "bob", "180 0");
    hg.ok(path, &["remove", "late"]);
    commit("four", "bob", "240 0");
    write(path, "song", b"one river changed\nRIVER\n");
    write(path, "fresh", b"new river\n");
    hg.ok(path, &["add", "fresh"]);
    write(path, "unknown", b"unknown river\n");
    hg.ok(path, &["remove", "copied"]);
}

#[test]
fn the_working_copy_is_searched_alike() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "grep river",
        "grep -n river",
        "grep -i river",
        "grep -in river song d",
        "grep -l river",
        "grep -0 river",
        "grep -0nl river",
        "grep -u river song",
        "grep -uv river song",
        "grep -ud river -r 1",
        "grep -udq river -r 1",
        "grep -a river picture",
        "grep ^one",
        "grep r$",
        "grep ^$",
        "grep r|s song",
        "grep (one).*more",
        "grep e\\sr song",
        "grep nowhere",
        "grep river nosuch",
        "grep river -I song -I glob:f*",
        "grep river -X song",
        "grep river --color=debug",
        "grep r --color=always song",
        "grep river -nudv --color=debug song",
    ]);
    twin.same_in("d", &["grep", "river"]);
    twin.same_in("d", &["grep", "river", "--config", "ui.relative-paths=yes"]);
    twin.same_in("d", &["grep", "-i", "river", "."]);
}

#[test]
fn changesets_and_what_they_changed_are_searched_alike() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "grep river -r 0",
        "grep river -r 2:0",
        "grep river -r 1 -r 0 song",
        "grep river -r merge()",
        "grep river -r null",
        "grep river -r nope",
        "grep river -r wdir() song",
        "grep --diff river",
        "grep --all river",
        "grep --diff -n river -r all()",
        "grep --diff -nud river song",
        "grep --diff -l river",
        "grep --diff river -r 0:2",
        "grep --diff stones",
        "grep --diff river --color=debug song",
        "grep --diff -f river copied",
        "grep --diff -f river song",
        "grep --diff -f river nosuch",
        "grep -f river song",
        "grep -f river -r 1",
        "grep --no-all-files river",
        "grep --no-all-files river -r 0:1",
        "grep --diff --all-files river",
        "grep --diff -n river -r wdir() song fresh",
        "grep --diff -f river -r wdir() song",
        "grep --diff -i river -r wdir()+0 song fresh",
        "grep --no-all-files river -r wdir() song fresh",
    ]);
}

#[test]
fn programs_get_the_same_values() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "grep river -T json -r 1",
        "grep --diff river -T json song",
        "grep -l river -T json -r 2",
    ]);
    for template in [
        "{path}:{rev}:{node|short}:{texts % '{if(matched, text|upper, text)}'}\\n",
        "{path} {lineno} {texts}\\n",
        "{path} {tags} {branch} {desc|firstline} {user} {date|isodate}\\n",
    ] {
        // Files that are not text have no parts to go through.
        let words = [
            "grep", "river", "-r", "3:1", "-X", "picture", "-T", template,
        ];
        twin.same(&words);
    }
    twin.same(&[
        "grep",
        "river",
        "-T",
        "{path} {rev} {node|short} {texts}\\n",
    ]);
}

#[test]
fn wrong_expressions_have_the_same_reasons() {
    let twin = Twin::writing(history);
    for pattern in ["**x", "[", "(", "a)", "a|+", "a**", "x\\"] {
        twin.same(&["grep", pattern]);
    }
}
