//! Other encodings than UTF-8: what is typed is stored as UTF-8, and shown in the terminal's encoding.

use super::state::same_state;
use super::{Twin, our_hg};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::{Hg, hg_program};
use varve_testkit::repos::{commit, write};

/// Texts and names with letters that ASCII lacks, and one changeset by an old program.
fn accents(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    commit(hg, path, "caf\u{e9} \u{20ac}");
    hg.ok(path, &["branch", "br\u{e9}"]);
    write(path, "b\u{e9}", b"\xc3\xa9\n");
    commit(hg, path, "1");
    hg.ok(path, &["tag", "t\u{e9}"]);
    hg.ok(path, &["bookmark", "m\u{e9}"]);
    write(path, "message", b"latin-1: \xe9\n");
}

const SHOWING: &[&str] = &[
    "log",
    "log -v -p",
    "log -G -T {desc}|{branch}|{tags}|{bookmarks}\\n",
    "log -T json",
    "branches",
    "tags",
    "bookmarks",
    "tags -T {tag}\\n",
    "tags -T json",
    "summary",
    "identify",
    "branch",
    "heads -T {branch}\\n",
];

#[test]
fn texts_and_names_are_shown_in_the_terminals_encoding() {
    for encoding in ["ascii", "latin-1", "cp1252", "iso8859-15", "utf_8"] {
        let twin = Twin::writing(accents).with("HGENCODING", encoding);
        twin.all_same(SHOWING);
    }
    let twin = Twin::writing(accents).with("HGENCODING", "cp1252");
    twin.all_same(&["log -T {desc|json}{tags|json}{desc|utf8}\\n"]);
    let twin = Twin::writing(accents);
    twin.all_same(&[
        "log --encoding ascii",
        "tags --encoding nosuch",
        "log --encoding koi8-r",
    ]);
}

#[test]
fn typed_texts_are_stored_as_utf8() {
    for encoding in ["latin-1", "cp1252", "koi8-r"] {
        let twin = Twin::writing(accents).with("HGENCODING", encoding);
        for line in [
            "commit -A -l message",
            "branch \u{e9}\u{e8}",
            "commit -m \u{e9} -u \u{e9}",
            "tag \u{e9}x",
            "bookmark \u{e9}y",
            "log -r \u{e9}x -T {rev}\\n",
            "log -b \u{e9}\u{e8} -T {rev}\\n",
            "update \u{e9}y",
            "commit --amend -m \u{e9}\u{e9} -d 1",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            twin.same(&words);
        }
        same_state(&twin);
    }
}

#[test]
fn what_is_no_text_of_the_encoding_is_refused() {
    let twin = Twin::writing(accents).with("HGENCODING", "ascii");
    let words = ["commit", "-A", "-m", "caf\u{e9}"];
    let both = twin.run(&words);
    both.same(&words);
    assert_eq!(both.ours.code, Some(255));
    twin.all_same(&["tag \u{e9}x", "branch \u{e9}x"]);
}

/// Outcomes of twins are text, so bytes are compared here.
#[test]
fn refused_bytes_are_shown_as_they_are() {
    let twin = Twin::writing(accents);
    let said = [(hg_program(), twin.theirs()), (our_hg(), twin.ours())].map(|(program, path)| {
        let mut command = Command::new(program);
        command.args(["branch", "--encoding", "ascii"]);
        command.arg(OsStr::from_bytes(b"x\xe9y")).current_dir(path);
        command.env("HGRCPATH", "").env_remove("HGENCODING");
        command.output().unwrap().stderr
    });
    assert_eq!(said[0], said[1]);
    assert!(said[1].windows(3).any(|bytes| bytes == b"x\xe9y"));
}
