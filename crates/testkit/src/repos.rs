//! Mercurial repositories of every variant, made by the real `hg`.
//!
//! One rich public history is committed once per process and kept as a bundle; each repository is
//! that bundle in its own format, with drafts and bookmarks on top.

use crate::peers::Hg;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A format of repositories: its name and the settings that `hg init` makes it with.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Short name, for messages and directories.
    pub name: &'static str,
    /// Settings as `section.key=value`.
    pub config: &'static [&'static str],
}

/// The format that `hg` 7.2 makes by default.
pub const DEFAULT: Variant = Variant {
    name: "zstd",
    config: &[],
};

/// Formats that a stock `hg` can be asked for.
pub const VARIANTS: &[Variant] = &[
    DEFAULT,
    Variant {
        name: "zlib",
        config: &["format.revlog-compression=zlib"],
    },
    Variant {
        name: "no-general-delta",
        config: &["format.usegeneraldelta=no"],
    },
    Variant {
        name: "no-sparse-revlog",
        config: &["format.sparse-revlog=no"],
    },
    Variant {
        name: "no-dotencode",
        config: &["format.dotencode=no"],
    },
];

/// Names that the store has to encode: spaces, capitals, dots, reserved words, letters outside
/// ASCII, endings of the store's own files.
pub const ODD_NAMES: &[&str] = &[
    "name with spaces.txt",
    "CAPITALS/And_Under__scores.TXT",
    ".dotfile",
    "dir.with.dots./.hidden",
    "aux.txt",
    "prn/com1/lpt9.x",
    "data.i",
    "directory.i/file.d",
    "directory.hg/x",
    "til~de",
    "question?mark*star|pipe\"quote",
    " leading and trailing ",
    "\u{fc}n\u{ef}c\u{f6}d\u{e9}/\u{65e5}\u{672c}\u{8a9e}.txt",
];

/// A file whose revlog is split in index and data, because it does not compress.
pub const SPLIT_FILE: &str = "data.bin";

/// Names so long that the store keeps only their hash; the first needs it after encoding only.
pub fn long_names() -> Vec<String> {
    vec![
        format!("UPPER/{}.txt", "LONG".repeat(16)),
        format!("{}/{}.rs", "deep/branch".repeat(8), "n".repeat(120)),
    ]
}

/// Makes a repository of the rich history: public changesets up to the tag `v1.0`, then a merge
/// and two heads in draft, with the bookmarks `feature` and `@`.
pub fn make(hg: &Hg, path: &Path, variant: Variant) {
    let hg = &hg.with_config(variant.config);
    let parent = path.parent().expect("a repository lies in a directory");
    std::fs::create_dir_all(parent).expect("directories can be made");
    hg.ok(parent, &["init".as_ref(), path.as_os_str()]);
    hg.ok(
        path,
        &[
            "unbundle".as_ref(),
            "--update".as_ref(),
            public_history(hg).as_os_str(),
        ],
    );
    hg.ok(path, &["phase", "--public", "-r", "all()"]);
    write(path, "README", b"one\ntwo\nthree, in draft\n");
    commit(hg, path, "Draft a change");
    hg.ok(path, &["bookmark", "@"]);
    hg.ok(path, &["update", "v1.0"]);
    hg.ok(path, &["bookmark", "feature"]);
    write(path, "feature.txt", b"new\n");
    commit(hg, path, "Start a feature");
}

/// Adds a secret changeset that makes a file `secret.txt`; returns its full id.
pub fn add_secret(hg: &Hg, path: &Path) -> String {
    write(path, "secret.txt", b"nobody may read this\n");
    hg.ok(path, &["commit", "-A", "--secret", "-m", "Keep a secret"]);
    hg.ok(path, &["log", "-r", ".", "-T", "{node}"])
}

/// Makes a repository of some hundred generated changesets with a split changelog.
pub fn make_long(hg: &Hg, path: &Path) {
    std::fs::create_dir_all(path).expect("directories can be made");
    hg.ok(path, &["init"]);
    let dag = "+150 :fork +40 @side *fork +60 /fork +30";
    hg.ok(path, &["debugbuilddag", "-m", "-o", "-n", dag]);
}

/// Writes a file below a directory, with the directories it needs.
pub fn write(directory: &Path, name: &str, bytes: &[u8]) {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().expect("a file lies in a directory"))
        .expect("directories");
    std::fs::write(&path, bytes).unwrap_or_else(|e| panic!("cannot write {path:?}: {e}"));
}

/// Commits everything there is, adding and removing files.
pub fn commit(hg: &Hg, path: &Path, message: &str) {
    hg.ok(path, &["commit", "--addremove", "-m", message]);
}

/// Bytes that do not compress and are the same on every machine.
pub fn noise(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.max(1);
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_be_bytes()[0]
    };
    (0..len).map(step).collect()
}

