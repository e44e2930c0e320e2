//! Bundles by `hg` 7.2.4, whole, cut, and with lengths that lie.

use super::*;
use crate::format::changegroup::{ChangegroupVersion, Group};
use crate::format::input::Finish;
use std::io;

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/golden/bundles/", $name, ".hg")).as_slice()
    };
}

const ALL: &[(&str, &[u8])] = &[
    ("none-v1", golden!("none-v1")),
    ("gzip-v1", golden!("gzip-v1")),
    ("bzip2-v1", golden!("bzip2-v1")),
    ("none-v2", golden!("none-v2")),
    ("gzip-v2", golden!("gzip-v2")),
    ("bzip2-v2", golden!("bzip2-v2")),
    ("zstd-v2", golden!("zstd-v2")),
    ("none-v3", golden!("none-v3")),
];

/// Groups of a changegroup with the number of deltas and bytes of patches.
fn groups<R: Read + Finish>(mut reader: ChangegroupReader<R>) -> Result<String, ExchangeError> {
    let (mut out, mut patch) = (String::new(), Vec::new());
    while let Some(group) = reader.next_group()? {
        let (mut deltas, mut bytes) = (0, 0);
        while reader.next_delta(&mut patch)?.is_some() {
            deltas += 1;
            bytes += patch.len();
        }
        let name = match group {
            Group::Changesets => "changesets".into(),
            Group::Manifests => "manifests".into(),
            Group::File(path) => String::from_utf8_lossy(&path).into_owned(),
        };
        out += &format!("{name} {deltas} {bytes}\n");
    }
    Ok(out)
}

fn walk(bytes: &[u8]) -> Result<String, ExchangeError> {
    match open_bundle(bytes, BundleLimits::default())? {
        Bundle::Bundle10(reader) => groups(reader),
        Bundle::Bundle20(mut parts) => {
            let mut out = String::new();
            while let Some(mut part) = parts.next_part()? {
                let kind = part.header.kind();
                if kind == b"changegroup" {
                    let version = part.header.value("version").unwrap_or(b"01");
                    let version =
                        ChangegroupVersion::named(std::str::from_utf8(version).unwrap()).unwrap();
                    out += &groups(ChangegroupReader::new(part.payload, version))?;
                } else {
                    let len = io::copy(&mut part.payload, &mut io::sink());
                    let len = len.map_err(input::read_failed)?;
                    out += &format!("{} {len}\n", String::from_utf8_lossy(&kind));
                }
            }
            Ok(out)
        }
        Bundle::Packed(packed) => Ok(format!("{} {}", packed.files, packed.bytes)),
    }
}

#[test]
fn bundles_of_every_engine_hold_the_same() {
    const GROUPS: &str = "f1 1 14\nf2 1 14\nf3 1 14\ng 1 14\n";
    for (name, bytes) in ALL {
        let found = walk(bytes).unwrap();
        assert!(found.starts_with("changesets 4 "), "{name}: {found}");
        assert!(found.contains(GROUPS), "{name}: {found}");
        assert_eq!(found.contains("phase-heads 48"), name.ends_with("v3"));
    }
    assert_eq!(walk(golden!("packed")).unwrap(), "7 1210");
}

#[test]
fn a_cut_anywhere_is_noticed() {
    let mut cuts = 0;
    for (name, bytes) in ALL {
        for len in 0..bytes.len() {
            assert!(walk(&bytes[..len]).is_err(), "{name} cut at {len}");
            cuts += 1;
        }
    }
    assert!(cuts > 8000, "only {cuts}");
}

#[test]
fn a_wrong_checksum_is_noticed() {
    for name in ["gzip-v1", "bzip2-v1", "gzip-v2", "bzip2-v2"] {
        let mut bytes = ALL.iter().find(|(n, _)| *n == name).unwrap().1.to_vec();
        let at = bytes.len() - 6;
        bytes[at] ^= 1;
        assert!(walk(&bytes).is_err(), "{name}");
    }
}

#[track_caller]
fn refused(bytes: &[u8], words: &str) {
    assert_eq!(walk(bytes).unwrap_err().to_string(), words);
}

fn bundle2(parameters: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut out = b"HG20".to_vec();
    out.extend_from_slice(&(parameters.len() as u32).to_be_bytes());
    out.extend_from_slice(parameters.as_bytes());
    out.extend_from_slice(&parts.concat());
    out.extend_from_slice(&[0; 4]);
    out
}

#[test]
fn what_is_unknown_is_named() {
    refused(b"hello", "not a Mercurial bundle");
    refused(b"HG30....", "unknown bundle version 30");
    refused(b"HG10XX..", "unknown stream compression type: XX");
    let feature = |words: &str| format!("unknown bundle feature, Stream Parameter - {words}");
    refused(&bundle2("foo Bar=1 Baz", &[]), &feature("Bar"));
    refused(
        &bundle2("Compression=XX", &[]),
        &feature("Compression='XX'"),
    );
    assert_eq!(walk(&bundle2("foo=1 bar", &[])).unwrap(), "");
    assert_eq!(walk(&bundle2("Com%70ression=%55N", &[])).unwrap(), "");
    assert!(walk(&bundle2(" ", &[])).is_err());
}

