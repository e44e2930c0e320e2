//! `debugbundle`: the same lists of the contents of bundles.

use super::Twin;
use super::bundle_repository::Made;
use varve_testkit::peers::hg;

#[test]
fn bundles_of_every_type_are_listed() {
    let (directory, made) = (tempfile::tempdir().unwrap(), Made::shared());
    let root = made.path("whole");
    let twin = Twin::of(&root);
    for kind in [
        "none-v1",
        "gzip-v1",
        "bzip2-v1",
        "gzip-v2",
        "zstd-v2",
        "none-v3;phases=yes",
        "none-v2;changegroup=no;phases=yes",
        "streamv2",
    ] {
        let to = directory.path().join("b.hg");
        let words = [
            "bundle",
            "--hidden",
            "-qa",
            "-t",
            kind,
            to.to_str().unwrap(),
        ];
        hg().ok(&root, &words);
        for options in [
            "",
            "--all",
            "--spec",
            "-q",
            "-v",
            "--all --spec",
            "--part-type changegroup",
            "--part-type obsmarkers --part-type phase-heads",
            "--part-type none",
        ] {
            let is_all = options == "--all";
            let options = options.split(' ').filter(|word| !word.is_empty());
            let words: Vec<&str> = ["debugbundle"].into_iter().chain(options).collect();
            if kind.starts_with("none-v3") && is_all {
                // Mercurial does not get to the files of a changegroup of the third version.
                let listed = twin.run(&[&words[..], &[to.to_str().unwrap()]].concat());
                assert!(listed.ours.stdout.contains("\n    README\n"));
                continue;
            }
            twin.same(&[&words[..], &[to.to_str().unwrap()]].concat());
        }
    }
    twin.same(&["debugbundle", "bundle:../some-zstd-v3.hg"]);
    twin.same(&["debugbundle", "file:../some-zstd-v3.hg", "-R", "none"]);
    twin.same(&["debugbundle", "../some-zstd-v3.hg", "-R", "."]);
}

#[test]
fn what_is_no_bundle_is_refused() {
    let made = Made::shared();
    let twin = Twin::of(&made.path("part"));
    for name in [
        "nothing.hg",
        "short.hg",
        "other.hg",
        "engine.hg",
        "text.hg",
        "missing.hg",
        "whole",
        "cut.hg",
    ] {
        twin.same(&["debugbundle", &format!("../{name}")]);
    }
    twin.same(&["debugbundle", "--spec", "../packed.hg"]);
    let refused = twin.run(&["debugbundle", "../packed.hg"]).ours;
    assert_eq!(refused.code, Some(10));
    assert!(
        refused.stderr.starts_with("abort: packed bundles"),
        "{}",
        refused.stderr
    );
}
