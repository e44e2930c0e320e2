//! Messages, and the chosen changesets.

use super::{destinations, history};
use crate::hgcli::Twin;

#[test]
fn changesets_are_chosen_and_told_in_the_same_words() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "bundle -a x.hg",
        "bundle -a x.hg -q",
        "bundle -a -t none-v2 x.hg -v",
        "bundle -a --debug -t none-v3 x.hg",
        "bundle -a --debug -t zstd-v2;phases=yes;obsolescence=yes x.hg",
        "bundle -a --debug -t gzip-v1 x.hg",
        "bundle -a --debug -t none-v2;changegroup=no x.hg",
        "bundle -a --debug x.hg --config experimental.bundle-phases=yes",
        "bundle -a --debug x.hg --config experimental.evolution.bundle-obsmarker=yes",
        "bundle -a --hidden x.hg --debug",
        "bundle --base null x.hg",
        "bundle --base 7 -r 8+10 x.hg --debug",
        "bundle --base 2 --base 3 x.hg --debug",
        "bundle --base 10 -r 7 x.hg",
        "bundle --base null -r null x.hg",
        "bundle --base none() x.hg",
        "bundle -a -r 2 x.hg --debug",
        "bundle -a -b old x.hg",
        "bundle -a --base 3 --exact x.hg",
        "bundle --exact x.hg",
        "bundle --exact -r 7 x.hg --debug",
        "bundle --exact -r 5:8 x.hg --debug",
        "bundle --exact -r 7 --base 4 x.hg",
        "bundle -r none() x.hg",
        "bundle -r zzz x.hg",
        "bundle x.hg",
        "bundle -a x.hg ../d",
        "bundle --base 1 x.hg ../d",
        "bundle --exact x.hg ../d",
        "bundle x.hg ../nothing",
        "bundle x.hg nothing",
        "bundle -a no/directory",
        "bundle -a .",
        "bundle -a /dev/full -t none",
    ]);
    twin.same_but_output(&["bundle", "-a"]);
}

#[test]
fn bundlespecs_are_refused_in_the_same_words() {
    let twin = Twin::writing(history);
    for spec in [
        "v4",
        "V4",
        "bz2",
        "",
        " v2",
        "zstd-v1",
        "zstd-",
        "-v2",
        "a-b-c",
        "none-v2-x",
        "none-stream",
        "streamv3-exp",
        "packed1",
        "zstd-packed1",
        "packed1;requirements=foo",
        "none-v2;requirements=generaldelta%2cfoo%2cbar",
        "v2;requirements=",
        "foo-v2;a",
        "v2;cg.version=05",
        "v2;cg.version=",
        ";a=b",
    ] {
        twin.same(&["bundle", "-a", "-t", spec, "x.hg"]);
    }
    for setting in [
        "experimental.bundlecomplevel=x",
        "experimental.bundlecomplevel.bzip2=",
        "experimental.bundlecompthreads=1.5",
        "experimental.bundlecomplevel.zstd=x",
    ] {
        twin.same(&["bundle", "-a", "x.hg", "--config", setting]);
    }
}

/// Parameters that the real program takes without a word, or stops at with a trace of its own.
#[test]
fn parameters_of_our_own_are_checked() {
    let twin = Twin::writing(history);
    let ours = |spec: &str| twin.run(&["bundle", "-a", "-t", spec, "x.hg"]).ours;
    for (spec, words) in [
        (
            "v2;compressionthreads=x",
            "compressionthreads \"x\" is not an integer",
        ),
        (
            "zstd-v2;compressionlevel=23",
            "compressionlevel \"23\" is out of range, zstd has levels from -131072 to 22",
        ),
        (
            "none-v2;compressionlevel=3",
            "compressionlevel \"3\" is given, but none has no levels",
        ),
        ("v2;phases=x", "parameter phases should be a boolean ('x')"),
        (
            "v2;a",
            "invalid bundle specification: missing \"=\" in parameter: a",
        ),
    ] {
        let said = ours(spec);
        let hint = "(see 'hg help bundlespec' for supported values for --type)";
        assert_eq!(said.stderr, format!("abort: {words}\n{hint}\n"));
        assert_eq!((said.code, said.stdout.as_str()), (Some(10), ""));
        assert!(!twin.ours().join("x.hg").exists());
    }
    let config = ["--config", "experimental.bundlecomplevel=99"];
    let said = twin.run(&["bundle", "-a", "-t", "zstd", "x.hg", config[0], config[1]]);
    let words = "abort: experimental.bundlecomplevel \"99\" is out of range, \
                 zstd has levels from -131072 to 22\n";
    assert_eq!(said.ours.stderr, words);
    let spec = "zstd-v2;compressionlevel=12;compressionthreads=2";
    let said = twin.run(&[
        "bundle", "-r", "0", "--exact", "--debug", "-t", spec, "x.hg",
    ]);
    let lines: Vec<&str> = said.ours.stdout.lines().skip(3).collect();
    assert_eq!(
        lines,
        [
            "using compression engine zstd",
            "engine option: level=12",
            "engine option: threads=2",
            "bundle2-output-bundle: \"HG20\", (1 params) 2 parts total",
            "bundle2-output-part: \"changegroup\" (params: 1 mandatory 1 advisory) streamed \
             payload",
            "bundle2-output-part: \"cache:rev-branch-cache\" (advisory) streamed payload",
        ]
    );
}

#[test]
fn destinations_have_some_already() {
    let twin = Twin::writing(history);
    destinations(&twin);
    twin.all_same(&[
        "bundle x.hg ../empty",
        "bundle x.hg ../few --debug",
        "bundle x.hg ../most --debug",
        "bundle x.hg ../most -v -t none-v2",
        "bundle x.hg ../few ../most",
        "bundle -r 5 x.hg ../most",
        "bundle -r 8 x.hg ../most",
        "bundle -r 8 -r 6 x.hg ../few",
        "bundle -r null x.hg ../few",
        "bundle -b old x.hg ../few",
        "bundle -b old -r 7 x.hg ../few",
        "bundle -b nothing x.hg ../few",
        "bundle x.hg ../few#old",
        "bundle x.hg ../few#2",
        "bundle x.hg ../repository",
        "bundle x.hg ../other",
        "bundle -f x.hg ../other",
        "bundle x.hg ../few ../other",
        "bundle x.hg file:../few",
        "bundle x.hg --config paths.default=../few",
        "bundle x.hg --config paths.default=../few --config paths.default-push=../most",
        "bundle x.hg some --config paths.some=../few",
        "bundle -R ../empty -a x.hg",
        "bundle -R ../empty x.hg ../few",
        "bundle -R ../few x.hg ../repository --debug",
    ]);
}

#[test]
fn hooks_hear_of_bundles() {
    let twin = Twin::writing(history);
    for script in ["echo $HG_SOURCE $HG_NODE $HG_HOOKNAME", "false"] {
        for kind in ["preoutgoing", "outgoing"] {
            let hook = format!("hooks.{kind}={script}");
            twin.same(&["bundle", "--base", "7", "x.hg", "--config", &hook]);
        }
    }
}
