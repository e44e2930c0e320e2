//! Bundles looked at as repositories.

use super::{Twin, our_hg};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;
use varve_testkit::peers::{Outcome, hg};
use varve_testkit::repos;

/// A repository that lacks changesets, and bundles of these and of all, beside it.
pub(super) struct Made {
    directory: TempDir,
}

const TYPES: [&str; 3] = ["none-v1", "bzip2-v2", "zstd-v3"];

impl Made {
    pub(super) fn shared() -> &'static Made {
        static SHARED: OnceLock<Made> = OnceLock::new();
        SHARED.get_or_init(Made::new)
    }

    fn new() -> Made {
        let directory = tempfile::tempdir().unwrap();
        let whole = directory.path().join("whole");
        repos::make(&hg(), &whole, repos::DEFAULT);
        let run = |words: &[&str]| hg().ok(directory.path(), words);
        run(&["clone", "-q", "-r", "4", "whole", "part"]);
        for kind in TYPES {
            let (some, all) = (format!("some-{kind}.hg"), format!("all-{kind}.hg"));
            let common = ["-R", "whole", "bundle", "-q", "-t", kind];
            run(&[&common[..], &["-r", "all()", "--base", "4", &some]].concat());
            run(&[&common[..], &["-a", &all]].concat());
        }
        run(&[
            "-R",
            "whole",
            "bundle",
            "-qa",
            "-t",
            "streamv2",
            "stream.hg",
        ]);
        let packed = [
            "-R",
            "whole",
            "-q",
            "debugcreatestreamclonebundle",
            "packed.hg",
        ];
        run(&packed);
        let bytes = std::fs::read(directory.path().join("some-bzip2-v2.hg")).unwrap();
        for (name, bytes) in [
            ("cut.hg", &bytes[..bytes.len() / 2]),
            ("nothing.hg", &b""[..]),
            ("short.hg", b"HG2"),
            ("other.hg", b"HG99XX"),
            ("engine.hg", b"HG10XX"),
            ("text.hg", b"no bundle"),
        ] {
            std::fs::write(directory.path().join(name), bytes).unwrap();
        }
        std::fs::create_dir(directory.path().join("part/below")).unwrap();
        Made { directory }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn twin(&self) -> Twin {
        Twin::of(&self.path("part"))
    }
}

/// Commands that show all of a repository.
const LOOKS: [&str; 21] = [
    "log",
    "log -p -v -r 5:tip",
    "log -p -r 5:tip",
    "log -G -T {rev}:{node|short}\\s{phase}\\s{tags}\\s{bookmarks}\\s{branch}\\n",
    "log -r heads(draft())",
    "log -T {rev}\\s{latesttag}\\s{p1rev}\\n",
    "tip",
    "identify",
    "identify -r tip",
    "heads",
    "heads -t",
    "branches",
    "tags",
    "bookmarks",
    "parents",
    "files",
    "files -r tip",
    "manifest -r tip",
    "diff -r 0 -r tip",
    "status",
    "summary",
];

#[test]
fn a_bundle_over_a_repository_shows_both() {
    let made = Made::shared();
    for kind in TYPES {
        let bundle = format!("../some-{kind}.hg");
        for look in LOOKS {
            let words: Vec<&str> = look.split(' ').collect();
            made.twin().same(&[&["-R", &bundle][..], &words].concat());
        }
    }
}

#[test]
fn a_bundle_of_everything_needs_no_repository() {
    let made = Made::shared();
    for kind in TYPES {
        let bundle = format!("all-{kind}.hg");
        for look in LOOKS.iter().filter(|look| !look.contains("files")) {
            let words: Vec<&str> = look.split(' ').collect();
            let words = [&["-R", &bundle][..], &words].concat();
            made.twin().same_in("..", &words);
        }
    }
}

