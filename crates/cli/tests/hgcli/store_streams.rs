//! The files of a store in bundles: `debugapplystreamclonebundle` and `unbundle`.

use super::bundle_repository::Made;
use super::{Both, Twin};
use std::path::Path;
use varve_testkit::peers::{Outcome, hg};

fn empty() -> Twin {
    Twin::writing(|hg, root| {
        hg.ok(root, &["init"]);
    })
}

/// Both say the same but for how long it took.
#[track_caller]
pub(super) fn same_but_time(twin: &Twin, words: &[&str]) {
    let timeless = |outcome: &mut Outcome| {
        let lines = outcome
            .stdout
            .lines()
            .map(|line| match line.split_once(" in ") {
                Some((before, time)) => {
                    assert!(time.ends_with("/sec)"), "{line}");
                    format!("{before}\n")
                }
                None => format!("{line}\n"),
            });
        outcome.stdout = lines.collect();
    };
    let Both {
        mut theirs,
        mut ours,
    } = twin.run(words);
    timeless(&mut theirs);
    timeless(&mut ours);
    Both { theirs, ours }.same(words);
}

fn text(name: &str) -> String {
    Made::shared().path(name).to_str().unwrap().to_owned()
}

const LOOKS: [&[&str]; 6] = [
    &["log", "--debug", "-p"],
    &["log", "-T", "{rev}:{node} {phase} {tags} {bookmarks}\n"],
    &["branches", "-c"],
    &["debugrequires"],
    &["update"],
    &["status"],
];

#[track_caller]
fn check(twin: &Twin) {
    for words in LOOKS {
        twin.same(words);
    }
    twin.each(|root| {
        let said = hg().ok(root, &["verify"]);
        assert!(!said.contains("warning"), "{said}");
        assert!(!root.join(".hg/store.new").exists());
    });
    let names = |root: &Path| {
        let text = std::fs::read_to_string(root.join(".hg/store/fncache")).unwrap();
        let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
        names.sort();
        names
    };
    assert_eq!(names(twin.ours()), names(twin.theirs()));
}

#[test]
fn a_store_comes_into_an_empty_repository() {
    for words in [
        ["debugapplystreamclonebundle", &text("packed.hg")],
        ["unbundle", &text("stream.hg")],
    ] {
        let twin = empty();
        same_but_time(&twin, &words);
        check(&twin);
        twin.same(&words);
        same_but_time(&empty(), &[&words[..], &["-q"]].concat());
    }
    same_but_time(&empty(), &["unbundle", "-u", &text("stream.hg")]);
    empty().same(&["unbundle", &text("packed.hg")]);
    for kind in ["stream.hg", "all-zstd-v3.hg"] {
        let refused = empty()
            .run(&["debugapplystreamclonebundle", &text(kind)])
            .ours;
        assert_eq!(refused.code, Some(10), "{}", refused.stderr);
    }
}

#[test]
fn a_store_of_another_engine_brings_its_requirements() {
    let directory = tempfile::tempdir().unwrap();
    let zlib = ["--config", "format.revlog-compression=zlib"];
    let run = |words: &[&str]| hg().ok(directory.path(), words);
    run(&[
        &zlib[..],
        &["clone", "-qU", "--pull", &text("part"), "zlib"],
    ]
    .concat());
    run(&["-R", "zlib", "bundle", "-qa", "-t", "streamv2", "stream.hg"]);
    run(&[
        "-R",
        "zlib",
        "-q",
        "debugcreatestreamclonebundle",
        "packed.hg",
    ]);
    for (command, name) in [
        ("debugapplystreamclonebundle", "packed.hg"),
        ("unbundle", "stream.hg"),
    ] {
        for settings in [&[][..], &["--config", "format.use-share-safe=no"]] {
            let twin = Twin::writing_with(|hg, root| {
                hg.ok(root, &[settings, &["init"]].concat());
            });
            let file = directory.path().join(name);
            same_but_time(&twin, &[command, file.to_str().unwrap()]);
            check(&twin);
        }
    }
}

#[test]
fn what_is_cut_or_unknown_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let twin = empty();
    for (command, name) in [
        ("debugapplystreamclonebundle", "packed.hg"),
        ("unbundle", "stream.hg"),
    ] {
        let whole = std::fs::read(text(name)).unwrap();
        let path = directory.path().join(name);
        let words = [command, path.to_str().unwrap()];
        let store = twin.ours().join(".hg/store");
        for part in 1..12 {
            std::fs::write(&path, &whole[..whole.len() * part / 12]).unwrap();
            let said = twin.run(&words).ours;
            assert_eq!(said.code, Some(255), "{part}: {}", said.stdout);
            let left: Vec<_> = std::fs::read_dir(&store).unwrap().collect();
            assert_eq!(left.len(), 1, "{left:?}");
            assert!(!twin.ours().join(".hg/store.new").exists());
        }
        let at = whole
            .windows(12)
            .position(|bytes| bytes == b"generaldelta")
            .unwrap();
        let mut unknown = whole.clone();
        unknown[at + 11] = b'b';
        std::fs::write(&path, &unknown).unwrap();
        empty().same(&words);
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(twin.run(&words).ours.code, Some(0));
        hg().ok(twin.ours(), &["verify", "-q"]);
        std::fs::remove_dir_all(twin.ours().join(".hg")).unwrap();
        hg().ok(twin.ours(), &["init"]);
    }
}
