//! Words of commands in corners that Mercurial's own tests visit.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// A repository and, beside it, an unrelated one and a clone that lacks a changeset.
fn neighbours(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    commit(hg, path, "0");
    hg.ok(path, &["branch", "-q", "other"]);
    write(path, "a", b"b\n");
    commit(hg, path, "1");
    hg.ok(path, &["init", "unrelated"]);
    write(path, "unrelated/u", b"u\n");
    commit(hg, &path.join("unrelated"), "u");
    hg.ok(path, &["clone", "-q", "-r", "0", ".", "behind"]);
    hg.ok(path, &["init", "empty"]);
}

#[test]
fn pulls_tell_what_they_ask_for() {
    let twin = Twin::writing(neighbours);
    twin.all_same(&[
        "-R behind pull -u . --config commands.update.requiredest=1",
        "-R behind pull -f unrelated",
        "-R behind pull unrelated",
        "-R empty pull unrelated",
        "outgoing -q -b . behind",
        "outgoing -q behind#.",
        "outgoing -q -b nosuch behind",
        "-R behind incoming -q -b . .",
        "-R behind pull -b other .",
    ]);
    same_state(&twin);
}

#[test]
fn names_of_users_are_lines() {
    let twin = Twin::writing(neighbours);
    write(twin.theirs(), "n", b"n\n");
    write(twin.ours(), "n", b"n\n");
    twin.same(&["commit", "-A", "-m", "m", "-u", "one\ntwo"]);
    let twin = twin.with("HGUSER", "one\ntwo");
    twin.same(&["commit", "-A", "-m", "m"]);
}

#[test]
fn editors_show_mercurials_notes() {
    let twin = Twin::writing(neighbours).with("HGEDITOR", "cat");
    twin.each(|path| {
        write(path, "a", b"c\n");
        write(path, "n", b"n\n");
        hg().ok(path, &["add", "n"]);
        hg().ok(path, &["bookmark", "m"]);
    });
    twin.all_same(&[
        "commit",
        "commit -m x -e",
        "commit --amend -e",
        "backout -r 1 -e",
    ]);
    twin.each(|path| write(path, "n", b"m\n"));
    twin.same(&["commit", "-e", "-m", " one \ntwo\n\n"]);
    same_state(&twin);
}

#[test]
fn commits_tell_of_new_history() {
    let twin = Twin::writing(neighbours);
    twin.each(|path| write(path, "a", b"c\n"));
    twin.all_same(&["commit --debug -m c", "tag --debug t"]);
    twin.all_same(&["update -q 0", "graft --debug 1"]);
}

#[test]
fn other_divergent_bookmarks_are_counted() {
    let twin = Twin::writing(neighbours);
    twin.each(|path| {
        let hg = hg();
        for (name, rev) in [
            ("m", "0"),
            ("m@x", "1"),
            ("m@y", "1"),
            ("n", "1"),
            ("n@x", "1"),
        ] {
            hg.ok(path, &["bookmark", "-f", "-r", rev, name]);
        }
    });
    twin.all_same(&["update m", "update", "update n", "update", "bookmarks"]);
    same_state(&twin);
}

#[test]
fn differences_have_the_date_that_stands_for_now() {
    let twin = Twin::writing(neighbours);
    twin.each(|path| write(path, "a", b"c\n"));
    twin.all_same(&["diff", "diff --config devel.default-date=", "diff --stat"]);
}

#[test]
fn an_empty_repository_has_no_changesets() {
    let twin = Twin::writing(neighbours);
    for query in ["all()", "heads(all())", "tip"] {
        twin.same(&["-R", "empty", "log", "-r", query, "-T", "{rev}\n"]);
    }
}

#[test]
fn tags_are_removed_once() {
    let twin = Twin::writing(neighbours);
    twin.all_same(&[
        "tag a",
        "tag --remove a",
        "tag --remove a",
        "tag --remove -l a",
        "tag --remove none",
        "tag -l b",
        "tag --remove -l b",
        "tag --remove -l b",
        "tag --remove b",
        "tags",
    ]);
    same_state(&twin);
}

#[test]
fn the_active_bookmark_is_called_by_a_dot() {
    let twin = Twin::writing(neighbours);
    twin.all_same(&[
        "bookmark x",
        "bookmark -r 0 y",
        "bookmark -l .",
        "bookmark -m . z",
        "bookmark -d . y",
        "bookmark",
        "bookmark -d .",
        "bookmark -l .",
        "bookmark -m . w --config ui.detailed-exit-code=1",
    ]);
}

#[test]
fn malformed_bookmarks_are_told_and_go_with_the_next_change() {
    let twin = Twin::writing(|hg, path| {
        neighbours(hg, path);
        hg.ok(path, &["bookmark", "kept"]);
        let file = path.join(".hg/bookmarks");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("short name\n\n{text}{}\n", &text[..40])).unwrap();
    });
    twin.all_same(&["bookmarks", "log -r 0", "bookmark other", "bookmarks"]);
}

