//! Bodies of the fuzz targets; also run by plain tests.

use crate::ExchangeError;
use crate::apply::{StreamApplier, StreamSize};
use crate::client::clone_bundles::{BundlePreferences, Candidates};
use crate::client::discovery::discover;
use crate::client::peer::{PeerArgs, Remote, Transport};
use crate::client::push::{RemotePhases, read_reply_within};
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::bundlespec::{BundleSpec, SpecDefaults};
use crate::format::changegroup::{ChangegroupReader, ChangegroupVersion, DeltaHeader};
use crate::format::clone_bundle_manifest::CloneBundleManifest;
use crate::format::input::Finish;
use crate::format::limits::BundleLimits;
use crate::format::part::capabilities::Bundle2Capabilities;
use crate::format::part::{
    PartHeader, PartType, bookmarks, list_keys, node_list, phase_heads, tags_fnodes,
};
use crate::server::wire::{ClientMedia, WireRequest};
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Storage};
use varve_repo::{Lock, LockKind, Node, Repository};

/// Never panics on the arguments of a request: headers, query, posted body, batches, bundle
/// capabilities. Lines of the input become headers in turn; the last one is the query and body.
pub fn wire_arguments(data: &[u8]) {
    const NAMES: [&str; 5] = [
        "X-HgArg-1",
        "x-hgarg-2",
        "X-HgProto-1",
        "X-HgArgs-Post",
        "Vary",
    ];
    let mut lines = data.split(|byte| *byte == b'\n');
    let headers = NAMES.into_iter().zip(lines.clone());
    let last = lines.next_back().unwrap_or_default();
    if let Ok(request) = WireRequest::parse(headers, last, last) {
        for name in ["nodes", "common", "heads"] {
            let nodes = request.nodes(name);
            assert!(nodes.is_err() || nodes.is_ok_and(|n| n.is_none_or(|n| n.len() <= data.len())));
        }
        for (_, value) in &request.args {
            parse_wire_words(value);
        }
    }
    parse_wire_words(data);
    ClientMedia::parse(data);
}

/// Decodes a payload as every type of part.
fn parse_payload(payload: &[u8]) {
    let _ = bookmarks::decode(payload);
    let _ = phase_heads::decode(payload);
    let _ = tags_fnodes::decode(payload);
    let _ = node_list::decode(payload, PartType::CheckHeads);
    let _ = list_keys::bookmarks(list_keys::decode(payload));
    let _ = Bundle2Capabilities::decode_quoted(payload);
}

/// Reads bytes as everything that arguments can hold.
fn parse_wire_words(bytes: &[u8]) {
    let _ = crate::format::batch::parse(bytes);
    let _ = crate::server::wire::parse_bundle_caps(bytes);
    crate::server::unbundle::parse_heads(bytes);
}

/// Never panics on the input of a client over a pair of streams, and never makes more of it.
pub fn wire_streams(data: &[u8]) {
    if let Ok(read) = crate::server::stdio::read_all(data) {
        assert!(read <= data.len());
    }
}

/// Never panics; a parsed bundlespec reads back from its own text as the same.
pub fn bundlespec(data: &[u8]) {
    let habits = SpecDefaults {
        general_delta: true,
    };
    if let Ok(spec) = BundleSpec::parse(&String::from_utf8_lossy(data), habits) {
        let text = spec.to_string();
        assert_eq!(BundleSpec::parse(&text, habits), Ok(spec), "{text}");
    }
}

/// Little, so that an endless expansion soon reaches it.
const LIMITS: BundleLimits = BundleLimits {
    free: 16 << 20,
    ratio: 10,
    longest: u64::MAX,
};

/// Reads all groups; the parsed deltas must encode to the same bytes. Returns how many bytes the
/// groups had.
fn walk_changegroup<R: Read + Finish>(
    mut reader: ChangegroupReader<R>,
    version: ChangegroupVersion,
) -> Result<usize, ExchangeError> {
    let (mut patch, mut out, mut bytes) = (Vec::new(), Vec::new(), 0);
    while reader.next_group()?.is_some() {
        while let Some(header) = reader.next_delta(&mut patch)? {
            out.clear();
            header.write(version, patch.len(), &mut out)?;
            let header_len = version.header_len();
            assert_eq!(out.len(), 4 + header_len);
            let back = DeltaHeader::parse(&out[4..], version, Some(header.base));
            assert_eq!(back, Some(header));
            bytes += out.len() + patch.len();
        }
    }
    Ok(bytes)
}

