//! The capabilities of this server.

use super::stream_clone::StreamClone;
use super::{WireSettings, WireTransport};
use crate::ExchangeError;
use crate::format::part::capabilities::encode_quoted;
use crate::server::clone_bundles::offered_manifest;
use varve_repo::{RepoView, Repository};

/// Capabilities over every transport.
const FIXED: [&str; 9] = [
    "batch",
    "branchmap",
    "changegroupsubset",
    "getbundle",
    "known",
    "lookup",
    "pushkey",
    "unbundle=HG10GZ,HG10BZ,HG10UN",
    "unbundlehash",
];
/// Over HTTP.
const OF_HTTP: &str = "httpmediatype=0.1rx,0.1tx,0.2tx";
const OF_STREAMS: [&str; 1] = ["protocaps"];

/// The server's bundle2 parts and features, one per line before quoting.
const BUNDLE2: [&str; 10] = [
    "HG20",
    "bookmarks",
    "changegroup=01,02,03",
    "digests=md5,sha1,sha512",
    "error=abort,unsupportedcontent,pushraced,pushkey",
    "hgtagsfnodes",
    "listkeys",
    "phases=heads",
    "pushkey",
    "remote-changegroup=http,https",
];

/// Compressions that deltas of changegroup 04 may have. Mercurial 7.2 announces them also where, as here, no changegroup 04
/// is announced, in which case nothing follows from them.
const DELTA_COMPRESSION: &str = "delta-compression=none,zlib,zstd";

/// The answer to `capabilities`: words with blanks between, sorted.
pub(super) fn capabilities(
    (repo, view): (&Repository, &RepoView),
    settings: &WireSettings,
) -> Result<String, ExchangeError> {
    let requirements = view.requirements().streamed().collect();
    let streams = StreamClone::is_allowed(view, settings);
    let bundles = offered_manifest(repo, view, &settings.bundle_cache)?.is_some();
    Ok(join_capabilities(
        streams.then_some(requirements),
        bundles,
        settings,
    ))
}

/// `requirements` are those of the files of a stream clone, `None` if there
/// are no stream clones; `bundles` says whether there are clone bundles.
fn join_capabilities(
    requirements: Option<Vec<&str>>,
    bundles: bool,
    settings: &WireSettings,
) -> String {
    let mut words: Vec<String> = FIXED.map(str::to_owned).to_vec();
    words.push(format!(
        "bundle2={}",
        bundle2(requirements.is_some(), settings)
    ));
    match settings.transport {
        WireTransport::Http => {
            words.push(OF_HTTP.to_owned());
            words.push(format!("httpheader={}", settings.http_header_len));
            let engines: Vec<&str> = settings.engines.iter().map(|codec| codec.name()).collect();
            words.push(format!("compression={}", engines.join(",")));
        }
        // Answers are not compressed there.
        WireTransport::Stdio => words.extend(OF_STREAMS.map(str::to_owned)),
    }
    if bundles {
        words.extend(["clonebundles", "clonebundles_manifest"].map(str::to_owned));
    }
    if requirements.is_some() && settings.prefers_streams {
        words.push("stream-preferred".to_owned());
    }
    words.extend(match requirements.as_deref() {
        None => None,
        // Old clients want the short word where a revlog of version 1 is all that is needed.
        Some(["revlogv1"]) => Some("stream".to_owned()),
        Some(needed) => Some(format!("streamreqs={}", needed.join(","))),
    });
    words.sort_unstable();
    words.join(" ")
}

/// The server's bundle2 capabilities, quoted.
fn bundle2(streams: bool, settings: &WireSettings) -> String {
    let mut lines = BUNDLE2.to_vec();
    if settings.compares_heads {
        lines.push("checkheads=related");
    }
    if settings.announces_delta_compression {
        lines.push(DELTA_COMPRESSION);
    }
    if settings.takes_markers {
        lines.push("obsmarkers=V0,V1");
    }
    if streams && settings.bundle2_streams {
        lines.push("stream=v2");
    }
    lines.sort_unstable();
    encode_quoted(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_repository() {
        let streamed = [
            "generaldelta",
            "revlog-compression-zstd",
            "revlogv1",
            "sparserevlog",
        ];
        let text = join_capabilities(Some(streamed.to_vec()), false, &WireSettings::default());
        let words: Vec<&str> = text.split(' ').collect();
        let needs = "streamreqs=generaldelta,revlog-compression-zstd,revlogv1,sparserevlog";
        assert!(words.contains(&needs), "{text}");
        assert!(words.contains(&"batch") && words.contains(&"unbundle=HG10GZ,HG10BZ,HG10UN"));
        assert!(!text.contains("obsmarkers"));
        let bundle2 = words.iter().find(|w| w.starts_with("bundle2=")).unwrap();
        assert!(
            bundle2.starts_with("bundle2=HG20%0Abookmarks%0Achangegroup%3D01%2C02%2C03%0A"),
            "{bundle2}"
        );
        assert!(bundle2.ends_with("%0Astream%3Dv2"), "{bundle2}");
    }

    #[test]
    fn an_old_repository_and_one_with_secrets() {
        let settings = WireSettings {
            takes_markers: true,
            ..WireSettings::default()
        };
        let text = join_capabilities(Some(vec!["revlogv1"]), true, &settings);
        assert!(
            text.contains(" clonebundles clonebundles_manifest "),
            "{text}"
        );
        assert!(text.contains(" stream "), "{text}");
        assert!(!join_capabilities(None, true, &settings).contains("stream"));
    }

    #[test]
    fn settings_take_capabilities_away_and_add_one() {
        let words =
            |settings: WireSettings| join_capabilities(Some(vec!["revlogv1"]), false, &settings);
        let usual = words(WireSettings::default());
        assert!(usual.contains("checkheads%3Drelated") && !usual.contains("stream-preferred"));
        assert!(
            usual.contains("%0Adelta-compression%3Dnone%2Czlib%2Czstd%0A"),
            "{usual}"
        );
        let other = words(WireSettings {
            prefers_streams: true,
            bundle2_streams: false,
            compares_heads: false,
            announces_delta_compression: false,
            ..WireSettings::default()
        });
        assert!(other.contains(" stream stream-preferred "), "{other}");
        assert!(
            !other.contains("checkheads")
                && !other.contains("delta-compression")
                && !other.contains("stream%3D"),
            "{other}"
        );
    }
}
