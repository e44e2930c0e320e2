//! The second form of the dirstate, as one program writes it and the other reads it. (`hg` without
//! its Rust parts has to be allowed to be slow with it.)

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, Outcome, hg};
use varve_testkit::repos;

const ALLOW: &str = "[storage]\ndirstate-v2.slow-path = allow\n";

fn peer() -> Hg {
    hg().with_config(&["storage.dirstate-v2.slow-path=allow"])
}

fn make(_: &Hg, path: &Path) {
    let hg = peer();
    let new = hg.with_config(&["format.use-dirstate-v2=yes"]);
    new.ok(path.parent().unwrap(), &["init".as_ref(), path.as_os_str()]);
    std::fs::write(path.join(".hg/hgrc"), ALLOW).unwrap();
    for name in [
        "a",
        "b",
        "directory/c",
        "directory/d",
        "directory/deep/e",
        "x y/\u{fc}",
        "z",
    ] {
        repos::write(path, name, name.repeat(3).as_bytes());
    }
    hg.ok(path, &["commit", "-A", "-m", "one", "-d", "1 0"]);
    repos::write(path, "directory/c", b"changed");
    hg.ok(path, &["remove", "z"]);
    hg.ok(path, &["copy", "a", "copied/a"]);
    hg.ok(path, &["commit", "-m", "two", "-d", "2 0"]);
}

/// Entries of a dirstate as `hg` reads them, but for the times of files.
fn state(path: &Path) -> Vec<String> {
    let requires = std::fs::read_to_string(path.join(".hg/requires")).unwrap();
    assert!(requires.contains("dirstate-v2"));
    let said = peer().run_all(
        path,
        &[
            &["debugstate", "--no-dates"],
            &["status", "--all"],
            &["parents", "-T", "{node}"],
            &["status", "--copies"],
        ],
    );
    let mut said = said.into_iter().map(Outcome::success);
    let entries = said.next().unwrap();
    // Whether a time is kept depends on the clock, and the width of columns on that.
    let entries = entries.lines().map(|line| {
        let words = line.split_whitespace();
        let words = words.filter(|word| !matches!(*word, "set" | "unset"));
        words.collect::<Vec<_>>().join(" ")
    });
    let entries = entries.collect::<Vec<_>>().join("\n");
    [vec![entries], said.collect()].concat()
}

#[test]
fn what_varve_writes_is_to_hg_what_hg_writes() {
    let twin = Twin::writing(make);
    let lines = [
        "status",
        "add new directory/new",
        "remove b directory/deep/e",
        "copy directory/c directory/copy",
        "rename a moved/a",
        "forget directory/d",
        "status -A",
    ];
    for line in lines {
        twin.each(|path| {
            repos::write(path, "new", b"new");
            repos::write(path, "directory/new", b"new, too");
        });
        let words: Vec<&str> = line.split(' ').collect();
        twin.same(&words);
        assert_eq!(state(twin.ours()), state(twin.theirs()), "after {line}");
        assert!(twin.ours().join(".hg/dirstate").exists(), "after {line}");
    }
}

#[test]
fn what_hg_writes_is_read_and_continued() {
    let twin = Twin::writing(make);
    for round in 0..3 {
        twin.each(|path| {
            let hg = peer();
            let name = format!("directory/round {round}");
            repos::write(path, &name, b"1");
            hg.ok(path, &["add", &name]);
            hg.ok(path, &["status"]);
        });
        twin.all_same(&["status -A -C", "parents", "summary", "id"]);
        twin.same(&["remove", "-f", &format!("directory/round {round}")]);
        twin.same(&["copy", "a", &format!("copy {round}")]);
        assert_eq!(state(twin.ours()), state(twin.theirs()));
    }
}

/// The Rust parts of `hg` leave bytes behind that no longer count, before a new tree or after it.
#[test]
fn bytes_that_do_not_count_are_passed_over() {
    let twin = Twin::writing(make);
    twin.each(|path| {
        peer().ok(path, &["status"]);
        let files = std::fs::read_dir(path.join(".hg")).unwrap();
        let mut names = files.map(|entry| entry.unwrap().file_name());
        let data = names.find(|name| name.to_str().unwrap().starts_with("dirstate."));
        let data = path.join(".hg").join(data.unwrap());
        let mut bytes = std::fs::read(&data).unwrap();
        bytes.extend_from_slice(b"a tree that was never finished");
        std::fs::write(data, bytes).unwrap();
    });
    twin.all_same(&["status -A -C", "remove b", "status -A -C"]);
    assert_eq!(state(twin.ours()), state(twin.theirs()));
}
