//! From text to [`BundleSpec`].

use super::{BundleContents, BundleSpec, BundleSpecError, BundleType};
use percent_encoding::percent_decode_str;
use std::collections::{BTreeMap, BTreeSet};
use varve_codec::{StreamEngine, StreamSetting};
use varve_repo::Requirements;

/// Names of the parameters that say how to compress.
const LEVEL: &str = "compressionlevel";
const THREADS: &str = "compressionthreads";

/// Properties of a repository that fill the gaps of a bundlespec.
#[derive(Clone, Copy, Debug)]
pub struct SpecDefaults {
    /// Whether its deltas have any base: bundle1 would have to make them anew.
    pub general_delta: bool,
}

impl BundleSpec {
    /// Reads a bundlespec.
    ///
    /// # Errors
    /// [`BundleSpecError`] says which part is not known.
    pub fn parse(text: &str, habits: SpecDefaults) -> Result<BundleSpec, BundleSpecError> {
        let text = text.to_lowercase();
        let (head, params) = match text.split_once(';') {
            Some((head, params)) => (head, Some(params)),
            None => (&*text, None),
        };
        let before_hyphen = match head.split_once('-') {
            None => None,
            Some((name, kind)) => {
                let unknown = || BundleSpecError::Compression(name.to_owned());
                Some((StreamEngine::named(name).ok_or_else(unknown)?, kind))
            }
        };
        let params = parse_params(params)?;
        let (engine, kind) = match before_hyphen {
            Some((engine, kind)) => {
                let unknown = || BundleSpecError::Type(kind.to_owned());
                (engine, BundleType::named(kind).ok_or_else(unknown)?)
            }
            None => fill_gap(head, habits)?,
        };
        if kind == BundleType::V1 && engine == StreamEngine::Zstd {
            return Err(BundleSpecError::NotInV1(engine));
        }
        check_requirements(&params)?;
        Ok(BundleSpec {
            engine,
            kind,
            contents: contents(kind, &params)?,
            setting: setting(engine, &params)?,
            params,
        })
    }
}

/// A type without a compression, or the reverse.
fn fill_gap(
    head: &str,
    habits: SpecDefaults,
) -> Result<(StreamEngine, BundleType), BundleSpecError> {
    if let Some(engine) = StreamEngine::named(head) {
        let needs_v2 = habits.general_delta || engine == StreamEngine::Zstd;
        let kind = if needs_v2 {
            BundleType::V2
        } else {
            BundleType::V1
        };
        return Ok((engine, kind));
    }
    let unknown = || BundleSpecError::Unknown(head.to_owned());
    // Its name has a hyphen, so a single word never means it.
    let kind = BundleType::named(head).ok_or_else(unknown)?;
    let engine = match kind {
        BundleType::V1 | BundleType::V2 | BundleType::V3 => StreamEngine::Bzip2,
        BundleType::StreamV2 | BundleType::StreamV3Exp | BundleType::Packed1 => StreamEngine::None,
    };
    Ok((engine, kind))
}

fn parse_params(text: Option<&str>) -> Result<BTreeMap<String, String>, BundleSpecError> {
    let mut params = BTreeMap::new();
    let unescaped = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    for pair in text.into_iter().flat_map(|text| text.split(';')) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(BundleSpecError::NoValue(pair.to_owned()));
        };
        let (key, value) = (unescaped(key), unescaped(value));
        if SWITCHES.contains(&&*key) {
            boolean(&key, &value)?;
        }
        params.insert(key, value);
    }
    Ok(params)
}

/// Parameters that are on or off.
const SWITCHES: &[&str] = &[
    "changegroup",
    "obsolescence",
    "obsolescence-mandatory",
    "phases",
    "revbranchcache",
    "tagsfnodescache",
];

