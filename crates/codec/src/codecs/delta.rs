//! A text as the difference from another one: a zstd frame that begins with that one as its prefix.
//!
//! The frame stands without the four bytes of its magic number, and its head says how long the
//! content is.

use super::dictionary::{FRAME_MAGIC, FrameHead};
use super::{CodecError, context};
use std::fmt;
use zstd::zstd_safe::{CCtx, DCtx, DParameter, FrameFormat, compress_bound};

/// Content is at most so many times as long as the base of its delta; a longer claim is refused.
const MOST_GROWTH: usize = 2;

/// Compresses texts to their differences from others, for one thread.
#[derive(Default)]
pub struct DeltaCompressor {
    context: Option<CCtx<'static>>,
}

impl fmt::Debug for DeltaCompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeltaCompressor")
    }
}

impl DeltaCompressor {
    /// Appends the difference of `raw` from `base` to `out`, at one of zstd's levels; `false`, and nothing, if `raw` is
    /// too long for that.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if zstd refuses.
    pub fn compress(
        &mut self,
        level: i32,
        base: &[u8],
        raw: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, CodecError> {
        if raw.len() > base.len().saturating_mul(MOST_GROWTH) {
            return Ok(false);
        }
        let start = out.len();
        out.reserve(compress_bound(raw.len()));
        let mut tail = super::zstandard::behind(out);
        let made = context(&mut self.context, CCtx::try_create)?;
        made.compress_using_dict(&mut tail, raw, base, level)
            .map_err(super::zstandard::failed)?;
        out.drain(start..start + FRAME_MAGIC);
        Ok(true)
    }
}

/// Appends the text that `payload` and `base` give, at most `limit` bytes of it.
pub(super) fn expand(
    base: &[u8],
    payload: &[u8],
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let claimed = FrameHead::read(payload).and_then(|head| head.content);
    let claimed = claimed.and_then(|len| usize::try_from(len).ok());
    let claimed = claimed.ok_or_else(|| CodecError::failed("zstd", &"the frame has no length"))?;
    // Memory is reserved by the base's real length, not by the claimed one.
    let limit = limit.min(base.len().saturating_mul(MOST_GROWTH));
    if claimed > limit {
        return Err(CodecError::TooLong { limit });
    }
    let mut made = DCtx::try_create().ok_or_else(|| CodecError::failed("zstd", &"no memory"))?;
    made.set_parameter(DParameter::Format(FrameFormat::Magicless))
        .map_err(super::zstandard::failed)?;
    let start = out.len();
    out.resize(start + claimed, 0);
    let done = made.decompress_using_dict(&mut out[start..], payload, base);
    if done != Ok(claimed) {
        out.truncate(start);
    }
    match done {
        Ok(len) if len == claimed => Ok(()),
        Ok(_) => Err(CodecError::failed("zstd", &"the frame has another length")),
        Err(code) => Err(super::zstandard::failed(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expander;
    use proptest::prelude::*;

    /// Text that does not become much shorter by itself.
    fn text(len: usize) -> Vec<u8> {
        let mut state = 88_172_645_463_325_252_u64;
        let step = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            b' ' + (state % 90) as u8
        };
        (0..len).map(step).collect()
    }

    #[test]
    fn a_small_change_is_a_small_delta_at_every_level_and_length() {
        // Level 1 looks back half a megabyte at most.
        for (len, least) in [(5000, 1), (100_000, 1), (900_000, 3)] {
            let base = text(len);
            let mut raw = base.clone();
            raw[len / 2..len / 2 + 50].copy_from_slice(&[b'#'; 50]);
            for level in [1, 3, 9, 19].into_iter().filter(|level| *level >= least) {
                let mut payload = b"kept".to_vec();
                let mut compressor = DeltaCompressor::default();
                assert!(
                    compressor
                        .compress(level, &base, &raw, &mut payload)
                        .unwrap()
                );
                let payload = payload.strip_prefix(b"kept").unwrap();
                assert!(payload.len() < 200, "{len} at {level}: {}", payload.len());
                let mut back = b"kept".to_vec();
                let mut expander = Expander::new();
                expander
                    .expand_delta(&base, payload, usize::MAX, &mut back)
                    .unwrap();
                assert_eq!(back.strip_prefix(b"kept"), Some(&raw[..]));
                let short = expander.expand_delta(&base, payload, len - 1, &mut back);
                assert_eq!(short, Err(CodecError::TooLong { limit: len - 1 }));
            }
        }
    }

    #[test]
    fn what_is_more_than_twice_as_long_is_no_delta() {
        let mut out = Vec::new();
        let mut compressor = DeltaCompressor::default();
        assert!(
            !compressor
                .compress(3, b"abc", b"abcdefg", &mut out)
                .unwrap()
        );
        assert!(out.is_empty());
        assert!(compressor.compress(3, b"abc", b"abcabc", &mut out).unwrap());
        let expanded = Expander::new().expand_delta(b"ab", &out, 100, &mut Vec::new());
        assert_eq!(expanded, Err(CodecError::TooLong { limit: 4 }));
    }

    proptest! {
        #[test]
        fn damaged_deltas_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
            flips in proptest::collection::vec(any::<usize>(), 1..4),
        ) {
            let base = text(300);
            let mut payload = Vec::new();
            DeltaCompressor::default().compress(3, &base, &base[7..], &mut payload).unwrap();
            for flip in flips {
                let bit = flip % (payload.len() * 8);
                payload[bit / 8] ^= 1 << (bit % 8);
            }
            for hostile in [bytes, payload] {
                let mut out = Vec::new();
                let _ = Expander::new().expand_delta(&base, &hostile, 500, &mut out);
                prop_assert!(out.len() <= 500);
            }
        }
    }
}