/// Never panics on a bundle of the first version, whose magic is not part of the input.
pub fn bundle1(data: &[u8]) {
    let bytes = [b"HG10", data].concat();
    if let Ok(Bundle::Bundle10(reader)) = open_bundle(&bytes[..], LIMITS) {
        let _ = walk_changegroup(reader, ChangegroupVersion::V1);
    }
}

/// Never panics on a bundle2, whose magic is not part of the input.
pub fn bundle2(data: &[u8]) {
    let bytes = [b"HG20", data].concat();
    let Ok(Bundle::Bundle20(mut parts)) = open_bundle(&bytes[..], LIMITS) else {
        return;
    };
    while let Ok(Some(mut part)) = parts.next_part() {
        let _ = part.header.check_mandatory(&["version"]);
        let version = part.header.value("version").unwrap_or(b"01");
        let version = std::str::from_utf8(version).ok();
        match version.and_then(|name| ChangegroupVersion::named(name).ok()) {
            Some(version) if part.header.part_type() == Some(PartType::Changegroup) => {
                let _ = walk_changegroup(ChangegroupReader::new(part.payload, version), version);
            }
            _ => {
                let mut payload = Vec::new();
                let _ = part.payload.read_to_end(&mut payload);
                parse_payload(&payload);
            }
        }
    }
}

/// Never panics on a changegroup of any version; the first byte says which.
pub fn changegroup(data: &[u8]) {
    let Some((which, data)) = data.split_first() else {
        return;
    };
    let versions = [
        ChangegroupVersion::V1,
        ChangegroupVersion::V2,
        ChangegroupVersion::V3,
    ];
    let version = versions[usize::from(*which) % versions.len()];
    let reader = ChangegroupReader::new(data, version);
    if let Ok(bytes) = walk_changegroup(reader, version) {
        assert!(bytes <= data.len());
    }
}

/// Never panics on the files of a store in either form, and leaves nothing behind of those that are
/// damaged. The first two bytes say how many files and bytes are announced.
pub fn store_stream(data: &[u8]) {
    let Some(([files, bytes], data)) = data.split_first_chunk() else {
        return;
    };
    let number = |name: &str, value: String| (name.as_bytes().to_vec(), value.into_bytes());
    let header = PartHeader {
        mandatory: vec![
            number("filecount", files.to_string()),
            number("bytecount", bytes.to_string()),
            number("requirements", "generaldelta%2Crevlogv1".to_owned()),
        ],
        ..PartHeader::default()
    };
    take_stream(|arrival, lock| arrival.apply_part(lock, &header, &mut &*data));
    let bytes = [b"HGS1UN", data].concat();
    if let Ok(Bundle::Packed(packed)) = open_bundle(&bytes[..], LIMITS) {
        take_stream(|arrival, lock| arrival.apply_packed(lock, packed));
    }
}

/// A server that answers the first question with its capabilities, and all others alike.
struct Parrot {
    capabilities: Option<Vec<u8>>,
    answer: Vec<u8>,
}

impl Transport for Parrot {
    fn call(&mut self, _command: &str, _args: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError> {
        let first = self.capabilities.take();
        Ok(first.unwrap_or_else(|| self.answer.clone()))
    }

    fn stream(
        &mut self,
        _command: &str,
        _args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        Ok(Box::new(Cursor::new(self.answer.clone())))
    }
}

/// Never panics on answers of servers, whatever was asked. The first line are the capabilities,
/// the rest is the answer to everything else.
pub fn server_answers(data: &[u8]) {
    let (first, answer) = match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &b""[..]),
    };
    let parrot = Parrot {
        capabilities: Some(first.to_vec()),
        answer: answer.to_vec(),
    };
    let Ok(mut remote) = Remote::connect(Box::new(parrot)) else {
        return;
    };
    let _ = (remote.capabilities().stream_support(), remote.has_markers());
    let asked = [Node([0; 20]), Node([1; 20])];
    if let Ok(look) = remote.heads_and_known(&asked) {
        assert_eq!(look.known.len(), asked.len());
    }
    if let Ok((nodes, _)) = remote.lookup_all(&[b"a", b"b"]) {
        assert_eq!(nodes.len(), 2);
    }
    if let Ok(known) = remote.known(&asked) {
        assert_eq!(known.len(), asked.len());
    }
    if let Ok(heads) = remote.heads() {
        assert!(heads.len() <= answer.len());
    }
    let _ = (remote.lookup(b"a"), remote.branchmap(), remote.bookmarks());
    let keys = remote.list_keys("phases").unwrap_or_default();
    let repository = Repository::create(Arc::new(MemoryStorage::default()), Path::new("r"));
    if let Ok(view) = repository.and_then(|made| made.view()) {
        let _ = (
            discover(&view, &mut remote, None),
            RemotePhases::read(&view, &keys, &[]),
        );
    }
    let answer = Box::new(Cursor::new(answer.to_vec()));
    let _ = read_reply_within(answer, LIMITS, &mut |_| {});
}

