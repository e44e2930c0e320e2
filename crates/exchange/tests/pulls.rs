//! Changegroups.

use crate::client::{Served, collected, expand, expanded};
use varve_codec::CodecId;
use varve_exchange::server::wire::ClientMedia;
use varve_testkit::repos;

fn rich() -> Served {
    let served = Served::nothing();
    repos::make(&served.hg, &served.source(), repos::DEFAULT);
    served
}

/// The log of all that a pull of everything must bring, which `hg` itself brought.
pub fn cloned_by_hg(served: &Served) -> String {
    let directory = served.directory.path();
    served
        .hg
        .ok(directory, &["clone", "-U", "--pull", "source", "expected"]);
    served.log("expected")
}

#[test]
fn every_version_and_container_clones() {
    let served = rich();
    let expected = cloned_by_hg(&served);
    for (name, versions) in [("two", "02"), ("one", "01"), ("none", "")] {
        let bundle = served.bundle(versions, &[("phases", "1")]);
        served.init(name);
        served.unbundle(name, &bundle);
        assert_eq!(served.log(name), expected, "{versions}");
    }
    let mut old = b"HG10UN".to_vec();
    old.extend(expanded(served.ask("getbundle", &[])));
    served.init("old");
    served.unbundle("old", &old);
    served.hg.ok(
        &served.directory.path().join("old"),
        &["phase", "-p", "all()"],
    );
    assert_eq!(served.log("old"), expected);
}

#[test]
fn the_stream_is_what_the_media_type_says() {
    let served = rich();
    let plain = expanded(served.ask("getbundle", &[]));
    for (engine, codec) in [("zstd", CodecId::Zstd), ("zlib", CodecId::Zlib)] {
        let accepts = ClientMedia::parse(format!("0.1 0.2 comp={engine}").as_bytes());
        let (content_type, body) = collected(served.ask_as("getbundle", &[], accepts));
        assert_eq!(content_type, "application/mercurial-0.2");
        let prefix = [&[4], engine.as_bytes()].concat();
        let body = body.strip_prefix(&prefix[..]).unwrap();
        assert_eq!(expand(codec, body), plain, "{engine}");
    }
}

#[test]
fn a_pull_brings_what_is_missing_and_no_more() {
    let served = Served::empty();
    let old: String = (0..200).map(|n| format!("line {n}\n")).collect();
    served.commit("base", &[("a", &old), ("b", "b\n")]);
    served.commit("left", &[("a", &old.replace("line 7\n", "left\n"))]);
    let left = served.node("tip");
    served.hg(&["update", "-r", "0"]);
    served.commit("right", &[("c/d", "d\n"), ("b", "bb\n")]);
    let right = served.node("tip");
    served.hg(&["merge", "-r", &left]);
    served.commit("merge", &[]);
    let merge = served.node("tip");
    let steps = [
        ("", &left),
        (&*left, &right),
        (&*format!("{left} {right}"), &merge),
    ];
    served.init("target");
    for (common, heads) in steps {
        served.unbundle(
            "target",
            &served.bundle("03", &[("common", common), ("heads", heads)]),
        );
    }
    served.hg(&["phase", "-p", "all()"]);
    served.hg.ok(
        &served.directory.path().join("target"),
        &["phase", "-p", "all()"],
    );
    assert_eq!(served.log("target"), served.log("source"));
    let all = format!("{left} {right} {merge} {}", "1".repeat(40));
    let nothing = served.bundle("03", &[("common", &all)]);
    assert_eq!(nothing, b"HG20\0\0\0\0\0\0\0\0");
}

/// One content, first stored by a secret changeset: its revisions are linked to that one, and
/// must arrive linked to the changeset that is shown.
#[test]
fn what_a_secret_changeset_stored_first_is_not_lost() {
    let served = Served::empty();
    served.commit("base", &[("f", "1\n"), ("g", "1\n")]);
    served.commit("secret", &[("f", "2\n"), ("g", "2\n")]);
    served.hg(&["phase", "-f", "-s", "tip"]);
    let secret = served.node("tip");
    served.hg(&["update", "-r", "0"]);
    served.commit("the same manifest", &[("f", "2\n"), ("g", "2\n")]);
    served.commit("after it", &[("f", "3\n")]);
    served.hg(&["update", "-r", "0"]);
    served.commit("only one file of it", &[("g", "2\n"), ("h", "h\n")]);
    served.hg(&["phase", "-p", "all() - secret()"]);
    served.init("target");
    let bundle = served.bundle("03", &[("phases", "1")]);
    assert!(!bundle.windows(6).any(|window| window == b"secret"));
    served.unbundle("target", &bundle);
    let expected = cloned_by_hg(&served);
    assert_eq!(expected.matches("diff --git").count(), 7);
    assert_eq!(served.log("target"), expected);
    let refused = served.text("getbundle", &[("heads", &secret)]);
    assert_eq!(refused.0, "application/hg-error");
    assert_eq!(served.text("known", &[("nodes", &secret)]).1, "0");
}

/// The same with a branch that was not asked for in place of a secret changeset, pulled in steps.
#[test]
fn what_another_branch_stored_first_is_not_lost() {
    let served = Served::empty();
    served.commit("base", &[("f", "1\n")]);
    served.commit("first", &[("f", "2\n")]);
    served.hg(&["update", "-r", "0"]);
    served.commit("second", &[("f", "2\n"), ("other", "x\n")]);
    served.commit("third", &[("f", "4\n")]);
    served.hg(&["phase", "-p", "all()"]);
    let (first, second, third) = (served.node("1"), served.node("2"), served.node("3"));
    served.init("target");
    for (common, heads) in [("", &second), (&*second, &third), (&*third, &first)] {
        let args = [("common", common), ("heads", heads), ("phases", "1")];
        served.unbundle("target", &served.bundle("03", &args));
    }
    assert_eq!(served.log("target"), served.log("source"));
}

#[test]
fn bookmarks_and_phases_travel() {
    let served = Served::empty();
    served.commit("one", &[("a", "a\n")]);
    served.hg(&["bookmark", "caf\u{e9} x"]);
    let args = [
        ("bookmarks", "1"),
        ("listkeys", "bookmarks,phases"),
        ("phases", "1"),
    ];
    let bundle = served.bundle("03", &args);
    let text = String::from_utf8_lossy(&bundle).into_owned();
    let node = served.node("0");
    for part in ["BOOKMARKS", "LISTKEYS", "PHASE-HEADS", "publishing\tTrue"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.contains(&format!("caf\u{e9} x\t{node}")));
    served.init("target");
    served.unbundle("target", &bundle);
    let target = served.directory.path().join("target");
    let phase = served
        .hg
        .ok(&target, &["log", "-r", "tip", "-T", "{phase}"]);
    assert_eq!(phase, "public");
}
