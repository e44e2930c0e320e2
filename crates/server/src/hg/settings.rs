//! `[server]` of a repository's `.hg/hgrc`, in front of that of `varve.ini`: how answers are compressed, and which
//! requests are not answered at all.

use crate::hg::clone_bundles::serves_inline;
use crate::hg::hgrc::RepositoryConfig;
use crate::hg::{OpenError, RepoRegistry};
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use varve_codec::CodecId;
use varve_exchange::server::clone_bundles::BUNDLE_CACHE;
use varve_exchange::server::wire::{Bundle1Operation, WireSettings, WireTransport};
use varve_repo::Repository;

const SECTION: &str = "server";

/// Settings for answers, the repository's before the server's; `bundles` is the URL of the clone bundles.
pub(super) fn wire(
    config: &RepositoryConfig,
    repos: &RepoRegistry,
    bundles: String,
    repository: &Repository,
) -> Result<WireSettings, OpenError> {
    let hg = repos.settings();
    let inline = serves_inline(config)?;
    let usual = WireSettings {
        stream_clones: hg.uncompressed,
        streams_secret: hg.uncompressed_allow_secret,
        prefers_streams: hg.prefer_uncompressed,
        bundle2_streams: hg.bundle2_stream,
        compares_heads: hg.compares_heads,
        announces_delta_compression: true,
        full_bundles: !hg.disable_full_bundle,
        pull_bundles: hg.pull_bundle,
        http_header_len: hg.max_http_header_len,
        transport: WireTransport::Http,
        bundle_cache: bundle_cache(config),
        bundle1: Bundle1Operation::Pull.is_served(repository, &config.values)?,
        engines: engines(config, &hg.compression_engines)?,
        clone_bundles_at: Some(bundles).filter(|_| !inline),
        zlib_level: level(config, "zliblevel", -1..=9)?.unwrap_or(hg.zlib_level),
        zstd_level: level(config, "zstdlevel", 1..=22)?.unwrap_or(hg.zstd_level),
        takes_markers: config.evolution()?.exchange,
        publishing: config.publishing()?,
    };
    Ok(usual.with_configuration(&config.values)?)
}

/// Directory of clone bundles that are sent by a command, relative to `.hg`. Only who owns the server may lead it out of the
/// repository.
pub(super) fn bundle_cache(config: &RepositoryConfig) -> PathBuf {
    let set = config.values.get(SECTION, "peer-bundle-cache-root");
    let set = set.filter(|value| !value.is_empty() && config.is_trusted);
    PathBuf::from(set.map_or(OsStr::new(BUNDLE_CACHE), OsStr::from_bytes))
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
