//! `bundle` and `outgoing`: the same words, and files that the real program reads.

mod contents;
mod outgoing;
mod words;

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{noise, write};

/// Merges, a closed branch, public, draft and secret heads, a rewritten changeset, a tag, bookmarks, and
/// a file that fills several chunks.
pub fn history(hg: &Hg, path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    hg.ok(path, &["init"]);
    let rc = "[experimental]\nevolution = all\n[ui]\nusername = t\n";
    std::fs::write(path.join(".hg/hgrc"), rc).unwrap();
    let mut clock = 0;
    let mut commit = |file: &str, bytes: &[u8], options: &[&str]| {
        clock += 1;
        write(path, file, bytes);
        let date = format!("{clock} 0");
        let message = format!("{clock} {file}");
        let base = ["commit", "-q", "-A", "-d", &date, "-m", &message];
        hg.ok(path, &[&base[..], options].concat());
    };
    commit("a", b"a\n", &[]);
    commit("big", &noise(150_000, 3), &[]);
    hg.ok(path, &["tag", "-d", "0 0", "t1"]);
    hg.ok(path, &["update", "-q", "0"]);
    commit("a", b"a\nb\n", &[]);
    hg.ok(path, &["merge", "-q", "2"]);
    commit("c", b"c\n", &[]);
    hg.ok(path, &["update", "-q", "0"]);
    hg.ok(path, &["branch", "-q", "old"]);
    commit("d/e", b"d\n", &[]);
    commit("d/e", b"e\n", &["--close-branch"]);
    hg.ok(path, &["update", "-q", "4"]);
    hg.ok(path, &["phase", "-p", "4"]);
    hg.ok(path, &["copy", "-q", "c", "copied"]);
    commit("e", &noise(3000, 4), &[]);
    hg.ok(path, &["bookmark", "-r", "4", "mark"]);
    hg.ok(path, &["update", "-q", "4"]);
    commit("s", b"s\n", &["--secret"]);
    hg.ok(path, &["update", "-q", "7"]);
    commit("f", b"f\n", &[]);
    write(path, "f", b"g\n");
    hg.ok(
        path,
        &["commit", "-q", "--amend", "-d", "9 9", "-m", "amended"],
    );
    hg.ok(path, &["update", "-q", "null"]);
    // Fills the cache of tags.
    hg.ok(path, &["tags"]);
}

/// The bytes of a file beside each copy.
pub fn files(twin: &Twin, name: &str) -> [Vec<u8>; 2] {
    [twin.theirs(), twin.ours()].map(|root| std::fs::read(root.join(name)).unwrap())
}

/// Repositories beside each copy: nothing in it, some, most, and something else.
pub fn destinations(twin: &Twin) {
    let hg = hg();
    twin.each(|root| {
        let beside = root.parent().unwrap();
        hg.ok(beside, &["init", "empty"]);
        for (rev, name) in [("2", "few"), ("7", "most")] {
            hg.ok(
                beside,
                &["clone", "-q", "-U", "-r", rev, "repository", name],
            );
        }
        hg.ok(beside, &["init", "other"]);
        std::fs::write(beside.join("other/o"), "o").unwrap();
        let commit = ["commit", "-q", "-A", "-m", "o", "-d", "0 0", "-u", "o"];
        hg.ok(&beside.join("other"), &commit);
    });
}
