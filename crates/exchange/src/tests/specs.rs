//! Bundlespecs: the meaning of a word of one, alone and together with others.

use crate::format::bundlespec::{BundleSpec, BundleSpecError, BundleType, SpecDefaults};
use proptest::prelude::*;
use varve_codec::StreamEngine;

const DEFAULTS: SpecDefaults = SpecDefaults {
    general_delta: true,
};

fn parse(text: &str) -> Result<BundleSpec, BundleSpecError> {
    BundleSpec::parse(text, DEFAULTS)
}

const ENGINES: [&str; 4] = ["none", "gzip", "bzip2", "zstd"];

/// Every engine goes with every type, but for zstd in the container of the first version.
#[test]
fn every_engine_goes_with_every_type() {
    for engine in ENGINES {
        for kind in BundleType::ALL {
            let text = format!("{engine}-{}", kind.name());
            let Ok(spec) = parse(&text) else {
                assert_eq!(text, "zstd-v1");
                continue;
            };
            assert_eq!((spec.setting().engine.name(), spec.kind()), (engine, kind));
            assert_eq!(spec.to_string(), text);
            assert_eq!(parse(&text.to_uppercase()), Ok(spec), "{text}");
        }
    }
}

#[test]
fn unknown_words_are_refused_each_with_its_reason() {
    for (text, expected) in [
        (
            "snappy-v2",
            BundleSpecError::Compression("snappy".to_owned()),
        ),
        ("gzip-v4", BundleSpecError::Type("v4".to_owned())),
        ("gzip-v2-", BundleSpecError::Type("v2-".to_owned())),
        ("-v2", BundleSpecError::Compression(String::new())),
        ("", BundleSpecError::Unknown(String::new())),
        (" gzip", BundleSpecError::Unknown(" gzip".to_owned())),
        ("zstd-v1", BundleSpecError::NotInV1(StreamEngine::Zstd)),
        ("v2;a", BundleSpecError::NoValue("a".to_owned())),
        (
            "v2;requirements=b,store,a",
            BundleSpecError::Requirements("a, b".to_owned()),
        ),
    ] {
        assert_eq!(parse(text), Err(expected), "{text}");
    }
}

proptest! {
    /// Of equal parameters the last one counts, and their order means nothing else.
    #[test]
    fn the_last_value_of_a_parameter_counts(
        first: bool, second: bool, key in prop::sample::select(vec!["phases", "obsolescence", "changegroup"]),
    ) {
        let word = |on: bool| if on { "yes" } else { "no" };
        let spec = parse(&format!("v2;{key}={};x=y;{key}={}", word(first), word(second))).unwrap();
        let contents = spec.contents();
        let found = match key {
            "phases" => contents.phases,
            "obsolescence" => contents.obsolescence,
            _ => contents.changegroup,
        };
        prop_assert_eq!(found, second);
        prop_assert_eq!(spec.clone(), parse(&format!("v2;x=y;{key}={}", word(second))).unwrap());
    }

    /// A switch changes only its own content.
    #[test]
    fn switches_are_independent(bits in 0_u8..64, kind in prop::sample::select(vec!["v1", "v2", "v3"])) {
        const KEYS: [&str; 6] = ["changegroup", "obsolescence", "obsolescence-mandatory", "phases", "revbranchcache", "tagsfnodescache"];
        let on = |at: usize| bits >> at & 1 == 1;
        let params: String = KEYS.iter().enumerate().map(|(at, key)| format!(";{key}={}", u8::from(on(at)))).collect();
        let spec = parse(&format!("none-{kind}{params}")).unwrap();
        let usual = parse(&format!("none-{kind}")).unwrap();
        let found = spec.contents();
        let switches = [
            found.changegroup, found.obsolescence, found.obsolescence_mandatory, found.phases, found.rev_branches, found.tags_fnodes,
        ];
        for (at, switch) in switches.into_iter().enumerate() {
            prop_assert_eq!(switch, on(at), "{}", KEYS[at]);
        }
        prop_assert_eq!(&found.changegroup_version, &usual.contents().changegroup_version);
        prop_assert_eq!(&found.stream, &usual.contents().stream);
    }

    /// A level of the spec wins over one of the configuration, which must be one of the engine if it counts.
    #[test]
    fn levels_come_from_the_spec_first(
        engine in prop::sample::select(ENGINES.to_vec()), own in prop::option::of(1_i64..10), set in prop::option::of(-200_000_i64..200),
    ) {
        let own = own.filter(|_| engine != "none");
        let level = own.map_or(String::new(), |level| format!(";compressionlevel={level}"));
        let spec = parse(&format!("{engine}-v2{level}")).unwrap();
        let levels = spec.setting().engine.levels();
        let found = spec.setting_with(set.map(|level| ("key".to_owned(), level)), None);
        let is_in = |level: i64| levels.as_ref().is_some_and(|all| i64::from(*all.start()) <= level && level <= i64::from(*all.end()));
        match (own, set) {
            (Some(own), _) => prop_assert_eq!(found.unwrap().level.map(i64::from), Some(own)),
            (None, Some(level)) if levels.is_some() => match found {
                Ok(setting) => prop_assert_eq!((setting.level.map(i64::from), is_in(level)), (Some(level), true)),
                Err(_) => prop_assert!(!is_in(level), "{}", level),
            },
            _ => prop_assert_eq!(found.unwrap().level, None),
        }
    }

    #[test]
    fn threads_of_the_configuration_are_clamped(
        engine in prop::sample::select(ENGINES.to_vec()), threads in -1000_i64..1000,
    ) {
        let spec = parse(&format!("{engine}-v2")).unwrap();
        let most = i64::from(spec.setting().engine.most_threads());
        let found = spec.setting_with(None, Some(threads)).unwrap();
        prop_assert_eq!(found.threads.map(i64::from), Some(threads.clamp(-1, most)));
        // Given in the spec itself they are refused instead.
        let strict = parse(&format!("{engine}-v2;compressionthreads={threads}"));
        let fits = threads <= most && (threads >= 0 || most > 1);
        prop_assert_eq!(strict.is_ok(), fits, "{}", threads);
    }
}
