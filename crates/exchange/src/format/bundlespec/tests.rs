//! Reading and writing of bundlespecs; the tests of the command compare them with `hg`.

use super::{BundleSpec, BundleType, SpecDefaults};
use proptest::prelude::*;
use varve_codec::StreamEngine;

const NEW: SpecDefaults = SpecDefaults {
    general_delta: true,
};
const OLD: SpecDefaults = SpecDefaults {
    general_delta: false,
};

fn parsed(text: &str) -> BundleSpec {
    BundleSpec::parse(text, NEW).unwrap()
}

fn error(text: &str) -> String {
    BundleSpec::parse(text, NEW).unwrap_err().to_string()
}

#[test]
fn gaps_are_filled() {
    let filled = |text, habits| BundleSpec::parse(text, habits).unwrap().to_string();
    for (text, new, old) in [
        ("gzip", "gzip-v2", "gzip-v1"),
        ("ZSTD", "zstd-v2", "zstd-v2"),
        ("v1", "bzip2-v1", "bzip2-v1"),
        ("V3", "bzip2-v3", "bzip2-v3"),
        ("streamv2", "none-streamv2", "none-streamv2"),
        ("packed1", "none-packed1", "none-packed1"),
    ] {
        assert_eq!(filled(text, NEW), new);
        assert_eq!(filled(text, OLD), old);
    }
}

#[test]
fn contents_follow_the_type_and_the_parameters() {
    let v1 = parsed("none-v1").contents().clone();
    assert_eq!(v1.changegroup_version, "01");
    assert!(v1.changegroup && !v1.phases && !v1.tags_fnodes && !v1.rev_branches);
    let v3 = parsed("v3;phases=Off;cg%2eversion=02;obsolescence=on")
        .contents()
        .clone();
    assert_eq!(v3.changegroup_version, "02");
    assert!(!v3.phases && v3.tags_fnodes && v3.rev_branches);
    assert!(v3.obsolescence && v3.obsolescence_mandatory);
    let stream = |text| parsed(text).contents().stream.clone();
    assert_eq!(stream("streamv2").as_deref(), Some("v2"));
    assert_eq!(stream("none-streamv3-exp").as_deref(), Some("v3-exp"));
    assert_eq!(
        stream("none-v2;stream=v2;requirements=store").as_deref(),
        Some("v2")
    );
    assert_eq!(stream("none-v2;stream="), None);
    assert_eq!(stream("none-v1;stream=v2").as_deref(), Some("v2"));
    assert_eq!(stream("streamv2;cg.version=01"), None);
    assert_eq!(parsed("none-streamv2").kind(), BundleType::StreamV2);
}

#[test]
fn levels_and_threads_are_numbers_within_the_range_of_the_engine() {
    let setting = parsed("zstd-v2;compressionlevel=15;compressionthreads=-7").setting();
    assert_eq!((setting.level, setting.threads), (Some(15), Some(-1)));
    assert_eq!(setting.engine, StreamEngine::Zstd);
    let setting = parsed("gzip-v2;compressionlevel=9;compressionthreads=1").setting();
    assert_eq!((setting.level, setting.threads), (Some(9), Some(1)));
    for (text, message) in [
        (
            "zstd-v2;compressionthreads=x",
            "compressionthreads \"x\" is not an integer",
        ),
        (
            "zstd-v2;compressionlevel=",
            "compressionlevel \"\" is not an integer",
        ),
        (
            "zstd-v2;compressionlevel=1.5",
            "compressionlevel \"1.5\" is not an integer",
        ),
        (
            "zstd-v2;compressionlevel=23",
            "compressionlevel \"23\" is out of range, zstd has levels from -131072 to 22",
        ),
        (
            "v2;compressionlevel=0",
            "compressionlevel \"0\" is out of range, bzip2 has levels from 1 to 9",
        ),
        (
            "gzip-v1;compressionlevel=9999999999",
            "compressionlevel \"9999999999\" is out of range, gzip has levels from -1 to 9",
        ),
        (
            "none-v2;compressionlevel=1",
            "compressionlevel \"1\" is given, but none has no levels",
        ),
        (
            "zstd-v2;compressionthreads=257",
            "compressionthreads \"257\" is out of range, zstd uses at most 256",
        ),
        (
            "gzip-v2;compressionthreads=-1",
            "compressionthreads \"-1\" is out of range, gzip uses at most 1",
        ),
    ] {
        assert_eq!(error(text), message);
    }
}

#[test]
fn parameters_that_are_damaged_are_named() {
    for (text, message) in [
        (
            "v2;",
            "invalid bundle specification: missing \"=\" in parameter: ",
        ),
        (
            "v9;A",
            "invalid bundle specification: missing \"=\" in parameter: a",
        ),
        ("foo-v2;a", "foo compression is not supported"),
        ("v2;phases=2", "parameter phases should be a boolean ('2')"),
        (
            "v2;revbranchcache=",
            "parameter revbranchcache should be a boolean ('')",
        ),
    ] {
        assert_eq!(error(text), message);
    }
}

fn spec() -> impl Strategy<Value = String> {
    let engine = prop::sample::select(vec!["none", "gzip", "bzip2", "zstd"]);
    let kind = prop::sample::select(BundleType::ALL.map(BundleType::name).to_vec());
    let known = prop::sample::select(vec![
        "phases=yes",
        "changegroup=no",
        "cg.version=03",
        "compressionlevel=3",
        "compressionthreads=1",
        "stream=v2",
        "requirements=generaldelta%2Csparserevlog",
    ]);
    let any = "[ -~é]{0,9}=[ -~é]{0,9}";
    let params = prop::collection::vec(prop_oneof![known.prop_map(str::to_owned), any], 0..5);
    (engine, kind, params).prop_map(|(engine, kind, params)| {
        let params: String = params.iter().map(|param| format!(";{param}")).collect();
        format!("{engine}-{kind}{params}")
    })
}

proptest! {
    #[test]
    fn what_is_read_reads_back_from_its_text(text in spec()) {
        crate::fuzzing::bundlespec(text.as_bytes());
        if let Ok(spec) = BundleSpec::parse(&text, NEW) {
            prop_assert_eq!(BundleSpec::parse(&spec.to_string(), OLD).unwrap(), spec);
        }
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        crate::fuzzing::bundlespec(text.as_bytes());
    }
}
