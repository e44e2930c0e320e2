//! `[server]` of a repository's `.hg/hgrc`, in front of that of `varve.ini`: how answers are
//! compressed, and what is not answered at all.

use super::hgrc::RepositoryConfig;
use super::keeper::serves_inline;
use super::{OpenError, Shelf};
use std::ops::RangeInclusive;
use varve_codec::CodecId;
use varve_config::hgrc::HgrcError;
use varve_exchange::wire::{Carrier, WireSettings};

const SECTION: &str = "server";

/// Settings about clients without bundle2, the one that decides first; those with `gd` are about
/// repositories with general deltas.
const BUNDLE1: [&str; 4] = ["bundle1gd.pull", "bundle1gd", "bundle1.pull", "bundle1"];

/// What the repository's and the server's settings say about answers; `bundles` is where clone
/// bundles are served.
pub(super) fn wire(
    config: &RepositoryConfig,
    shelf: &Shelf,
    bundles: String,
    general_delta: bool,
) -> Result<WireSettings, OpenError> {
    let hg = shelf.settings();
    let switch = |key, usual| config.values.boolean(SECTION, key, usual);
    let inline = serves_inline(config)?;
    Ok(WireSettings {
        stream_clones: switch("uncompressed", hg.uncompressed)?,
        streams_secret: switch("uncompressedallowsecret", hg.uncompressed_allow_secret)?,
        carrier: Carrier::Http,
        bundle1: bundle1(config, general_delta)?,
        engines: engines(config, &hg.compression_engines)?,
        clone_bundles_at: Some(bundles).filter(|_| !inline),
        zlib_level: level(config, "zliblevel", -1..=9)?.unwrap_or(hg.zlib_level),
        zstd_level: level(config, "zstdlevel", 1..=22)?.unwrap_or(hg.zstd_level),
        takes_markers: config.takes_markers()?,
        publishing: config.publishing()?,
    })
}

fn bundle1(config: &RepositoryConfig, general_delta: bool) -> Result<bool, HgrcError> {
    for key in BUNDLE1 {
        let concerned = general_delta || !key.contains("gd");
        if concerned && config.values.get(SECTION, key).is_some() {
            return config.values.boolean(SECTION, key, true);
        }
    }
    Ok(true)
}

fn level(
    config: &RepositoryConfig,
    key: &str,
    range: RangeInclusive<i64>,
) -> Result<Option<i32>, OpenError> {
    let Some(number) = config.values.integer(SECTION, key)? else {
        return Ok(None);
    };
    let (least, most) = (*range.start(), *range.end());
    match i32::try_from(number) {
        Ok(level) if range.contains(&number) => Ok(Some(level)),
        _ => Err(OpenError::Setting(format!(
            "{SECTION}.{key} must be a number from {least} to {most}, not {number}"
        ))),
    }
}

/// `compressionengines`; else those of `varve.ini`, or the usual ones.
fn engines(config: &RepositoryConfig, named: &[String]) -> Result<Vec<CodecId>, OpenError> {
    let own = config.values.list(SECTION, "compressionengines");
    let own: Vec<String> = own
        .iter()
        .map(|name| String::from_utf8_lossy(name).into())
        .collect();
    let names = if own.is_empty() { named } else { &own };
    if names.is_empty() {
        return Ok(WireSettings::default().engines);
    }
    let known = [CodecId::Zstd, CodecId::Zlib, CodecId::None];
    let engine = |name: &String| {
        let found = known.into_iter().find(|codec| codec.name() == name);
        found.ok_or_else(|| {
            OpenError::Setting(format!(
                "{SECTION}.compressionengines must be a list of zstd, zlib and none, not {name:?}"
            ))
        })
    };
    names.iter().map(engine).collect()
}
