//! The working copy as a member of queries: `wdir()`, its number and its node.

use super::Twin;
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// A merge that is not committed, on a branch, with added and removed files.
fn changed(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    write(path, "gone", b"gone\n");
    commit(hg, path, "0");
    write(path, "b", b"b\n");
    commit(hg, path, "1");
    hg.ok(path, &["update", "-q", "0"]);
    hg.ok(path, &["branch", "-q", "side"]);
    write(path, "c", b"c\n");
    commit(hg, path, "2");
    hg.ok(path, &["merge", "-q", "1"]);
    write(path, "a", b"a\na\n");
    write(path, "new", b"new\n");
    hg.ok(path, &["add", "new"]);
    hg.ok(path, &["remove", "gone"]);
}

const QUERIES: &[&str] = &[
    "wdir()",
    "wdir(1)",
    "2147483647",
    "ffff",
    "ffffffffffffffffffffffffffffffffffffffff",
    "rev(2147483647)",
    "id(ffffffffff)",
    "wdir()^",
    "wdir()^2",
    "wdir()^3",
    "wdir()^0",
    "wdir()~1",
    "wdir()~0",
    "wdir()~-1",
    "parents(wdir())",
    "p1(wdir())",
    "p2(wdir())",
    "::wdir()",
    "wdir()::",
    "0:wdir()",
    "wdir():0",
    "null:wdir()",
    "wdir():wdir()",
    ":wdir()",
    "not wdir()",
    "all() and wdir()",
    "0:tip and wdir()",
    "tip or wdir()",
    "draft() and wdir()",
    "wdir() and draft()",
    "secret() and wdir()",
    "0:wdir() & merge()",
    "0:wdir() & branch(side)",
    "0:wdir() & branch(wdir())",
    "branch(wdir())",
    "user(test) and wdir()",
    "file(new) and wdir()",
    "0:wdir() & max(. + wdir())",
    "0:wdir() & min(. + wdir())",
    "first(wdir() + .)",
    "last(. + wdir())",
    "0:wdir() & ancestor(wdir())",
    "0:wdir() & ancestor(wdir(), 1)",
    "0:wdir() & ancestor(wdir(), wdir())",
    "heads(0 + 1 + wdir())",
    "roots(. + wdir())",
    "roots(wdir())",
    "children(0)",
    "children(wdir())",
    "sort(. or wdir() or .^, -topo)",
    "sort(wdir() + 0:2, branch)",
    "sort(wdir() + 0, node)",
    "only(wdir())",
    "successors(wdir())",
    "ancestors(wdir(), depth=1)",
    "commonancestors(wdir() + 1)",
    "desc(0) + wdir()",
    "closed() or wdir()",
    "obsolete() & wdir()",
];

#[test]
fn queries_have_the_working_copy_among_their_members() {
    let twin = Twin::writing(changed);
    for query in QUERIES {
        twin.same(&["log", "-T", "{rev} ", "-r", query]);
    }
}

#[test]
fn the_working_copy_is_shown_like_a_changeset() {
    let twin = Twin::writing(changed);
    for template in [
        "{rev}:{node|short} {branch} {phase} {user} {parents} {desc}|",
        "{files} {file_adds} {file_mods} {file_dels}",
        "{manifest} {tags} {bookmarks} {p1node} {p2rev} {extras} {node|shortest}",
        "{graphnode} bla{negrev}nk",
        "{revset('wdir()') % '{revision}:{node|short}'}",
    ] {
        twin.same(&["log", "-r", "wdir()", "-T", template]);
        twin.same(&["log", "-r", "null + wdir()", "-T", template]);
    }
    for words in [
        &["log", "-q", "-r", "wdir()"][..],
        &["log", "-q", "-G", "-r", "::wdir()"],
        &["log", "-G", "-r", "0 + wdir()", "-T", "{rev}\\n"],
        &["log", "-G", "-r", "reverse(null:wdir())", "-T", "{rev}\\n"],
        &["debugrevspec", "0:wdir()"],
        &["diff", "--nodates", "-r", "wdir()"],
        &["diff", "--nodates", "-r", "0:wdir()"],
        &["diff", "--nodates", "-r", "wdir():1"],
    ] {
        twin.same(words);
    }
}

#[test]
fn files_are_printed_as_they_are_now() {
    let twin = Twin::writing(changed);
    for command in [
        "cat -r wdir() a b new",
        "cat -r wdir() -T json nosuch a c",
        "cat -r wdir() set:modified() -T {path}:{data}",
        "cat -r wdir() -o told/%h-%R/%s.txt a b c",
        "cat -r 0 -T json -o told/%p.json .",
        "cat -T {path}|{data} -o told/%p.text .",
    ] {
        twin.same(&command.split_whitespace().collect::<Vec<_>>());
    }
    let told = |root: &Path| {
        let listed = Command::new("grep")
            .args(["-r", "", "told"])
            .current_dir(root)
            .output();
        let mut lines: Vec<String> = String::from_utf8(listed.unwrap().stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(told(twin.ours()), told(twin.theirs()));
    assert!(told(twin.ours()).len() > 10);
    twin.same(&["split", "-r", "wdir()", "--config=extensions.split="]);
}

#[test]
fn commands_that_need_a_changeset_refuse_it() {
    let twin = Twin::writing(changed);
    twin.same(&["bundle", "-r", "wdir()", "--base", "0", "b.hg"]);
    for words in [&["export", "-r", "wdir()"][..], &["update", "wdir()"]] {
        let ours = twin.run(words).ours;
        let refused = "abort: working directory revision cannot be specified\n";
        assert_eq!(
            (&ours.stderr[..], ours.code),
            (refused, Some(255)),
            "{words:?}"
        );
    }
}

#[test]
fn one_changeset_is_compared_with_the_working_copy_unless_a_range_was_typed() {
    let twin = Twin::writing(changed);
    for query in [
        "first(1:1)",
        "(1:1)",
        "1::1",
        "1 or 1",
        "1:1",
        ":0",
        "first(:)",
        "'1'",
        "2:",
        "0..0",
    ] {
        twin.same(&["diff", "--nodates", "-r", query]);
    }
}

#[test]
fn the_working_copy_has_the_phase_of_the_next_commit() {
    let twin = Twin::writing(changed);
    for phase in ["secret", "1", "public"] {
        let setting = format!("--config=phases.new-commit={phase}");
        for query in ["wdir()", "wdir() and secret()"] {
            twin.same(&["log", "-r", query, "-T", "{phase}\n", &setting]);
        }
    }
    twin.same(&["phase"]);
}