#[test]
fn names_of_changesets_are_suspicious_bookmarks() {
    let twin = Twin::writing(neighbours);
    let node = hg().ok(twin.theirs(), &["log", "-r", "0", "-T", "{node|short}"]);
    twin.same(&["tag", "-l", "rel1"]);
    for name in [&node[..], &node[..4], &node[..3], "rel1", "fine"] {
        twin.same(&["bookmark", name]);
        twin.same(&["bookmark", name]);
        twin.same(&["bookmark", "-d", name]);
        twin.same(&["bookmark", "-f", name]);
        twin.same(&["bookmark", "-d", name]);
    }
    twin.all_same(&["bookmark x", "bookmark -m x rel1"]);
}

#[test]
fn phase_leaves_the_null_revision_alone() {
    let twin = Twin::writing(neighbours);
    twin.all_same(&[
        "phase -d null",
        "phase -s null",
        "phase -s null 1",
        "phase -d -f null 1",
        "phase -p null 0",
        "phase null 0 1",
    ]);
}

#[test]
fn commits_that_track_files_look_at_their_names() {
    let twin = Twin::writing(neighbours);
    twin.each(|path| {
        write(path, "two\nlines", b"x\n");
        write(path, ".hg/hgrc", b"[extensions]\nshelve =\n");
    });
    twin.all_same(&["commit -A -m x", "status"]);
    twin.each(|path| {
        std::fs::remove_file(path.join("two\nlines")).unwrap();
        write(path, "con.xml", b"x\n");
    });
    twin.all_same(&[
        "commit -A -m x --config ui.portablefilenames=abort",
        "commit -A -m x -q con.xml --config ui.portablefilenames=abort",
        "status",
        "commit -A -m x -q con.xml -d 0.0",
        "commit -A -m x -d 0.0",
        "log -r tip --debug",
    ]);
}

#[test]
fn settings_of_names_merges_and_states_count() {
    let twin = Twin::writing(neighbours);
    twin.each(|path| write(path, "con.xml", b"x\n"));
    twin.all_same(&[
        "add con.xml --config ui.portablefilenames=jump",
        "add con.xml --config ui.portablefilenames=ABORT",
        "add con.xml --config ui.portablefilenames=on",
        "merge --config commands.merge.require-rev=1",
        "merge 0 --config commands.merge.require-rev=1",
        "update -q -C 1",
        "bisect -b",
    ]);
    let twin = twin.with("HGPLAIN", "");
    twin.all_same(&[
        "status -v a",
        "status -v a --config commands.status.skipstates=bisect",
        "status -v a --config commands.status.skipstates=merge",
    ]);
}

#[test]
fn directories_are_lost_and_in_the_way() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        commit(hg, path, "0");
        write(path, "d/a", b"a\n");
        commit(hg, path, "1");
        hg.ok(path, &["rm", "d/a"]);
        commit(hg, path, "2");
        hg.ok(path, &["up", "-q", "1"]);
        write(path, "b", b"a\n");
        commit(hg, path, "3");
    });
    twin.same_in("d", &["update", "0"]);
    twin.same(&["update", "3"]);
    twin.same_in("d", &["merge", "2"]);
    twin.same(&["update", "-q", "-C", "3"]);
    twin.same_in("d", &["rm", "a"]);
    twin.same(&["update", "-q", "-C", "null"]);
    twin.each(|path| write(path, "b/untracked", b"x\n"));
    twin.same(&["update", "3"]);
}

#[test]
fn files_and_directories_take_each_others_place() {
    let make = |hg: &Hg, path: &Path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        write(path, "b/b", b"b\n");
        commit(hg, path, "0");
        hg.ok(path, &["forget", "-q", "a"]);
        for name in ["a", "b/b"] {
            std::fs::remove_file(path.join(name)).unwrap();
        }
        std::fs::remove_dir(path.join("b")).ok();
        write(path, "a/a", b"a\n");
        write(path, "b", b"b\n");
    };
    for command in [
        "addremove -s 0",
        "add",
        "shelve -A --config extensions.shelve=",
    ] {
        let twin = Twin::writing_with(make);
        twin.all_same(&[command, "status -A", "commit -A -m x -d 0", "status -A"]);
        same_state(&twin);
    }
}

#[test]
fn summaries_of_changesets_have_their_template() {
    const ALL: &str = "--config=command-templates.oneline-summary={rev} <{desc}>";
    let twin = Twin::writing(neighbours).with("HGEDITOR", "cat");
    twin.each(|path| {
        write(path, "c", b"c\n");
        hg().ok(path, &["update", "-q", "0"]);
        write(path, "a", b"a\nx\n");
        write(path, "n", b"n\n");
        hg().ok(path, &["add", "n"]);
        commit(&hg(), path, "2\n\nin detail");
    });
    let own = "--config=command-templates.oneline-summary.rebase={node|short}";
    let rebase = [
        "rebase",
        "-r",
        "2",
        "-d",
        "1",
        "-n",
        "--config=extensions.rebase=",
    ];
    twin.same(&[&rebase[..], &[ALL]].concat());
    twin.same(&[&rebase[..], &[ALL, own]].concat());
    twin.same(
        &[
            &rebase[..],
            &["--config=command-templates.oneline-summary={wrong"],
        ]
        .concat(),
    );
    let split = [
        "split",
        "--config=extensions.split=",
        "--config=ui.interactive=yes",
    ];
    twin.same_answering(&[&split[..], &[ALL]].concat(), "y\ny\nn\ny\n");
    same_state(&twin);
}
