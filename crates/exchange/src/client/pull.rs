//! The arguments of `getbundle` for a pull.

use super::peer::{PeerArgs, Remote, joined};
use crate::ExchangeError;
use crate::format::part::capabilities::encode_quoted;
use std::io::Read;
use varve_revlog::Node;

/// Capabilities of bundle2 that this client has for every answer.
pub(super) const READS: [&str; 7] = [
    "HG20",
    "changegroup=01,02,03",
    "digests=md5,sha1,sha512",
    "error=abort,unsupportedcontent,pushraced,pushkey",
    "hgtagsfnodes",
    "phases=heads",
    "remote-changegroup=http,https",
];

/// Contents of a requested bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleRequest {
    /// Changesets that are here, with their ancestors.
    pub common: Vec<Node>,
    /// Requested changesets; their ancestors are too.
    pub heads: Vec<Node>,
    /// Whether no changesets are requested, but only phases, bookmarks and markers.
    pub nothing_new: bool,
    /// Whether the files of the store are requested instead of changesets.
    pub streamed: bool,
    /// No phases are requested: what comes is a draft wherever it is kept.
    pub without_phases: bool,
    /// Whether bookmarks are requested too.
    pub bookmarks: bool,
    /// Bookmarks come as keys only, as before Mercurial 4.5.
    pub bookmark_keys: bool,
    /// Whether obsolescence markers are requested too.
    pub markers: bool,
}

impl BundleRequest {
    /// The arguments of `getbundle`, for a server with or without bundle2.
    fn arguments(&self, has_bundle2: bool) -> Vec<(&'static str, Vec<u8>)> {
        let flag = |on: bool| if on { b"1".to_vec() } else { b"0".to_vec() };
        let common = match self.common.is_empty() {
            true => joined(&[Node::NULL]),
            false => joined(&self.common),
        };
        let mut args = vec![("common", common), ("heads", joined(&self.heads))];
        if !has_bundle2 {
            return args;
        }
        args.push(("bundlecaps", self.capabilities()));
        args.push(("cg", flag(!self.nothing_new && !self.streamed)));
        match self.streamed {
            // Their phases are among the files.
            true => args.push(("stream", flag(true))),
            false if self.without_phases => {}
            false => args.push(("phases", flag(true))),
        }
        if self.bookmarks {
            if !self.bookmark_keys {
                args.push(("bookmarks", flag(true)));
            }
            args.push(("listkeys", b"bookmarks".to_vec()));
        }
        if self.markers {
            args.push(("obsmarkers", flag(true)));
        }
        args
    }

    /// The argument `bundlecaps`.
    fn capabilities(&self) -> Vec<u8> {
        let mut lines = READS.to_vec();
        for (wanted, more) in [
            (self.bookmarks, &["bookmarks", "listkeys"][..]),
            (self.markers, &["obsmarkers=V1"]),
            (self.streamed, &["stream=v2"]),
        ] {
            lines.extend(more.iter().filter(|_| wanted));
        }
        format!("HG20,bundle2={}", encode_quoted(&lines)).into_bytes()
    }
}

impl Remote {
    /// Requests a bundle: bundle2 where the other side writes it, else a bare changegroup 01.
    ///
    /// # Errors
    /// As of [`super::peer::Transport::stream`].
    pub fn bundle(
        &mut self,
        request: &BundleRequest,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        let args = request.arguments(self.capabilities().has("bundle2"));
        let args: PeerArgs<'_> = &args;
        self.stream("getbundle", args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(request: &BundleRequest, has_bundle2: bool) -> String {
        let args = request.arguments(has_bundle2).into_iter();
        let args = args.map(|(name, value)| {
            let value = String::from_utf8(value).unwrap();
            format!("{name}={}", value.replace(&"0".repeat(40), "NULL"))
        });
        args.collect::<Vec<_>>().join(" ")
    }

    const CAPS: &str = "bundlecaps=HG20,bundle2=HG20%0Achangegroup%3D01%2C02%2C03%0Adigests%3Dmd5%2Csha1%2Csha512\
        %0Aerror%3Dabort%2Cunsupportedcontent%2Cpushraced%2Cpushkey%0Ahgtagsfnodes%0Aphases%3Dheads\
        %0Aremote-changegroup%3Dhttp%2Chttps";

    #[test]
    fn arguments_of_a_clone() {
        let request = BundleRequest {
            heads: vec![Node([0xab; 20])],
            bookmarks: true,
            ..BundleRequest::default()
        };
        let head = "ab".repeat(20);
        let expected = format!(
            "common=NULL heads={head} {CAPS}%0Abookmarks%0Alistkeys cg=1 phases=1 bookmarks=1 listkeys=bookmarks"
        );
        assert_eq!(text(&request, true), expected);
        assert_eq!(text(&request, false), format!("common=NULL heads={head}"));
        let keys = BundleRequest {
            bookmark_keys: true,
            ..request
        };
        assert_eq!(text(&keys, true), expected.replace(" bookmarks=1", ""));
    }

    #[test]
    fn arguments_of_a_stream_and_of_a_pull_of_markers() {
        let streamed = BundleRequest {
            streamed: true,
            ..BundleRequest::default()
        };
        let expected = format!("common=NULL heads= {CAPS}%0Astream%3Dv2 cg=0 stream=1");
        assert_eq!(text(&streamed, true), expected);
        let markers = BundleRequest {
            common: vec![Node([1; 20]), Node([2; 20])],
            nothing_new: true,
            markers: true,
            ..BundleRequest::default()
        };
        let common = format!("{} {}", "01".repeat(20), "02".repeat(20));
        let expected =
            format!("common={common} heads= {CAPS}%0Aobsmarkers%3DV1 cg=0 phases=1 obsmarkers=1");
        assert_eq!(text(&markers, true), expected);
    }
}
