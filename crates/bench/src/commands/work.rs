//! The commands that are measured.

use crate::processes::{Words, words};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Effect of a command on its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkKind {
    /// Prints something and changes nothing.
    Read,
    /// Commits one changed file.
    Commit,
    /// Writes all files of the newest changeset into an empty working copy.
    Update,
}

/// One command, as Mercurial and as git spell it.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub name: &'static str,
    pub kind: WorkKind,
    pub hg: Words,
    pub git: Words,
    /// The file that a commit changes.
    pub file: OsString,
}

impl Work {
    pub fn is_reading(&self) -> bool {
        self.kind == WorkKind::Read
    }
}

/// All commands, with `file` as the one whose history is shown and which is changed.
pub(super) fn works(file: &[u8]) -> Vec<Work> {
    let file = OsString::from_vec(file.to_vec());
    let with_file = |texts: &[&str]| -> Words {
        let mut all = words(texts);
        all.push(file.clone());
        all
    };
    let in_tree = {
        let mut text = OsString::from("HEAD:");
        text.push(&file);
        text
    };
    let mut works = Vec::new();
    let mut add = |name, kind, hg: Words, git: Words| {
        works.push(Work {
            name,
            kind,
            hg,
            git,
            file: file.clone(),
        });
    };
    let read = WorkKind::Read;
    add("status", read, words(&["status"]), words(&["status"]));
    add("files", read, words(&["files"]), words(&["ls-files"]));
    add(
        "log -l 10",
        read,
        words(&["log", "-l", "10"]),
        words(&["log", "-10"]),
    );
    add("log", read, words(&["log"]), words(&["log"]));
    add(
        "log FILE",
        read,
        with_file(&["log"]),
        with_file(&["log", "--"]),
    );
    add(
        "log -p -l 200",
        read,
        words(&["log", "-p", "-l", "200"]),
        // Mercurial shows a merge against its first parent.
        words(&["log", "-p", "-200", "--diff-merges=first-parent"]),
    );
    add(
        "diff -c tip",
        read,
        words(&["diff", "-c", "tip"]),
        words(&["show", "--format=", "--diff-merges=first-parent", "HEAD"]),
    );
    add(
        "cat FILE",
        read,
        with_file(&["cat"]),
        vec!["show".into(), in_tree],
    );
    add(
        "annotate FILE",
        read,
        with_file(&["annotate"]),
        with_file(&["blame", "--"]),
    );
    add(
        "update from null",
        WorkKind::Update,
        words(&["update", "-q", "tip"]),
        words(&["reset", "-q", "--hard"]),
    );
    add(
        "commit of a file",
        WorkKind::Commit,
        words(&["commit", "-m", "one line more", "-d", "1700000000 0"]),
        // The promise of the others: what was committed survives a power failure.
        words(&[
            "-c",
            "core.fsync=all",
            "-c",
            "gc.auto=0",
            "commit",
            "-q",
            "-a",
            "-m",
            "one line more",
        ]),
    );
    works
}
