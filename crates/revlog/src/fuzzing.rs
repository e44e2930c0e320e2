//! Bodies of the fuzz targets; also run by plain tests.

use crate::{Revlog, chunk};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_codec::Expander;

/// More than this is not expanded, so that a fuzzer makes many runs.
const LIMIT: usize = 1 << 20;

/// Never panics on any index and data file; whatever opens can be asked for everything. The
/// first byte says where the rest is cut into the two, in 64ths.
pub fn revlog(data: &[u8]) {
    let Some((cut, rest)) = data.split_first() else {
        return;
    };
    let (index, chunks) = rest.split_at(rest.len() * usize::from(*cut).min(64) / 64);
    let files = [("x.i", index), ("x.d", chunks)];
    let files = files.map(|(name, bytes)| (PathBuf::from(name), bytes.to_vec()));
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(files));
    let Ok(revlog) = Revlog::open(&storage, Path::new("x.i")) else {
        return;
    };
    let (mut reader, mut delta) = (revlog.reader(), Vec::new());
    for rev in revlog.revs() {
        let node = revlog.node(rev);
        assert!(revlog.rev(&node).is_some());
        let _ = revlog.rev_by_prefix(&node.to_hex()[..3]);
        let older = |parent: crate::Rev| parent < rev;
        assert!(revlog.parents(rev).into_iter().flatten().all(older));
        assert!(revlog.delta_parent(rev).is_none_or(older));
        if revlog
            .entry(rev)
            .raw_len
            .is_some_and(|len| len as usize <= LIMIT)
        {
            let _ = reader.text(rev).map(<[u8]>::len);
            let _ = reader.stored_delta(rev, &mut delta);
        }
    }
}

/// Never panics on any chunk, and keeps the limit.
pub fn stored_chunk(data: &[u8]) {
    let mut out = Vec::new();
    let _ = chunk::expand(data, LIMIT, &mut Expander::new(), &mut out);
    assert!(out.len() <= LIMIT);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    const FILELOG: &[u8] = include_bytes!("../tests/golden/filelog-inline-zstd.i");
    const INDEX: &[u8] = include_bytes!("../tests/golden/changelog-split-zstd.i");
    const CHUNKS: &[u8] = include_bytes!("../tests/golden/changelog-split-zstd.d");

    proptest! {
        #[test]
        fn changed_golden_files_keep_the_promises(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in 0_u8..=64,
        ) {
            for golden in [FILELOG.to_vec(), [INDEX, CHUNKS].concat()] {
                let mut bytes = golden;
                for (at, byte) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                for cut in [cut, 32, 64] {
                    super::revlog(&[&[cut], &bytes[..]].concat());
                }
                super::stored_chunk(&bytes[64..]);
            }
        }
    }
}
