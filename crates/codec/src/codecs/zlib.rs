//! zlib, with both contexts kept between chunks.
//!
//! libdeflate, because whole chunks are at hand: at every level it makes them smaller than zlib
//! itself in a fraction of the time. (Codecs that are made for streams, and the faster heirs of
//! zlib, give up size at level 1.)

use super::{Codec, CodecError};
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

pub(super) struct Zlib {
    level: CompressionLvl,
    /// Made when first needed: readers compress nothing.
    deflate: Option<Compressor>,
    inflate: Decompressor,
}

impl Zlib {
    pub(super) fn new(level: i32) -> Self {
        let level = LEVELS.get(level.unsigned_abs() as usize).copied();
        Zlib {
            level: CompressionLvl::new(level.unwrap_or(9)).unwrap_or_default(),
            deflate: None,
            inflate: Decompressor::new(),
        }
    }
}

/// For each level of zlib, the level of libdeflate that makes chunks at least as small.
const LEVELS: [i32; 10] = [0, 1, 2, 4, 5, 6, 7, 8, 9, 9];

/// Least room for an expanded chunk.
const STEP: usize = 4096;

/// Longest output that one byte of deflate can stand for.
const MOST_EXPANSION: usize = 1032;

impl Codec for Zlib {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let deflate = self
            .deflate
            .get_or_insert_with(|| Compressor::new(self.level));
        let start = out.len();
        out.resize(start + deflate.zlib_compress_bound(raw.len()), 0);
        let made = deflate.zlib_compress(raw, &mut out[start..]);
        out.truncate(start + *made.as_ref().unwrap_or(&0));
        made.map(drop)
            .map_err(|error| CodecError::failed("zlib", &error))
    }

    fn expand(&mut self, chunk: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let start = out.len();
        // One byte past the limit is asked for, to tell "exactly full" from "too long".
        let honest = (chunk.len() + 1).saturating_mul(MOST_EXPANSION);
        let most = limit.saturating_add(1).min(honest);
        let mut room = chunk.len().saturating_mul(4).max(STEP).min(most);
        loop {
            out.resize(start + room, 0);
            let made = self.inflate.zlib_decompress(chunk, &mut out[start..]);
            out.truncate(start + *made.as_ref().unwrap_or(&0));
            match made {
                Ok(len) if len <= limit => return Ok(()),
                Err(DecompressionError::InsufficientSpace) if room < most => {
                    // It starts again, so that the steps are large.
                    room = room.saturating_mul(4).min(most);
                }
                Err(DecompressionError::BadData) => {
                    return Err(CodecError::failed("zlib", &"the chunk is damaged or cut"));
                }
                Ok(_) | Err(DecompressionError::InsufficientSpace) => {
                    out.truncate(start + limit.min(out.len() - start));
                    return Err(CodecError::TooLong { limit });
                }
            }
        }
    }
}
