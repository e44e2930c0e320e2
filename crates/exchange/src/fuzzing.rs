//! Bodies of the fuzz targets; also run by plain tests.

use crate::bundlespec::{BundleSpec, Habits};
use crate::wire::{ClientMedia, WireRequest, parse_wire_words};

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
