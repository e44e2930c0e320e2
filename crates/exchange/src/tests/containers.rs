//! The container of parts: written parts are read back, however they are cut; missing bytes are noticed.

use crate::ExchangeError;
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::bundle20::{BundleWriter, PartReader, write_start};
use crate::format::input::read_failed;
use crate::format::limits::BundleLimits;
use crate::format::part::{Part, PartHeader};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex};
use varve_codec::{EngineSetting, StreamEncoder};

type WholePart = Part<Vec<u8>>;

/// A connection that delivers at most so many bytes at a time.
struct Trickle<'a> {
    rest: &'a [u8],
    most: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = self.most.min(bytes.len());
        self.rest.read(&mut bytes[..len])
    }
}

fn parts() -> impl Strategy<Value = Vec<WholePart>> {
    let pairs = || vec((vec(any::<u8>(), 1..9), vec(any::<u8>(), 0..9)), 0..3);
    let part = ("[a-z:-]{1,12}", pairs(), pairs(), vec(any::<u8>(), 0..200));
    let part = part.prop_map(|(name, mandatory, advisory, payload)| Part {
        header: PartHeader {
            name: name.into_bytes(),
            id: 0,
            mandatory,
            advisory,
        },
        payload,
    });
    vec(part, 0..5)
}

fn numbered(parts: &[WholePart]) -> Vec<WholePart> {
    let mut parts = parts.to_vec();
    for (number, part) in (0..).zip(&mut parts) {
        part.header.id = number;
    }
    parts
}

fn written(parts: &[WholePart], chunk: usize) -> Vec<u8> {
    let bundle = BundleWriter::new(Vec::new()).unwrap();
    let mut bundle = bundle.with_chunk_len(chunk);
    for part in parts {
        bundle.write_part(part).unwrap();
    }
    bundle.finish().unwrap()
}

fn opened<'a>(source: impl Read + Send + 'a) -> Result<PartReader<'a>, ExchangeError> {
    match open_bundle(source, BundleLimits::default())? {
        Bundle::Bundle20(parts) => Ok(parts),
        other => panic!("{other:?} is another container"),
    }
}

fn read(source: impl Read + Send) -> Result<Vec<WholePart>, ExchangeError> {
    let mut reader = opened(source)?;
    let mut found = Vec::new();
    while let Some(Part {
        header,
        payload: mut rest,
    }) = reader.next_part()?
    {
        let mut payload = Vec::new();
        rest.read_to_end(&mut payload).map_err(read_failed)?;
        found.push(Part { header, payload });
    }
    Ok(found)
}

/// Parts behind stream parameters, compressed as these say.
fn compressed(parts: &[WholePart], name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_start(&mut out, format!("Compression={name}").as_bytes()).unwrap();
    let encoder = match name {
        "GZ" => StreamEncoder::new(EngineSetting::ZLIB, out).unwrap(),
        "ZS" => StreamEncoder::new(EngineSetting::ZSTD, out).unwrap(),
        "BZ" => StreamEncoder::bzip2(out),
        _ => StreamEncoder::new(EngineSetting::NONE, out).unwrap(),
    };
    let mut bundle = BundleWriter::after_start(encoder);
    for part in parts {
        bundle.write_part(part).unwrap();
    }
    bundle.finish().unwrap().finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_are_read_as_they_were_written(parts in parts(), chunk in 1_usize..60, most in 1_usize..9) {
        let bundle = written(&parts, chunk);
        let source = Trickle { rest: &bundle, most };
        prop_assert_eq!(read(source).unwrap(), numbered(&parts));
    }

    #[test]
    fn every_compression_holds_the_same_parts(
        parts in parts(),
        name in prop::sample::select(vec!["UN", "GZ", "ZS", "BZ"]),
        most in 1_usize..9,
    ) {
        let bundle = compressed(&parts, name);
        let source = Trickle { rest: &bundle, most };
        prop_assert_eq!(read(source).unwrap(), numbered(&parts), "{}", name);
    }

    #[test]
    fn a_bundle_that_is_cut_anywhere_is_refused(
        parts in parts(),
        chunk in 1_usize..60,
        name in prop::sample::select(vec!["UN", "GZ", "ZS", "BZ"]),
    ) {
        for bundle in [written(&parts, chunk), compressed(&parts, name)] {
            for len in 0..bundle.len() {
                prop_assert!(read(&bundle[..len]).is_err(), "{} of {}", len, bundle.len());
            }
        }
    }

    /// A reader that is not interested in a payload arrives at the next header all the same, and the length of a
    /// part counts skipped bytes.
    #[test]
    fn payloads_that_are_left_are_skipped(parts in parts(), chunk in 1_usize..60, taken in 0_usize..100) {
        let bundle = written(&parts, chunk);
        let mut reader = opened(&bundle[..]).unwrap();
        for expected in numbered(&parts) {
            let part = reader.next_part().unwrap().unwrap();
            prop_assert_eq!(&part.header, &expected.header);
            let mut beginning = Vec::new();
            part.payload.take(taken as u64).read_to_end(&mut beginning).unwrap();
            prop_assert!(expected.payload.starts_with(&beginning));
            prop_assert_eq!(beginning.len(), taken.min(expected.payload.len()));
            prop_assert_eq!(reader.end_part().unwrap(), expected.payload.len() as u64);
        }
        prop_assert!(reader.next_part().unwrap().is_none());
        prop_assert!(reader.next_part().unwrap().is_none(), "the end stays the end");
    }

    /// Output of the other side may stand between any two chunks, and is heard in order.
    #[test]
    fn interruptions_change_no_payload(
        chunks in vec((vec(any::<u8>(), 1..20), vec("[a-z]{0,9}", 0..3)), 0..6),
        most in 1_usize..9,
    ) {
        let mut bundle = b"HG20\0\0\0\0\0\0\0\x08\x01x\0\0\0\0\0\0".to_vec();
        for (chunk, texts) in &chunks {
            for text in texts {
                bundle.extend(b"\xff\xff\xff\xff\0\0\0\x0d\x06output\0\0\0\x07\0\0");
                for byte in text.bytes() {
                    bundle.extend([0, 0, 0, 1, byte]);
                }
                bundle.extend([0; 4]);
            }
            bundle.extend((chunk.len() as u32).to_be_bytes());
            bundle.extend(chunk);
        }
        bundle.extend([0; 8]);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let mut reader = opened(Trickle { rest: &bundle, most }).unwrap();
        reader.on_interruption(move |part| into.lock().unwrap().push(part.payload));
        let mut payload = Vec::new();
        let mut part = reader.next_part().unwrap().unwrap();
        part.payload.read_to_end(&mut payload).unwrap();
        prop_assert!(reader.next_part().unwrap().is_none());
        let all = chunks.iter().flat_map(|(chunk, _)| chunk.clone());
        prop_assert_eq!(payload, all.collect::<Vec<_>>());
        let texts = chunks.iter().flat_map(|(_, texts)| texts.iter().map(|text| text.clone().into_bytes()));
        prop_assert_eq!(&*heard.lock().unwrap(), &texts.collect::<Vec<_>>());
    }

    /// A flipped bit in a payload changes that byte alone; one elsewhere is refused, or makes other parts that hold
    /// no more than the bundle does.
    #[test]
    fn flipped_bits_never_make_more_than_there_is(
        parts in parts(), chunk in 1_usize..60, at in any::<prop::sample::Index>(), bit in 0..8,
    ) {
        let mut bundle = written(&parts, chunk);
        let at = at.index(bundle.len());
        bundle[at] ^= 1_u8 << bit;
        if let Ok(found) = read(&bundle[..]) {
            let bytes = found.iter().map(|part| part.header.name.len() + part.payload.len());
            prop_assert!(bytes.sum::<usize>() < bundle.len());
            let lens = |parts: &[WholePart]| parts.iter().map(|part| part.payload.len()).collect::<Vec<_>>();
            if lens(&found) == lens(&parts) {
                let pairs = found.iter().zip(&parts);
                let bytes = pairs.flat_map(|(new, old)| new.payload.iter().zip(&old.payload));
                prop_assert!(bytes.filter(|(new, old)| new != old).count() <= 1);
            }
        }
    }
}

