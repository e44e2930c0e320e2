//! zlib, with both contexts kept between chunks.

use super::{Codec, CodecError};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

pub(super) struct Zlib {
    deflate: Compress,
    inflate: Decompress,
}

impl Zlib {
    pub(super) fn new(level: i32) -> Self {
        let level = Compression::new(level.unsigned_abs());
        Zlib {
            deflate: Compress::new(level, true),
            inflate: Decompress::new(true),
        }
    }
}

/// Room that is added whenever the output is full.
const STEP: usize = 4096;

/// Longest output that one byte of deflate can stand for.
const MOST_EXPANSION: usize = 1032;

impl Codec for Zlib {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.deflate.reset();
        // zlib's own bound, so that one call nearly always suffices.
        out.reserve(raw.len() + (raw.len() >> 12) + (raw.len() >> 14) + 32);
        loop {
            let taken = usize::try_from(self.deflate.total_in()).unwrap_or(raw.len());
            let status = self
                .deflate
                .compress_vec(&raw[taken..], out, FlushCompress::Finish)
                .map_err(|e| CodecError::failed("zlib", &e))?;
            if status == Status::StreamEnd {
                return Ok(());
            }
            out.reserve(STEP);
        }
    }

    fn expand(&mut self, chunk: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.inflate.reset(true);
        let start = out.len();
        loop {
            let made = out.len() - start;
            let taken = usize::try_from(self.inflate.total_in()).unwrap_or(chunk.len());
            // One byte past the limit is asked for, to tell "exactly full" from "too long".
            let most = (limit - made).saturating_add(1);
            let likely = chunk
                .len()
                .saturating_sub(taken)
                .saturating_mul(4)
                .max(STEP);
            let room = most
                .min(likely)
                .min((chunk.len() + 1).saturating_mul(MOST_EXPANSION));
            out.resize(start + made + room, 0);
            let before = self.inflate.total_out();
            let target = &mut out[start + made..];
            let result = self
                .inflate
                .decompress(&chunk[taken..], target, FlushDecompress::Finish);
            let got = usize::try_from(self.inflate.total_out() - before).unwrap_or(0);
            out.truncate(start + made + got);
            if out.len() - start > limit {
                out.truncate(start + limit);
                return Err(CodecError::TooLong { limit });
            }
            match result.map_err(|e| CodecError::failed("zlib", &e))? {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError if got == room => {}
                Status::Ok | Status::BufError => {
                    return Err(CodecError::failed("zlib", &"the chunk ends in the middle"));
                }
            }
        }
    }
}