fn take_stream(
    take: impl FnOnce(StreamApplier<'_>, Lock) -> Result<(StreamSize, Lock), ExchangeError>,
) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let made = Repository::create(Arc::clone(&storage), Path::new("r"));
    let Ok((repository, lock)) =
        made.and_then(|it| Ok((it.clone(), it.try_lock(LockKind::Store)?)))
    else {
        return;
    };
    let arrival = StreamApplier {
        repository: &repository,
        stop: &Interrupt::default(),
        on_event: &mut |_| {},
    };
    if take(arrival, lock).is_err() {
        let left = |path: &str| matches!(storage.kind(Path::new(path)), Ok(None));
        assert!(left("r/.hg/store.new") && left("r/.hg/store/00changelog.i"));
    }
}

/// Reads a list of clone bundles as clients and servers do: a chosen bundle is in the list, and an own
/// list keeps its lines when it is told.
pub fn clone_bundles(data: &[u8]) {
    let manifest = CloneBundleManifest::new(data.to_vec());
    let preferences = BundlePreferences {
        streamed: data.len().is_multiple_of(2),
        memory: Some(1 << 30),
    };
    let mut found = Candidates::of(&manifest, &preferences);
    let count = found.usable.len();
    found.sort_by(&[("COMPRESSION".to_owned(), "zstd".to_owned())]);
    assert_eq!(found.usable.len(), count);
    assert_eq!(count + found.rejected.len(), manifest.entries().count());
    let told = CloneBundleManifest::new(manifest.located(Some("https://h/r")));
    if manifest.is_own() {
        assert_eq!(told.entries().count(), manifest.entries().count());
    }
    manifest.without_inline();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BUNDLE1: &[u8] = include_bytes!("../tests/golden/bundles/none-v1.hg");
    const BUNDLE2: &[u8] = include_bytes!("../tests/golden/bundles/none-v2.hg");
    const ZSTD: &[u8] = include_bytes!("../tests/golden/bundles/zstd-v2.hg");
    const BUNDLE3: &[u8] = include_bytes!("../tests/golden/bundles/none-v3.hg");

    #[test]
    fn real_bundles() {
        bundle1(&BUNDLE1[4..]);
        for bundle in [BUNDLE2, ZSTD, BUNDLE3] {
            bundle2(&bundle[4..]);
        }
        changegroup(&[b"\0", &BUNDLE1[6..]].concat());
        changegroup(&[b"\x01", &BUNDLE2[57..]].concat());
        changegroup(b"\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    }

    /// `real` with some of its bytes replaced by `bytes`.
    fn overwritten(real: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut data = real.to_vec();
        let at = at % data.len();
        let len = bytes.len().min(data.len() - at);
        data[at..at + len].copy_from_slice(&bytes[..len]);
        data
    }

    proptest! {
        #[test]
        fn damaged_bundles(at in any::<usize>(), bytes in proptest::collection::vec(any::<u8>(), 1..9)) {
            bundle1(&overwritten(&BUNDLE1[4..], at, &bytes));
            for bundle in [BUNDLE2, ZSTD, BUNDLE3] {
                bundle2(&overwritten(&bundle[4..], at, &bytes));
            }
            changegroup(&overwritten(&BUNDLE1[5..], at, &bytes));
            changegroup(&bytes);
        }
    }

    /// Two files and a cache in the form of a bundle2, and a packed bundle behind its magic.
    const FILES: &[u8] = b"\x03\x03s\x08\x02data/a.ixys\x0d\x0000changelog.ic\x05\x01cachez";
    const PACKED: &[u8] = b"\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x02\0\x09revlogv1\0\
        data/a.i\x002\nxy00changelog.i\x000\n";

    #[test]
    fn real_stores() {
        store_stream(FILES);
        store_stream(PACKED);
        store_stream(b"");
    }

    proptest! {
        #[test]
        fn damaged_stores(at in any::<usize>(), bytes in proptest::collection::vec(any::<u8>(), 1..9)) {
            store_stream(&overwritten(FILES, at, &bytes));
            store_stream(&overwritten(PACKED, at, &bytes));
            store_stream(&bytes);
        }
    }

    const LIST: &[u8] = b"http://h/a BUNDLESPEC=gzip-v2 b=x%20y\n\n\
        peer-bundle-cache://varve-7-0a0b-zstd-v2.hg BUNDLESPEC=none-v2;stream=v2 REQUIREDRAM=1GB\n";

    #[test]
    fn real_lists() {
        for list in [LIST, &LIST[LIST.len() - 88..], b"", b"\n \n%\xff x=\n"] {
            clone_bundles(list);
        }
    }

    proptest! {
        #[test]
        fn damaged_lists(at in any::<usize>(), bytes in proptest::collection::vec(any::<u8>(), 1..9)) {
            clone_bundles(&overwritten(LIST, at, &bytes));
            clone_bundles(&bytes);
        }
    }

    /// A client that looks, reads and pushes.
    const TALK: &[u8] = b"hello\nbetween\npairs 3\n0-0protocaps\ncaps 9\ncomp=zstdbatch\n* 0\ncmds 6\nheads \
        getbundle\n* 2\nheads 2\nabcommon 0\nunbundle\nheads 10\n666f7263654\nHG1010\n01234567890\nheads\n";

    #[test]
    fn real_talks() {
        wire_streams(TALK);
        wire_streams(b"");
        crate::server::stdio::read_all(TALK).unwrap();
    }

    proptest! {
        #[test]
        fn damaged_talks(at in any::<usize>(), bytes in proptest::collection::vec(any::<u8>(), 1..9)) {
            wire_streams(&overwritten(TALK, at, &bytes));
            wire_streams(&bytes);
        }
    }

    /// Answers of servers, each behind their capabilities.
    const ANSWERS: [&[u8]; 7] = [
        b"batch\n0000000000000000000000000000000000000000\n;01",
        b"batch branchmap bundle2=HG20%0Aobsmarkers%3DV0%2CV1%0Astream%3Dv2 stream\n\
          mark\t0101010101010101010101010101010101010101;\
          1 0101010101010101010101010101010101010101\n;0 unknown revision ':c'\n",
        b"known\n10",
        b"lookup\n1 0101010101010101010101010101010101010101\n",
        b"branchmap\nde%66ault 0101010101010101010101010101010101010101 \
          0000000000000000000000000000000000000000\nb 0101010101010101010101010101010101010101",
        b"listkeys\n0101010101010101010101010101010101010101\t1\npublishing\tTrue",
        include_bytes!("../tests/golden/push-reply"),
    ];

    #[test]
    fn real_answers() {
        for answer in ANSWERS {
            server_answers(answer);
        }
        server_answers(b"");
    }

    proptest! {
        #[test]
        fn damaged_answers(at in any::<usize>(), bytes in proptest::collection::vec(any::<u8>(), 1..9)) {
            for answer in ANSWERS {
                server_answers(&overwritten(answer, at, &bytes));
                server_answers(&answer[..at % answer.len()]);
            }
            server_answers(&bytes);
        }
    }

    const REAL: &[u8] = b"cmds=heads+%3Bknown+nodes%3D&bundlecaps=HG20%2Cbundle2%3DHG20%250Ax%3D\n\
        &common=0000000000000000000000000000000000000000\n0.1 0.2 comp=zstd,zlib\n12\n\ncmd=batch";

    #[test]
    fn real_arguments() {
        wire_arguments(REAL);
        wire_arguments(b"");
    }

    proptest! {
        #[test]
        fn damaged_arguments(at in 0..REAL.len(), bytes in proptest::collection::vec(any::<u8>(), 0..9)) {
            let mut data = REAL[..at].to_vec();
            data.extend(&bytes);
            data.extend(&REAL[at..]);
            wire_arguments(&data);
            wire_arguments(&bytes);
        }
    }
}
