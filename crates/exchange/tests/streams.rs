//! Stream clones; and that pulls and streams of every kind of repository are complete.

use crate::client::{NULL, Served, collected, expanded};
use crate::pulls::cloned_by_hg;
use varve_exchange::server::wire::{ClientMedia, WireResponse};
use varve_testkit::repos;

#[test]
fn every_variant_clones_and_streams() {
    for variant in repos::VARIANTS {
        let served = Served::nothing();
        repos::make(&served.hg, &served.source(), *variant);
        let expected = cloned_by_hg(&served);
        let pulled = served.bundle("01,02,03", &[("common", NULL), ("phases", "1")]);
        let streamed = served.bundle("03", &[("stream", "1"), ("cg", "0"), ("bookmarks", "1")]);
        for (name, bundle) in [("pulled", pulled), ("streamed", streamed)] {
            served.init(name);
            served.unbundle(name, &bundle);
            assert_eq!(served.log(name), expected, "{} {name}", variant.name);
        }
        let packed = packed(&served);
        std::fs::write(served.directory.path().join("packed.hg"), packed).unwrap();
        let old = served.init("old");
        served
            .hg
            .ok(&old, &["debugapplystreamclonebundle", "../packed.hg"]);
        served.hg.ok(&old, &["verify"]);
        assert_eq!(served.log("old"), expected, "{}", variant.name);
    }
}

/// Version 1 in the container that `hg` reads from a file.
///
/// ```text
/// "HGS1UN"  u64 files  u64 bytes  u16 length  requirements \0  files as on the wire
/// ```
fn packed(served: &Served) -> Vec<u8> {
    let (content_type, body) = collected(served.ask("stream_out", &[]));
    assert_eq!(content_type, "application/mercurial-0.1");
    let mut lines = body.splitn(3, |byte| *byte == b'\n');
    assert_eq!(lines.next(), Some(&b"0"[..]));
    let counts = String::from_utf8(lines.next().unwrap().to_vec()).unwrap();
    let counts: Vec<u64> = counts.split(' ').map(|n| n.parse().unwrap()).collect();
    let (_, capabilities) = served.text("capabilities", &[]);
    let needs = capabilities
        .split(' ')
        .find_map(|word| word.strip_prefix("streamreqs="));
    let needs = needs.unwrap();
    let mut out = b"HGS1UN".to_vec();
    out.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    out.extend((needs.len() as u16 + 1).to_be_bytes());
    out.extend(needs.bytes().chain([0]));
    out.extend(lines.next().unwrap());
    out
}

#[test]
fn a_new_client_gets_the_files_uncompressed() {
    let served = Served::empty();
    served.commit("one", &[("a", "a\n")]);
    let old = served.bundle("03", &[("stream", "1")]);
    let accepts = ClientMedia::parse(b"0.1 0.2 comp=zstd,zlib,none,bzip2 partial-pull");
    let args = [
        ("stream", "1"),
        ("bundlecaps", "HG20,bundle2=HG20%0Astream%3Dv2"),
    ];
    let (content_type, body) = collected(served.ask_as("getbundle", &args, accepts));
    assert_eq!(content_type, "application/mercurial-0.2");
    assert_eq!(body.strip_prefix(b"\x04none"), Some(&old[..]));
}

#[test]
fn secret_changesets_forbid_streams() {
    let served = Served::empty();
    served.commit("one", &[("a", "a\n")]);
    let (_, before) = served.text("capabilities", &[]);
    assert!(before.contains("stream%3Dv2") && before.contains("streamreqs="));
    served.hg(&["phase", "-f", "-s", "tip"]);
    let (_, after) = served.text("capabilities", &[]);
    assert!(!after.contains("stream"), "{after}");
    assert_eq!(served.text("stream_out", &[]).1, "1\n");
    let args = [("stream", "1"), ("bundlecaps", "HG20,bundle2=HG20")];
    let refused = expanded(served.ask("getbundle", &args));
    let start = b"HG20\0\0\0\0\0\0\0\x57\x0bERROR:ABORT\0\0\0\0\x01\0\x07\x3cmessage";
    assert!(refused.starts_with(start), "{refused:?}");
    let words = b"this server does not allow a stream clone of this repository";
    assert!(refused.windows(words.len()).any(|found| found == words));
    let all = expanded(served.ask("getbundle", &[]));
    assert_eq!(all, [0; 12], "no changesets, manifests or files");
}

#[test]
fn a_client_that_leaves_stops_the_stream() {
    struct Gone;
    impl varve_exchange::ChunkSink for Gone {
        fn send(&mut self, _: Vec<u8>) -> Result<(), varve_exchange::SinkClosed> {
            Err(varve_exchange::SinkClosed)
        }
    }
    let served = Served::empty();
    served.commit("one", &[("a", "a\n")]);
    for command in ["stream_out", "getbundle"] {
        let WireResponse::Stream { body, .. } = served.ask(command, &[]) else {
            panic!("{command} is no stream");
        };
        let error = body.send(&mut Gone).unwrap_err();
        assert!(
            matches!(error, varve_exchange::ExchangeError::Closed(_)),
            "{error:?}"
        );
    }
}

/// A list of the store's files that lost lines is of the right form all the same.
#[test]
fn files_that_the_list_lacks_are_pulled_and_streamed() {
    let served = Served::nothing();
    repos::make(&served.hg, &served.source(), repos::DEFAULT);
    let expected = cloned_by_hg(&served);
    let list = served.source().join(".hg/store/fncache");
    let lines = std::fs::read_to_string(&list).unwrap();
    let split = format!("data/{}", repos::SPLIT_FILE);
    let lost = |line: &str| line == "data/chain.txt.i" || line == format!("{split}.d");
    let kept: String = lines
        .split_inclusive('\n')
        .filter(|line| !lost(line.trim_end()))
        .collect();
    assert_eq!(kept.lines().count() + 2, lines.lines().count());
    std::fs::write(&list, kept).unwrap();
    let pulled = served.bundle("01,02,03", &[("common", NULL), ("phases", "1")]);
    let streamed = served.bundle("03", &[("stream", "1"), ("cg", "0"), ("bookmarks", "1")]);
    for (name, bundle) in [("pulled", pulled), ("streamed", streamed)] {
        served.init(name);
        served.unbundle(name, &bundle);
        assert_eq!(served.log(name), expected, "{name}");
    }
}

/// As `hg` 7.2.4, which aborts with the same words.
#[test]
fn a_file_whose_history_is_gone_is_not_left_out() {
    let served = Served::empty();
    served.commit("one", &[("a", "a\n"), ("b", "b\n")]);
    std::fs::remove_file(served.source().join(".hg/store/data/b.i")).unwrap();
    for lists in ["data/a.i\ndata/b.i\n", "data/a.i\n"] {
        std::fs::write(served.source().join(".hg/store/fncache"), lists).unwrap();
        let bundle = served.bundle("02", &[("common", NULL)]);
        let words = b"empty or missing file data for b";
        assert!(
            bundle.windows(words.len()).any(|found| found == words),
            "{lists}"
        );
    }
}
