//! Bodies of the fuzz targets; also run by plain tests.

use crate::bundle::{Bundle, BundleLimits, Finish, open_bundle};
use crate::bundlespec::{BundleSpec, Habits};
use crate::unbundle::parse_payload;
use crate::wire::{ClientMedia, WireRequest, parse_wire_words};
use crate::{ChangegroupReader, ChangegroupVersion, DeltaHeader, ExchangeError};
use std::io::Read;

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

/// Never panics; what reads as a bundlespec reads back from its own text as the same.
pub fn bundlespec(data: &[u8]) {
    let habits = Habits {
        general_delta: true,
    };
    if let Ok(spec) = BundleSpec::parse(&String::from_utf8_lossy(data), habits) {
        let text = spec.to_string();
        assert_eq!(BundleSpec::parse(&text, habits), Ok(spec), "{text}");
    }
}

/// Little, so that what expands without end soon does.
const LIMITS: BundleLimits = BundleLimits {
    free: 16 << 20,
    ratio: 10,
};

/// Reads all groups; what is parsed must be what is written again. Returns how many bytes the
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
    if let Ok(Bundle::One(reader)) = open_bundle(&bytes[..], LIMITS) {
        let _ = walk_changegroup(reader, ChangegroupVersion::V1);
    }
}

/// Never panics on a bundle2, whose magic is not part of the input.
pub fn bundle2(data: &[u8]) {
    let bytes = [b"HG20", data].concat();
    let Ok(Bundle::Two(mut parts)) = open_bundle(&bytes[..], LIMITS) else {
        return;
    };
    while let Ok(Some(mut part)) = parts.next_part() {
        let _ = part.header.check_mandatory(&["version"]);
        let version = part.header.value("version").unwrap_or(b"01");
        let version = std::str::from_utf8(version).ok();
        match version.and_then(|name| ChangegroupVersion::named(name).ok()) {
            Some(version) if part.header.kind() == b"changegroup" => {
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

    /// `real` with `bytes` in place of what is there.
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