/// Path of the bundle of the public history, made at the first call.
fn public_history(hg: &Hg) -> PathBuf {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let source = directory.path().join("source");
        std::fs::create_dir(&source).expect("a directory can be made");
        hg.ok(&source, &["init"]);
        commit_files(hg, &source);
        commit_copies(hg, &source);
        commit_branches(hg, &source);
        commit_chains(hg, &source);
        let _ = hg.ok(
            &source,
            &["bundle", "--all", "--type", "none-v2", "../all.hg"],
        );
        directory
    });
    directory.path().join("all.hg")
}

fn commit_files(hg: &Hg, path: &Path) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let odd = ODD_NAMES.iter().map(|name| (*name).to_owned());
    for name in odd.chain(long_names()) {
        write(path, &name, format!("content of {name}\n").as_bytes());
    }
    write(path, "README", b"one\ntwo\nthree\n");
    write(
        path,
        "dir/a.txt",
        b"to be copied and renamed\n".repeat(40).as_slice(),
    );
    write(path, "empty", b"");
    write(path, "no newline at end", b"last line");
    write(path, "carriage", b"a\r\nb\rc\n\r\n");
    write(path, SPLIT_FILE, &noise(300_000, 7));
    write(path, "small.bin", b"\0\x01\xff\x01\n\0");
    // The first bytes of a filelog's metadata, as content.
    write(path, "looks like metadata", b"\x01\ncopy: x\n\x01\nrest");
    write(path, "run.sh", b"#!/bin/sh\n");
    let executable = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path.join("run.sh"), executable).expect("modes can be set");
    symlink("README", path.join("link")).expect("links can be made");
    symlink("../nowhere/\u{fc}", path.join("dir/dangling")).expect("links can be made");
    commit(
        hg,
        path,
        "Add files with odd names\n\nAnd a longer text: \u{e4}\u{f6}\u{fc}.",
    );
    let plain = PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(path.join("run.sh"), plain).expect("modes can be set");
    std::fs::remove_file(path.join("link")).expect("files can be removed");
    write(path, "link", b"a file now\n");
    write(path, "empty", b"not empty any more\n");
    write(path, "small.bin", b"\0\x01\xff\x01\n\0\0");
    commit(hg, path, "Change modes and kinds of files");
}

fn commit_copies(hg: &Hg, path: &Path) {
    hg.ok(path, &["copy", "README", "docs/README copy"]);
    hg.ok(path, &["rename", "dir/a.txt", "dir/b.txt"]);
    let long = &long_names()[1];
    hg.ok(path, &["copy", long, "short.rs"]);
    commit(hg, path, "Copy and rename");
    hg.ok(path, &["rename", "dir/b.txt", "dir/c.txt"]);
    write(
        path,
        "dir/c.txt",
        b"renamed and edited\n".repeat(40).as_slice(),
    );
    hg.ok(path, &["remove", "short.rs"]);
    write(path, "empty", b"");
    commit(
        hg,
        path,
        "Rename with an edit, remove a copy, empty a file again",
    );
}

fn commit_branches(hg: &Hg, path: &Path) {
    hg.ok(path, &["branch", "stable"]);
    write(path, "README", b"one, stable\ntwo\nthree\n");
    commit(hg, path, "Edit on stable");
    hg.ok(path, &["update", "default"]);
    write(path, "README", b"one\ntwo\nthree, default\n");
    commit(hg, path, "Edit on default");
    hg.ok(path, &["merge", "--tool", ":merge", "stable"]);
    commit(hg, path, "Merge stable: a file with two parents");
    hg.ok(path, &["update", "stable"]);
    hg.ok(path, &["commit", "--close-branch", "-m", "Close stable"]);
    hg.ok(path, &["update", "default"]);
    hg.ok(path, &["branch", "br\u{e4}nch with spaces"]);
    commit(hg, path, "Open a branch without changing a file");
    hg.ok(path, &["update", "default"]);
    hg.ok(path, &["tag", "v1.0"]);
    hg.ok(path, &["tag", "--local", "only here"]);
}

/// Several revisions of one text and one binary file, for chains of deltas.
fn commit_chains(hg: &Hg, path: &Path) {
    let mut lines: Vec<String> = (0..2000).map(|n| format!("line {n} of a text\n")).collect();
    let mut bytes = noise(300_000, 7);
    for round in 0..8 {
        lines[round * 211] = format!("line changed in round {round}\n");
        lines.remove(round * 97);
        bytes[round * 30_000] ^= 0xff;
        write(path, "chain.txt", lines.concat().as_bytes());
        write(path, SPLIT_FILE, &bytes);
        commit(hg, path, &format!("Round {round}"));
    }
}
