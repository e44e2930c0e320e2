//! Output with colours and with the names of labels.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// Changed files, names, a branch that is closed, and a secret changeset.
fn coloured(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\nb\n");
    write(path, "gone", b"gone\n");
    write(path, "removed", b"removed\n");
    commit(hg, path, "0");
    hg.ok(path, &["branch", "-q", "other"]);
    write(path, "o", b"o\n");
    commit(hg, path, "1");
    hg.ok(path, &["commit", "--close-branch", "-m", "2"]);
    hg.ok(path, &["update", "-q", "0"]);
    hg.ok(path, &["copy", "a", "copied"]);
    write(path, "a", b"a\n\tb \n+c\n");
    hg.ok(path, &["commit", "-m", "3\n\nbody", "--secret"]);
    hg.ok(path, &["tag", "--local", "lt", "-r", "1"]);
    hg.ok(path, &["tag", "t", "-r", "0"]);
    hg.ok(path, &["bookmark", "active"]);
    hg.ok(path, &["bookmark", "-r", "1", "inactive"]);
    write(path, "a", b"a\n\t\tb\n");
    write(path, "new", b"new\n");
    write(path, "unknown", b"?\n");
    hg.ok(path, &["add", "new"]);
    hg.ok(path, &["remove", "removed"]);
    std::fs::remove_file(path.join("gone")).unwrap();
}

const SHOWING: &[&str] = &[
    "status",
    "status -A -C",
    "status -n",
    "log",
    "log -v",
    "log --debug",
    "log -q",
    "log -G",
    "log -p",
    "log --stat",
    "tip -p -g",
    "diff",
    "diff -g",
    "diff --stat",
    "branches -c",
    "tags",
    "tags -v",
    "tags -q",
    "bookmarks",
    "heads",
    "parents",
    "summary",
    "update nosuch",
    "push",
    "merge",
    "log -r foo(",
    "nosuch",
    "log --config diff.word-diff=yes -p",
    "diff --config diff.word-diff=yes",
    "diff -g --config diff.word-diff=yes --config diff.unified=0",
    "export 3 --config diff.word-diff=yes",
    "export 3",
    "log -r 0 -T {label('status.added',desc)}|{label('x',rev)}\\n",
    "log -r 0 -T {label('red',desc)}\\n",
    "log -r 0 -T {label('red',rev+label('bold',desc)+node)}\\n",
    "log -r 0 -T {label('status.added',separate(label('green',rev),label('x','a'),label('underline',desc)))}\\n",
    "status --config color.status.added=blue --config color.status.unknown=",
    "-q status",
];

#[test]
fn labels_are_shown_as_mercurial_shows_them() {
    for kind in ["always", "debug"] {
        let twin = Twin::writing(coloured).with("HGPLAIN", "");
        for line in SHOWING {
            let words = line.split(' ').chain(["--color", kind]);
            let words: Vec<&str> = words.collect();
            twin.same(&words);
        }
    }
}

#[test]
fn changes_of_files_have_labels() {
    let twin = Twin::writing(coloured).with("HGPLAIN", "");
    twin.all_same(&[
        "addremove --color debug",
        "revert -a --color always",
        "forget a --color debug -v",
        "remove o --color always",
        "add a --color debug -v",
        "commit -A -m all --color debug -v",
    ]);
}

const OLD: &str = "a b\tc\nsecond line  \nthird\nx\nsame\nä b\n";
const NEW: &str = "a x\t\tc  \nsecond  line \nother words (entirely)\nx\nnew\nsame\nö b";

#[test]
fn words_that_differ_have_labels() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", OLD.as_bytes());
        commit(hg, path, "0");
        write(path, "a", NEW.as_bytes());
        write(path, "b", b"no end");
        commit(hg, path, "1");
        write(path, "b", b"no end of it");
    });
    let twin = twin.with("HGPLAIN", "");
    for kind in ["debug", "always"] {
        for line in ["diff -c 1 b a", "diff", "log -p -r 1"] {
            let words = line.split(' ');
            let words = words.chain(["--color", kind, "--config", "diff.word-diff=yes"]);
            twin.same(&words.collect::<Vec<_>>());
        }
    }
}

#[test]
fn questions_have_labels() {
    let twin = Twin::writing(|hg, path| {
        coloured(hg, path);
        write(
            path,
            ".hg/hgrc",
            b"[ui]\ninteractive = yes\npromptecho = yes\n",
        );
    });
    let twin = twin.with("HGPLAIN", "");
    for kind in ["debug", "always"] {
        twin.same_answering(&["commit", "-i", "--color", kind], "?\ny\ny\nq\n");
        twin.same_answering(&["forget", "-i", "a", "--color", kind], "?\nn\n");
    }
}

#[test]
fn colours_need_a_wish_and_no_plain_output() {
    let twin = Twin::writing(coloured).with("HGPLAIN", "");
    twin.all_same(&[
        "status",
        "status --config ui.color=always",
        "status --config ui.color=debug",
        "status --config ui.color=yes",
        "status --color never",
        "status --color auto",
        "status --color yes",
        "status --color no --config ui.color=always",
        "status --color always --config color.mode=debug",
        "status --config ui.formatted=yes",
        "status --config ui.formatted=always --config ui.color=yes",
        "status --config ui.formatted=1 --config ui.color=no",
        "status --config ui.formatted=0 --config ui.color=always",
        "status --config ui.formatted=1 --config ui.color=nonsense",
    ]);
    let twin = Twin::writing(coloured);
    twin.all_same(&["status --color always", "status --config ui.color=always"]);
    assert!(!hg().ok(twin.ours(), &["status"]).is_empty());
}