fn boolean(key: &str, value: &str) -> Result<bool, BundleSpecError> {
    let wrong = || BundleSpecError::NoBoolean {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    varve_config::hgrc::boolean(value.as_bytes()).ok_or_else(wrong)
}

fn check_requirements(params: &BTreeMap<String, String>) -> Result<(), BundleSpecError> {
    let Some(names) = params.get("requirements") else {
        return Ok(());
    };
    let unknown = |name: &&str| !Requirements::is_known(name);
    let unknown: BTreeSet<&str> = names.split(',').filter(unknown).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown: Vec<&str> = unknown.into_iter().collect();
    Err(BundleSpecError::Requirements(unknown.join(", ")))
}

fn contents(
    kind: BundleType,
    params: &BTreeMap<String, String>,
) -> Result<BundleContents, BundleSpecError> {
    let mut contents = kind.usual_contents();
    let switches = [
        ("changegroup", &mut contents.changegroup),
        ("obsolescence", &mut contents.obsolescence),
        (
            "obsolescence-mandatory",
            &mut contents.obsolescence_mandatory,
        ),
        ("phases", &mut contents.phases),
        ("revbranchcache", &mut contents.rev_branches),
        ("tagsfnodescache", &mut contents.tags_fnodes),
    ];
    for (key, switch) in switches {
        if let Some(value) = params.get(key) {
            *switch = boolean(key, value)?;
        }
    }
    if let Some(version) = params.get("cg.version") {
        contents.changegroup_version.clone_from(version);
    }
    if let Some(form) = params.get("stream") {
        contents.stream = Some(form.clone()).filter(|form| !form.is_empty());
    }
    // A bundle10 holds nothing but a changegroup 01, so `stream` is ignored.
    if params
        .get("cg.version")
        .is_some_and(|version| version == "01")
    {
        contents.stream = None;
    }
    Ok(contents)
}

fn setting(
    engine: StreamEngine,
    params: &BTreeMap<String, String>,
) -> Result<StreamSetting, BundleSpecError> {
    let integer = |key: &'static str| {
        let value = params.get(key);
        let number = value.map(|value| {
            let wrong = |_| BundleSpecError::NoInteger {
                key,
                value: value.clone(),
            };
            value.trim().parse::<i64>().map_err(wrong)
        });
        number.transpose()
    };
    Ok(StreamSetting {
        engine,
        level: checked_level(engine, LEVEL, integer(LEVEL)?)?,
        threads: checked_threads(engine, THREADS, integer(THREADS)?)?,
    })
}

/// A level as it is given by the parameter or setting `key`.
///
/// # Errors
/// [`BundleSpecError::Level`] and [`BundleSpecError::NoLevels`] if the engine does not have it.
pub(super) fn checked_level(
    engine: StreamEngine,
    key: &str,
    value: Option<i64>,
) -> Result<Option<i32>, BundleSpecError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let key = key.to_owned();
    let Some(levels) = engine.levels() else {
        return Err(BundleSpecError::NoLevels { key, value, engine });
    };
    let level = i32::try_from(value).ok().filter(|n| levels.contains(n));
    level.map(Some).ok_or_else(|| BundleSpecError::Level {
        key,
        value,
        engine,
        least: *levels.start(),
        most: *levels.end(),
    })
}

/// A number of threads as it is given by the parameter `key`; negative for all cores.
///
/// # Errors
/// [`BundleSpecError::Threads`] if the engine cannot use so many.
fn checked_threads(
    engine: StreamEngine,
    key: &str,
    value: Option<i64>,
) -> Result<Option<i32>, BundleSpecError> {
    let most = engine.most_threads();
    let Some(value) = value else {
        return Ok(None);
    };
    let fits = value <= i64::from(most) && (value >= 0 || most > 1);
    // How far below zero does not matter.
    let threads = i32::try_from(value.max(-1)).ok().filter(|_| fits);
    threads.map(Some).ok_or_else(|| BundleSpecError::Threads {
        key: key.to_owned(),
        value,
        engine,
        most,
    })
}