#[test]
fn a_bundle_is_named_in_several_ways() {
    let (made, absolute) = (Made::shared(), Made::shared().path("some-bzip2-v2.hg"));
    let absolute = absolute.to_str().unwrap();
    let twin = made.twin();
    for address in [
        "../../some-bzip2-v2.hg",
        "bundle:../../some-bzip2-v2.hg",
        "bundle:../../part+../../some-bzip2-v2.hg",
        "bundle:../../none+../../some-bzip2-v2.hg",
        "bundle:../../whole+../../some-bzip2-v2.hg",
        "file:../../some-bzip2-v2.hg",
        &format!("bundle://{absolute}"),
        &format!("file://{absolute}"),
        absolute,
    ] {
        twin.same_in("below", &["-R", address, "tip"]);
        twin.same_in("..", &["-R", address, "tip", "--cwd", "part/below"]);
    }
    let main = |root: &str| format!("bundle.mainreporoot={root}");
    let bundle = ["-R", "some-bzip2-v2.hg"];
    for root in ["part", "whole", "none", ""] {
        let main = main(root);
        twin.same_in("..", &[&bundle[..], &["--config", &main, "tip"]].concat());
        twin.same_in("..", &[&bundle[..], &["--config", &main, "root"]].concat());
    }
    twin.same(&["-R", "../some-bzip2-v2.hg", "root"]);
}

#[test]
fn what_is_no_bundle_of_changesets_is_refused() {
    let made = Made::shared();
    for name in [
        "cut.hg",
        "nothing.hg",
        "short.hg",
        "other.hg",
        "engine.hg",
        "text.hg",
        "stream.hg",
        "packed.hg",
        "missing.hg",
        "whole",
    ] {
        // Without a scheme a directory is a repository, and a text of several lines a fault.
        for address in [format!("../{name}"), format!("bundle:../{name}")] {
            made.twin()
                .same(&["-R", &address, "log", "-q", "-r", "tip"]);
        }
    }
    made.twin().same(&["-R", "../some-none-v1.hg", "verify"]);
    // Nothing that it builds on is there.
    made.twin().same_in("..", &["-R", "some-zstd-v3.hg", "log"]);
}

/// Everything below a directory.
fn everything(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut left) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            let bytes = if kind.is_dir() {
                left.push(path.clone());
                Vec::new()
            } else if kind.is_symlink() {
                path.read_link()
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                std::fs::read(&path).unwrap()
            };
            found.insert(path, bytes);
        }
    }
    found
}

/// Runs ours with an own directory for temporary files.
fn ours(root: &Path, words: &[&str], temporary: &Path) -> Outcome {
    let mut command = Command::new(our_hg());
    command.args(words).current_dir(root).env("HGRCPATH", "");
    command.env("HGPLAIN", "1").env("TMPDIR", temporary);
    Outcome::of(&mut command, &our_hg())
}

#[test]
fn nothing_is_written() {
    let (made, directory) = (Made::new(), tempfile::tempdir().unwrap());
    let root = made.path("part");
    let run = |words: &[&str]| {
        let words = [&["-R", "../some-bzip2-v2.hg"], words].concat();
        ours(&root, &words, directory.path())
    };
    let log = run(&["log", "-p"]);
    assert_eq!(log.code, Some(0), "{}", log.stderr);
    // A lock of another machine, and a transaction that was left unfinished.
    let store = root.join(".hg/store");
    std::os::unix::fs::symlink("elsewhere:1", store.join("lock")).unwrap();
    std::os::unix::fs::symlink("elsewhere:1", root.join(".hg/wlock")).unwrap();
    let len = |name: &str| std::fs::metadata(store.join(name)).unwrap().len();
    let journal = format!(
        "00changelog.d\0{}\n00manifest.i\0{}\n",
        len("00changelog.d"),
        len("00manifest.i")
    );
    std::fs::write(store.join("journal"), journal).unwrap();
    let index = std::fs::read(store.join("00manifest.i")).unwrap();
    std::fs::write(store.join("00manifest.i"), [&index[..], b"torn"].concat()).unwrap();
    let before = everything(made.directory.path());
    assert_eq!(run(&["log", "-p"]).stdout, log.stdout);
    for words in [
        &["commit", "-m", "x"][..],
        &["bookmark", "x"],
        &["tag", "x"],
        &["branch", "x"],
        &["update", "tip"],
        &["phase", "--public", "tip"],
        &["unbundle", "../some-bzip2-v2.hg"],
        &["pull", "../whole"],
        &["recover"],
        &["revert", "--all", "-r", "tip"],
    ] {
        let said = run(words);
        assert_eq!(said.code, Some(255), "{words:?}: {}", said.stdout);
        assert_eq!(
            said.stderr, "abort: bundlerepository is read-only\n",
            "{words:?}"
        );
    }
    assert!(before == everything(made.directory.path()));
    let all = [
        "-R",
        "../all-zstd-v3.hg",
        "--config",
        "bundle.mainreporoot=none",
        "status",
    ];
    assert_eq!(ours(&root, &all, directory.path()).code, Some(0));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