#[test]
fn lengths_that_lie_end_the_reading() {
    let first = |len: i32| [b"HG10UN", &len.to_be_bytes()[..], &[7; 90]].concat();
    refused(&first(3), "invalid chunk length 3");
    refused(&first(-50), "invalid chunk length -50");
    refused(&first(50), "invalid chunk length 50");
    let ended = "stream ended unexpectedly (got 10 bytes, expected 2147483563)";
    refused(&first(i32::MAX), ended);
    let chunk = |len: i32| {
        let head = b"\0\0\0\x08\x01x\0\0\0\0\0\0";
        bundle2("", &[head, &len.to_be_bytes(), b"abc"])
    };
    let ended = "stream ended unexpectedly  (got 7 bytes, expected 2147483647)";
    refused(&chunk(i32::MAX), ended);
    assert!(walk(&chunk(-2)).is_err());
    refused(
        &bundle2("", &[b"\0\0\0\x03\x09ab"]),
        "the bundle is damaged: the header of a part is cut",
    );
}

/// A part with one chunk that another part interrupts.
fn interrupted(other: &[u8]) -> Vec<u8> {
    let head = b"\0\0\0\x08\x01x\0\0\0\0\0\0";
    let parts = [&head[..], b"\0\0\0\x02ab\xff\xff\xff\xff", other];
    bundle2("", &[&parts.concat(), b"\0\0\0\x01c\0\0\0\0"])
}

#[test]
fn interruptions_are_heard_and_the_payload_goes_on() {
    let output = b"\0\0\0\x0d\x06output\0\0\0\x05\0\0\0\0\0\x02hi\0\0\0\0";
    assert_eq!(walk(&interrupted(output)).unwrap(), "x 3\n");
    let heard = std::sync::Mutex::new(Vec::new());
    let bytes = interrupted(output);
    let Ok(Bundle::Bundle20(mut parts)) = open_bundle(&bytes[..], BundleLimits::default()) else {
        panic!("no bundle2");
    };
    parts.on_interruption(|part| heard.lock().unwrap().push(part));
    while parts.next_part().unwrap().is_some() {}
    drop(parts);
    let heard = heard.into_inner().unwrap();
    assert_eq!((heard[0].header.id, &heard[0].payload[..]), (5, &b"hi"[..]));
    let abort = b"\0\0\0\x1d\x0berror:abort\0\0\0\0\x01\0\x07\x02messageno\0\0\0\0";
    refused(&interrupted(abort), "no");
    let unknown = b"\0\0\0\x08\x01X\0\0\0\0\0\0\0\0\0\0";
    refused(&interrupted(unknown), "unknown bundle feature, x");
    let nested = b"\0\0\0\x08\x01x\0\0\0\0\0\0\xff\xff\xff\xff";
    assert!(walk(&interrupted(nested)).is_err());
}

#[test]
fn what_expands_without_end_is_stopped() {
    let limits = BundleLimits {
        free: 1 << 20,
        ratio: 10,
        longest: u64::MAX,
    };
    let mut zeros = varve_codec::StreamEncoder::bzip2(Vec::new());
    io::copy(&mut io::repeat(0).take(8 << 20), &mut zeros).unwrap();
    let zeros = zeros.finish().unwrap();
    let bytes = [&b"HG10"[..], &zeros].concat();
    let Ok(Bundle::Bundle10(mut reader)) = open_bundle(&bytes[..], limits) else {
        panic!("no bundle1");
    };
    // Empty groups, then zeros that mean nothing, up to the end of the stream.
    let error = loop {
        match reader.next_group() {
            Ok(group) => assert!(group.is_some(), "no limit"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, ExchangeError::EndlessBundle { .. }),
        "{error}"
    );
}

/// A piece that goes through a file on its way.
#[test]
fn long_pieces_are_read_whole_or_told_to_be_cut() {
    let len = 17 << 20;
    let text: Vec<u8> = (0..len).map(|n: u32| (n % 251) as u8).collect();
    let mut out = Vec::new();
    let mut rest = &text[..];
    input::read_into(&mut rest, text.len() - 1, &mut out).unwrap();
    assert!(out == text[..text.len() - 1] && rest.len() == 1);
    let cut = input::read_into(&mut &text[..], text.len() + 1, &mut out);
    let Err(ExchangeError::StreamEnded { got, expected }) = cut else {
        panic!("{cut:?}");
    };
    assert_eq!((got, expected), (text.len(), text.len() + 1));
    assert!(out == text, "callers that read to the end want what came");
}

#[test]
fn a_pushed_bundle_expands_only_so_far() {
    let limits = BundleLimits::for_push(None);
    assert!(limits.allowed(2000) < 65 << 20);
    assert_eq!(BundleLimits::for_push(Some(1000)).allowed(2000), 1000);
}
