//! What this server says that it can do.

use super::answers::QUOTED;
use super::{Carrier, WireSettings};
use crate::ExchangeError;
use crate::clonebundles::offered_manifest;
use crate::stream::StreamClone;
use percent_encoding::utf8_percent_encode;
use varve_repo::{RepoView, Repository};

/// Everything but engines, bundle2 and the needs of a stream clone, over HTTP.
const FIXED: &str = "batch branchmap changegroupsubset getbundle \
    httpheader=1024 httpmediatype=0.1rx,0.1tx,0.2tx known lookup pushkey \
    unbundle=HG10GZ,HG10BZ,HG10UN unbundlehash";
/// The same over a pair of streams, where answers are not compressed.
const FIXED_OF_STREAMS: &str = "batch branchmap changegroupsubset getbundle known lookup protocaps pushkey \
    unbundle=HG10GZ,HG10BZ,HG10UN unbundlehash";

/// What bundle2 parts and features there are, one per line before quoting.
const BUNDLE2: [&str; 9] = [
    "HG20",
    "bookmarks",
    "changegroup=01,02,03",
    "checkheads=related",
    "digests=md5,sha1,sha512",
    "error=abort,unsupportedcontent,pushraced,pushkey",
    "listkeys",
    "phases=heads",
    "pushkey",
];

/// The answer to `capabilities`: words with blanks between.
pub(super) fn capabilities(
    (repo, view): (&Repository, &RepoView),
    settings: &WireSettings,
) -> Result<String, ExchangeError> {
    let requirements = view.requirements().streamed().collect();
    let streams = StreamClone::is_allowed(view, settings);
    let mut words = join_capabilities(streams.then_some(requirements), settings);
    if settings.carrier == Carrier::Http {
        let engines: Vec<&str> = settings.engines.iter().map(|codec| codec.name()).collect();
        words.push_str(&format!(" compression={}", engines.join(",")));
    }
    if offered_manifest(repo, view)?.is_some() {
        words.push_str(" clonebundles clonebundles_manifest");
    }
    Ok(words)
}

/// `requirements` are what a client must know to use the files of a stream clone; `None` if there
/// are no stream clones.
fn join_capabilities(requirements: Option<Vec<&str>>, settings: &WireSettings) -> String {
    let mut bundle2 = BUNDLE2.to_vec();
    if settings.takes_markers {
        bundle2.push("obsmarkers=V0,V1");
    }
    if requirements.is_some() {
        bundle2.push("stream=v2");
    }
    let bundle2 = bundle2.join("\n");
    let quoted = utf8_percent_encode(&bundle2, QUOTED);
    let stream = match requirements.as_deref() {
        None => String::new(),
        // Old clients want the short word where a revlog of version 1 is all that is needed.
        Some(["revlogv1"]) => " stream".to_owned(),
        Some(needed) => format!(" streamreqs={}", needed.join(",")),
    };
    let fixed = match settings.carrier {
        Carrier::Http => FIXED,
        Carrier::Streams => FIXED_OF_STREAMS,
    };
    format!("{fixed} bundle2={quoted}{stream}")
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
        let text = join_capabilities(Some(streamed.to_vec()), &WireSettings::default());
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
        let text = join_capabilities(Some(vec!["revlogv1"]), &settings);
        assert!(text.ends_with(" stream"), "{text}");
        assert!(!join_capabilities(None, &settings).contains("stream"));
    }
}
