//! Streamed answers in every form that clients read: the same bytes in each, shared only between equal requests.

use super::history::{History, histories, nodes_in};
use crate::server::wire::{
    ClientMedia, ReadHooks, TYPE_01, TYPE_02, WireRequest, WireResponse, WireSettings, respond,
};
use crate::{ChunkSink, ExchangeError, SinkClosed};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_codec::{CodecId, Expander};
use varve_repo::Repository;

/// Media that a client accepts, the content type of the answer, the bytes in front of it, and its codec.
const FORMS: [(&str, &str, &[u8], CodecId); 6] = [
    ("", TYPE_01, b"", CodecId::Zlib),
    ("0.1 comp=zstd", TYPE_01, b"", CodecId::Zlib),
    (
        "0.1 0.2 comp=zstd,zlib",
        TYPE_02,
        b"\x04zstd",
        CodecId::Zstd,
    ),
    ("0.2 comp=zlib", TYPE_02, b"\x04zlib", CodecId::Zlib),
    ("0.2 comp=none,zstd", TYPE_02, b"\x04none", CodecId::None),
    ("0.2 comp=bzip2", TYPE_01, b"", CodecId::Zlib),
];

fn getbundle(accepts: ClientMedia, args: &[(&str, &str)]) -> WireRequest {
    let args = args.iter();
    WireRequest {
        command: "getbundle".to_owned(),
        args: args
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        accepts,
    }
}

fn ask(repository: &Repository, request: &WireRequest) -> WireResponse {
    respond(
        repository,
        request,
        &WireSettings::default(),
        &ReadHooks::default(),
    )
    .unwrap()
}

fn whole_history(history: &History) -> Repository {
    let all: BTreeSet<usize> = (0..history.len()).collect();
    history.repository(&all)
}

/// Closes after so many buffers.
struct Leaving(usize);

impl ChunkSink for Leaving {
    fn send(&mut self, _: Vec<u8>) -> Result<(), SinkClosed> {
        self.0 = self.0.checked_sub(1).ok_or(SinkClosed)?;
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_form_holds_the_same_bundle(history in histories(20), stream: bool) {
        let repository = whole_history(&history);
        let caps = [("bundlecaps", "HG20,bundle2=HG20%0Astream%3Dv2"), ("stream", if stream { "1" } else { "0" })];
        let mut plain: Option<Vec<u8>> = None;
        for (said, expected_type, expected_prefix, codec) in FORMS {
            let request = getbundle(ClientMedia::parse(said.as_bytes()), &caps);
            let WireResponse::Stream { content_type, body, .. } = ask(&repository, &request) else {
                panic!("a bundle is streamed");
            };
            let mut sent = Vec::new();
            body.send(&mut sent).unwrap();
            // The files of a store are compressed already, so a client of the second form gets them as they are.
            let is_stored = stream && said.contains("0.2");
            let (prefix, codec) = match is_stored {
                true => (&b"\x04none"[..], CodecId::None),
                false => (expected_prefix, codec),
            };
            prop_assert_eq!(content_type, if is_stored { TYPE_02 } else { expected_type }, "{}", said);
            let body = sent.strip_prefix(prefix).unwrap();
            let mut bytes = Vec::new();
            match codec {
                CodecId::None => bytes.extend_from_slice(body),
                codec => Expander::new().expand(codec, body, 1 << 24, &mut bytes).unwrap(),
            }
            if !stream {
                prop_assert_eq!(nodes_in(&bytes).len(), history.len());
            }
            prop_assert_eq!(plain.get_or_insert_with(|| bytes.clone()), &bytes, "{}", said);
        }
    }
}

#[test]
fn only_equal_requests_share_an_answer() {
    let history = History::line(3);
    let repository = whole_history(&history);
    let shared = |said: &str, args: &[(&str, &str)]| match ask(
        &repository,
        &getbundle(ClientMedia::parse(said.as_bytes()), args),
    ) {
        WireResponse::Stream { repeatable, .. } => repeatable,
        WireResponse::Whole { .. } => panic!("a bundle is streamed"),
    };
    let (zstd, caps) = ("0.2 comp=zstd", [("bundlecaps", "HG20")]);
    let first = shared(zstd, &caps).unwrap();
    assert!(first == shared(zstd, &caps).unwrap());
    assert!(first != shared("0.2 comp=zlib", &caps).unwrap());
    assert!(first != shared(zstd, &[]).unwrap());
    // The same bytes each time that it is written.
    let written = |_: usize| {
        let mut bytes = Vec::new();
        (first.body())(&mut bytes).unwrap();
        bytes
    };
    assert_eq!(written(1), written(2));
    // An answer without compression, or for a client with changesets, is made for each client.
    assert!(shared("0.2 comp=none,zstd", &caps).is_none());
    let root = history.node(0).to_string();
    assert!(shared(zstd, &[("bundlecaps", "HG20"), ("common", &root)]).is_none());
}

/// A client may leave before any buffer: the answer stops with an error, and never counts as complete.
#[test]
fn a_client_that_leaves_ends_every_form() {
    let repository = whole_history(&History::line(30));
    for (said, ..) in FORMS {
        for stream in ["0", "1"] {
            let args = [
                ("bundlecaps", "HG20,bundle2=HG20%0Astream%3Dv2"),
                ("stream", stream),
            ];
            let request = getbundle(ClientMedia::parse(said.as_bytes()), &args);
            for buffers in 0.. {
                let WireResponse::Stream { body, .. } = ask(&repository, &request) else {
                    panic!("a bundle is streamed");
                };
                match body.send(&mut Leaving(buffers)) {
                    Ok(()) if buffers > 0 => break,
                    Err(ExchangeError::Closed(_)) => {}
                    other => panic!("{said} {buffers}: {other:?}"),
                }
            }
        }
    }
}
