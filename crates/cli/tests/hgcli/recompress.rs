//! `recompress`, which only Varve has.

use super::Twin;
use varve_testkit::peers::hg;
use varve_testkit::repos;

#[test]
fn the_engine_changes_and_hg_goes_on() {
    let twin = Twin::writing(|hg, path| repos::make(hg, path, repos::DEFAULT));
    let size = |line: &str| -> u64 { line.split(' ').next().unwrap().parse().unwrap() };
    for (arguments, engine, requirement) in [
        (
            &["recompress", "--engine", "zlib"][..],
            "zlib at level 6",
            "",
        ),
        (
            &["recompress", "--engine", "none", "--redelta"],
            "no compression",
            "exp-compression-none",
        ),
        (
            &[
                "recompress",
                "--redelta",
                "--engine",
                "zstd",
                "--level",
                "12",
            ],
            "zstd at level 12",
            "revlog-compression-zstd",
        ),
    ] {
        let said = twin.run(arguments).ours.success();
        let (first, second) = said.split_once('\n').unwrap();
        assert!(first.ends_with(&format!("revlogs with {engine}")), "{said}");
        let (before, after) = second.split_once(", ").unwrap();
        assert!(size(before) > 0 && size(after) > 0, "{said}");
        let requires = std::fs::read_to_string(twin.ours().join(".hg/store/requires")).unwrap();
        assert!(requires.contains(requirement), "{requires}");
        assert_eq!(requires.contains("compression"), !requirement.is_empty());
        let verified = hg().run(twin.ours(), &["verify"]);
        assert_eq!((verified.code, verified.stderr.as_str()), (Some(0), ""));
    }
    for (wrong, message) in [
        (
            &["recompress", "--engine", "lzma"][..],
            "unknown compression engine 'lzma'",
        ),
        (
            &["recompress", "--engine", "zlib", "--level", "12"],
            "'12' is not a level of zlib",
        ),
        (&["recompress", "nowhere"], "repository nowhere not found"),
    ] {
        let ours = twin.run(wrong).ours;
        assert_eq!(ours.code, Some(255));
        assert!(
            ours.stderr.starts_with(&format!("abort: {message}")),
            "{ours}"
        );
    }
}
