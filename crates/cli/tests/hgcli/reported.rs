//! Differences that Mercurial's own tests have shown.

use super::Twin;
use varve_testkit::repos::{commit, write};

#[test]
fn a_commit_removes_divergent_bookmarks_that_it_contains() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for name in ["a", "b", "c"] {
            if name == "c" {
                hg.ok(path, &["update", "0"]);
            }
            write(path, name, b"x\n");
            commit(hg, path, name);
        }
    });
    twin.all_same(&[
        "bookmark -r 1 mark@other",
        "bookmark -r 1 marked@other",
        "bookmark mark",
        "merge mark@other",
        "commit -m merged",
        "bookmarks",
    ]);
}

#[cfg(unix)]
#[test]
fn files_behind_a_link_are_not_added_back() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "old/a", b"x\n");
        commit(hg, path, "first");
        hg.ok(path, &["move", "old", "new"]);
    });
    twin.each(|root| std::os::unix::fs::symlink("new", root.join("old")).unwrap());
    twin.all_same(&["add -I old", "status"]);
}

#[test]
fn names_are_relative_where_files_are_chosen() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "d/a", b"x\n");
    });
    for words in [
        &["addremove"][..],
        &["addremove", "-I", "glob:*"],
        &["addremove", "-X", "b"],
    ] {
        twin.same_in("d", words);
        twin.same(&["forget", "d/a"]);
    }
}

#[test]
fn a_required_destination_takes_the_advice_away() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init", "from"]);
        write(&path.join("from"), "a", b"x\n");
        commit(hg, &path.join("from"), "first");
        hg.ok(path, &["init", "to"]);
    });
    let setting = "commands.update.requiredest=yes";
    twin.same(&["-R", "to", "pull", "from", "--config", setting]);
}

#[test]
fn hooks_of_the_directory_are_none_of_a_clone() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"x\n");
        commit(hg, path, "first");
        write(
            path,
            ".hg/hgrc",
            b"[hooks]\npretxnopen = false\ntxnclose = echo closed\n",
        );
    });
    twin.all_same(&[
        "clone . ../copied",
        "-R ../copied log -T {rev}\\n",
        "commit --amend -m x",
    ]);
}

#[test]
fn a_hook_for_aborts_does_not_stop_what_ends_well() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"x\n");
        write(path, "hook.py", b"def hook(**more):\n    pass\n");
        write(
            path,
            ".hg/hgrc",
            b"[hooks]\ntxnabort = python:hook.py:hook\n",
        );
    });
    twin.all_same(&["add a", "commit -m first", "log -T {rev}\\n"]);
}

#[test]
fn hooks_see_plain_as_their_option_says() {
    for plain in ["", "1"] {
        let twin = Twin::writing(|hg, path| {
            hg.ok(path, &["init"]);
            let line = |name: &str| format!("pre-root.{name} = echo {name} ${{HGPLAIN:-none}}\n");
            // Each value is a harmless command if it is taken for a hook.
            let option = |name: &str| format!("pre-root.{name}:run-with-plain = {name}\n");
            let mut settings = format!("[hooks]\n{}", line("default"));
            for name in ["true", "false", "auto"] {
                settings += &(line(name) + &option(name));
            }
            write(path, ".hg/hgrc", settings.as_bytes());
        });
        twin.with("HGPLAIN", plain).same(&["root"]);
    }
}
