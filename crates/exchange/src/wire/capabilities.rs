//! What this server says that it can do.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Bytes that hg leaves as they are when it quotes.
const QUOTED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/')
    .remove(b'~');

/// Everything but bundle2 and the needs of a stream clone. `pushkey` makes clients ask for
/// bookmarks and phases, `unbundle` makes them send what they push, so that they get a clear no.
const FIXED: &str = "batch branchmap changegroupsubset compression=zstd,zlib getbundle \
    httpheader=1024 httpmediatype=0.1rx,0.1tx,0.2tx known lookup pushkey \
    unbundle=HG10GZ,HG10BZ,HG10UN";

/// What bundle2 parts and features there are, one per line before quoting.
const BUNDLE2: [&str; 10] = [
    "HG20",
    "bookmarks",
    "changegroup=01,02,03",
    "checkheads=related",
    "digests=md5,sha1,sha512",
    "error=abort,unsupportedcontent,pushraced,pushkey",
    "listkeys",
    "phases=heads",
    "pushkey",
    "stream=v2",
];

/// Requirements that say how a client keeps its own files, not what the streamed files hold.
const OWN_TO_EACH_SIDE: [&str; 13] = [
    "bookmarksinstore",
    "dirstate-tracked-key-v1",
    "dirstate-v2",
    "dotencode",
    "exp-sparse",
    "fileindex-v1",
    "fncache",
    "persistent-nodemap",
    "plain-encode",
    "relshared",
    "share-safe",
    "shared",
    "store",
];

/// The requirements that a client must know in order to use the streamed files, sorted, with
/// commas between.
pub(crate) fn stream_requirements<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let mut needed: Vec<&str> = all.filter(|r| !OWN_TO_EACH_SIDE.contains(r)).collect();
    needed.sort_unstable();
    needed.join(",")
}

/// The answer to `capabilities`: words with blanks between.
pub(super) fn capabilities<'a>(requirements: impl Iterator<Item = &'a str>) -> String {
    let bundle2 = BUNDLE2.join("\n");
    let quoted = utf8_percent_encode(&bundle2, QUOTED);
    let streamed = stream_requirements(requirements);
    // Old clients want the short word where a revlog of version 1 is all that is needed.
    let stream = match streamed.as_str() {
        "revlogv1" => "stream".to_owned(),
        _ => format!("streamreqs={streamed}"),
    };
    format!("{FIXED} bundle2={quoted} {stream}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_repository() {
        let requirements = "dotencode fncache generaldelta revlog-compression-zstd revlogv1 \
            share-safe sparserevlog store";
        let text = capabilities(requirements.split_ascii_whitespace());
        let words: Vec<&str> = text.split(' ').collect();
        let needs = "streamreqs=generaldelta,revlog-compression-zstd,revlogv1,sparserevlog";
        assert!(words.contains(&needs), "{text}");
        assert!(words.contains(&"batch") && words.contains(&"unbundle=HG10GZ,HG10BZ,HG10UN"));
        let bundle2 = words.iter().find(|w| w.starts_with("bundle2=")).unwrap();
        assert!(
            bundle2.starts_with("bundle2=HG20%0Abookmarks%0Achangegroup%3D01%2C02%2C03%0A"),
            "{bundle2}"
        );
        assert!(bundle2.ends_with("%0Astream%3Dv2"), "{bundle2}");
    }

    #[test]
    fn an_old_repository() {
        let text = capabilities(["revlogv1", "store"].into_iter());
        assert!(text.ends_with(" stream"), "{text}");
    }
}
