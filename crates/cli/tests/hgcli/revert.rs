//! `revert`.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

fn history(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["a", "b", "d/c", "gone later", "k"] {
        write(path, name, name.as_bytes());
    }
    commit(hg, path, "zero");
    write(path, "a", b"a in one");
    write(path, "new in one", b"1");
    hg.ok(path, &["remove", "gone later"]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path.join("k"), mode).unwrap();
    commit(hg, path, "one");
}

/// Changes of all kinds.
fn disturb(path: &Path) {
    write(path, "a", b"changed");
    write(path, "added", b"added");
    hg().ok(path, &["add", "added"]);
    hg().ok(path, &["remove", "b"]);
    // An earlier revert may have left it.
    let _ = std::fs::remove_file(path.join("copied"));
    hg().ok(path, &["copy", "k", "copied"]);
    std::fs::remove_file(path.join("d/c")).unwrap();
    write(path, "unknown", b"?");
}

#[test]
fn files_come_back_and_what_is_overwritten_is_kept() {
    let twin = Twin::writing(history);
    twin.all_same(&["revert", "revert --all", "revert a", "revert none"]);
    twin.each(disturb);
    twin.all_same(&["revert", "revert -n --all", "revert -n a d unknown none"]);
    same_state(&twin);
    twin.all_same(&["revert a", "revert -a", "revert unknown"]);
    same_state(&twin);
    assert_eq!(
        std::fs::read(twin.ours().join("a.orig")).unwrap(),
        b"changed"
    );
    twin.each(disturb);
    twin.all_same(&["revert -C -a -X b", "revert b -v"]);
    same_state(&twin);
}

#[test]
fn files_of_other_changesets_show_as_changes() {
    let twin = Twin::writing(history);
    twin.all_same(&["revert -r 0 a", "revert -r 99 a", "revert -r 0"]);
    same_state(&twin);
    twin.all_same(&["revert -r 0 -a", "ci -m back"]);
    same_state(&twin);
    twin.each(disturb);
    twin.all_same(&["revert -r 1 -a"]);
    same_state(&twin);
}

#[test]
fn dates_verbose_words_and_directories_for_backups() {
    let twin = Twin::writing(history);
    twin.each(disturb);
    twin.all_same(&[
        "revert -v a",
        "revert -r 0 -d 1970-01-01 a",
        "revert -d 1980-01-01 a",
        "revert -d 1970-01-01 a",
    ]);
    twin.each(|path| write(path, "a", b"changed again"));
    twin.all_same(&["revert -v --config ui.origbackuppath=.hg/kept a"]);
    same_state(&twin);
    let kept = std::fs::read(twin.ours().join(".hg/kept/a")).unwrap();
    assert_eq!(kept, b"changed again");
}

#[test]
fn files_and_directories_take_each_others_place() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        write(path, "b/b", b"b\n");
        commit(hg, path, "zero");
    });
    let exchange = |path: &Path| {
        std::fs::remove_file(path.join("a")).unwrap();
        std::fs::remove_dir_all(path.join("b")).unwrap();
        write(path, "a/a", b"a\n");
        write(path, "b", b"b\n");
    };
    let clear = |path: &Path| {
        std::fs::remove_dir_all(path.join("a")).unwrap();
        std::fs::remove_file(path.join("b")).unwrap();
    };
    twin.each(exchange);
    twin.all_same(&["addremove -s 0", "status"]);
    twin.each(clear);
    twin.all_same(&["revert b/b", "status", "revert --all", "status", "forget a"]);
    twin.each(|path| write(path, "a", b"zed\n"));
    twin.all_same(&["revert a", "status"]);
    twin.each(exchange);
    twin.all_same(&["addremove -s 0 -q", "commit -m exchanged"]);
    twin.each(|path| write(path, "d/d/d", b"d\n"));
    twin.all_same(&["commit -q -A -m long"]);
    twin.each(|path| std::fs::remove_dir_all(path.join("d")).unwrap());
    twin.each(|path| write(path, "d", b"d\n"));
    twin.all_same(&["add d", "remove --after d/d/d", "add d", "commit -m short"]);
    for line in ["update -r 0", "update -r 1"] {
        for name in ["a", "b", "d"] {
            twin.each(|path| drop(std::fs::remove_dir_all(path.join(name))));
            twin.each(|path| drop(std::fs::remove_file(path.join(name))));
        }
        twin.all_same(&[line, "status -A"]);
    }
}