/// The longest header fits, and one byte more of anything is refused before a byte is written.
#[test]
fn headers_up_to_their_limits_are_written_and_read() {
    let pair = || (vec![b'k'; 255], vec![b'v'; 255]);
    let full = PartHeader {
        name: vec![b'n'; 255],
        id: 0,
        mandatory: vec![pair(); 255],
        advisory: vec![pair(); 255],
    };
    let part = Part {
        header: full.clone(),
        payload: b"payload".to_vec(),
    };
    let bundle = written(std::slice::from_ref(&part), 3);
    assert_eq!(read(&bundle[..]).unwrap(), [part]);
    for change in [
        |header: &mut PartHeader| header.name.push(b'n'),
        |header: &mut PartHeader| header.mandatory.push((Vec::new(), Vec::new())),
        |header: &mut PartHeader| header.advisory[254].1.push(b'v'),
        |header: &mut PartHeader| header.mandatory[0].0.push(b'k'),
    ] {
        let mut header = full.clone();
        change(&mut header);
        let mut out = Vec::new();
        let mut bundle = BundleWriter::new(&mut out).unwrap();
        assert!(bundle.start_part(header).is_err());
        assert_eq!(out, b"HG20\0\0\0\0");
    }
}

/// A header, a list of parameters or an interruption that announces more than there can be is refused before its
/// bytes have come.
#[test]
fn lengths_beyond_the_limits_are_refused_at_once() {
    let endless = |start: &[u8]| read(Cursor::new(start.to_vec()).chain(io::repeat(b'x')));
    for len in [1 << 19 | 1, i32::MAX, -1, i32::MIN] {
        let len = i32::to_be_bytes(len);
        assert!(endless(&[&b"HG20"[..], &len].concat()).is_err());
        assert!(endless(&[&b"HG20\0\0\0\0"[..], &len].concat()).is_err());
    }
    let part = b"HG20\0\0\0\0\0\0\0\x08\x01x\0\0\0\0\0\0";
    let output = b"\xff\xff\xff\xff\0\0\0\x0d\x06output\0\0\0\x07\0\0";
    let long = ((1 << 20) + 1_i32).to_be_bytes();
    let refused = endless(&[&part[..], output, &long].concat()).unwrap_err();
    let words = "the bundle is damaged: an interruption is longer than 1048576 bytes";
    assert_eq!(refused.to_string(), words);
}

/// Large pieces are chunks of their own, and small ones are gathered; both come out in order.
#[test]
fn pieces_of_any_size_come_out_in_order() {
    let mut bundle = BundleWriter::new(Vec::new()).unwrap();
    let header = PartHeader {
        name: b"x".to_vec(),
        ..PartHeader::default()
    };
    let mut payload = bundle.start_part(header).unwrap();
    let mut expected = Vec::new();
    for (number, len) in [5, 0, 131_072, 7, 131_071, 2, 300_000, 1]
        .into_iter()
        .enumerate()
    {
        let piece = vec![number as u8; len];
        payload.write_all(&piece).unwrap();
        expected.extend(piece);
    }
    payload.end().unwrap();
    let bundle = bundle.finish().unwrap();
    let parts = read(&bundle[..]).unwrap();
    assert_eq!(parts.len(), 1);
    assert!(parts[0].payload == expected);
}
