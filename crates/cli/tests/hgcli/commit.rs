//! `commit`: the same changesets, with the same names, as the real program makes.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

fn begin(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["a", "b", "c", "d/e", "d/f"] {
        write(path, name, format!("{name}\n").as_bytes());
    }
    commit(hg, path, "zero");
}

fn executable(path: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}

#[test]
fn addremove_of_nothing_and_of_what_is_missing_commits_nothing() {
    let twin = Twin::writing(begin);
    twin.all_same(&[
        "commit -A -m nothing",
        "commit -A -m x nosuch",
        "commit -A -m x a nosuch",
    ]);
    same_state(&twin);
}

#[test]
fn changes_of_all_kinds_get_the_same_names() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["bookmark", "mark"]);
        write(path, "a", b"changed\n");
        hg.ok(path, &["remove", "b"]);
        hg.ok(path, &["rename", "c", "moved"]);
        hg.ok(path, &["copy", "d/e", "copied"]);
        write(path, "empty", b"");
        write(path, "odd \u{e4} name", b"\x01\nas if a header\n");
        executable(&path.join("d/f"));
        std::os::unix::fs::symlink("a", path.join("link")).unwrap();
        hg.ok(path, &["add", "empty", "odd \u{e4} name", "link"]);
        write(path, "unknown", b"?");
    });
    twin.all_same(&["commit -v -m all", "ci -m nothing", "commit"]);
    same_state(&twin);
    twin.each(|path| write(path, "a", b"again\n"));
    twin.each(|path| write(path, "d/e", b"again\n"));
    twin.each(|path| std::fs::remove_file(path.join("moved")).unwrap());
    twin.all_same(&[
        "ci -m part d",
        "ci -m gone moved",
        "ci -m x unknown",
        "ci -m x nowhere",
    ]);
    twin.all_same(&[
        "ci -m secret --secret -u someone a",
        "ci -m all -A",
        "ci -m none",
    ]);
    same_state(&twin);
    twin.each(|path| write(path, "new", b"new\n"));
    twin.each(|path| write(path, "message", b"\n\nfrom a file  \n\nmore\n\n"));
    twin.all_same(&[
        "ci -A -X message -l message",
        "ci -m x -l y",
        "ci -l nofile",
        "ci -A -m x -d bad",
    ]);
    same_state(&twin);
}

#[test]
fn branches_heads_and_merges_are_committed_as_hg_does() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        write(path, "a", b"one\n");
        commit(hg, path, "one");
        hg.ok(path, &["update", "0"]);
        write(path, "b", b"two\n");
        write(path, "only here", b"x");
        hg.ok(path, &["add", "only here"]);
    });
    twin.all_same(&["ci -m two"]);
    let merge = |path: &Path| drop(varve_testkit::peers::hg().ok(path, &["merge"]));
    twin.each(merge);
    twin.all_same(&["ci -m part a", "ci -m merge"]);
    same_state(&twin);
    let branch = |path: &Path| drop(varve_testkit::peers::hg().ok(path, &["branch", "side"]));
    twin.each(branch);
    twin.all_same(&[
        "ci -m branch",
        "ci --close-branch -m close",
        "ci --close-branch -m again",
    ]);
    twin.each(|path| write(path, "a", b"more\n"));
    twin.all_same(&["ci -m reopen", "up 0"]);
    twin.each(|path| write(path, "c", b"head\n"));
    twin.all_same(&["ci --debug --close-branch -m x", "ci -m head"]);
    same_state(&twin);
}

#[test]
fn the_editor_is_asked_for_a_description() {
    let editor = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        editor.path(),
        "#!/bin/sh\n{ echo edited; grep -v HG: \"$1\"; } > \"$1.x\"; mv \"$1.x\" \"$1\"\n",
    )
    .unwrap();
    executable(editor.path());
    let editor = editor.into_temp_path();
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        write(path, "a", b"changed\n");
    });
    let twin = twin.with("HGEDITOR", "false");
    twin.all_same(&["ci"]);
    let twin = twin.with("HGEDITOR", editor.to_str().unwrap());
    twin.all_same(&["ci a"]);
    twin.each(|path| write(path, "a", b"again\n"));
    twin.all_same(&["ci -e -m typed"]);
    same_state(&twin);
    twin.each(|path| write(path, "a", b"and again\n"));
    let twin = twin.with("HGEDITOR", "true");
    twin.all_same(&["ci"]);
}

#[test]
fn branches_are_closed_where_they_begin() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["branch", "-q", "other"]);
        write(path, "a", b"other\n");
        commit(hg, path, "one");
        hg.ok(path, &["up", "-q", "0"]);
    });
    twin.all_same(&[
        "branch -q -f other",
        "commit --close-branch -m closed",
        "commit --amend --close-branch -m again",
        "update -q -C 0",
        "commit --amend --close-branch -m first",
        "log -G -T {rev}{branch}{extras}\n",
    ]);
    same_state(&twin);
}

#[test]
fn editors_are_told_the_kind_of_commit() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        let extensions = b"[extensions]\nrebase=\nhistedit=\nshelve=\n";
        write(path, ".hg/hgrc", extensions);
        write(path, "a", b"1\n");
        commit(hg, path, "one");
        hg.ok(path, &["up", "-q", "0"]);
        write(path, "b", b"2\n");
        commit(hg, path, "two");
    });
    twin.each(|path| {
        let script = b"echo ${HG:+HG} form=$HGEDITFORM. user=$HGUSER. >&2\n\
            echo ${HGEDITFORM-none} >&2\necho more >> $1\n";
        write(path.parent().unwrap(), "ed", script);
        let patch = hg().ok(path, &["export", "1"]);
        write(path.parent().unwrap(), "p", patch.as_bytes());
    });
    let twin = twin.with("HGEDITOR", "sh ../ed");
    twin.all_same(&[
        "graft 1 -e",
        "commit --amend -u Bob",
        "backout tip -e",
        "update -q -C 2",
        "import -e ../p",
        "import --bypass -e ../p",
        "merge -q 1 -t :local",
        "commit",
        "commit --amend",
        "rebase -r 3 -d 0 -e",
        "rebase -s 2 -d 1 --collapse --keep",
        "commit --close-branch",
    ]);
    twin.each(|path| write(path, "c", b"shelved\n"));
    twin.same(&["shelve", "-e"]);
    twin.all_same(&["histedit 1", "config --edit --local"]);
    twin.each(|path| write(path, ".hg/hgrc", b""));
    twin.each(|path| write(path, "a", b"1\n2\n"));
    twin.same_answering(&["commit", "-i", "-m", "part", "-d", "0 0"], "y\ne\nn\n");
}

/// Files that a merge removes, or a person, that others make anew.
#[test]
fn removed_files_that_are_back_are_added_again() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for file in ["a", "b"] {
            write(path, file, b"1\n");
        }
        commit(hg, path, "base");
        hg.ok(path, &["remove", "a"]);
        commit(hg, path, "gone");
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "c", b"");
        commit(hg, path, "beside");
        hg.ok(path, &["merge", "-q", "1"]);
    });
    twin.each(|path| write(path, "a", b"2\n"));
    twin.same(&["commit", "-A", "-m", "merged"]);
    twin.same(&["log", "-r", ".", "-T", "{node} {files}\n"]);
    twin.all_same(&["remove -q a b"]);
    twin.each(|path| {
        write(path, "a", b"2\n");
        write(path, "b", b"3\n");
    });
    twin.all_same(&["commit -A -m again b", "status -A", "commit -A -m same"]);
    same_state(&twin);
}
