//! Snappy's raw block format.

use super::{Codec, CodecError};

/// No snappy element is shorter than 3 bytes per 64 bytes of output, so a claim of more than this
/// many times the chunk's length is a lie.
const MOST_EXPANSION: usize = 64;

pub(super) struct Snappy {
    encoder: snap::raw::Encoder,
    decoder: snap::raw::Decoder,
}

impl Snappy {
    pub(super) fn new() -> Self {
        Snappy {
            encoder: snap::raw::Encoder::new(),
            decoder: snap::raw::Decoder::new(),
        }
    }
}

fn failed(error: &snap::Error) -> CodecError {
    CodecError::failed("snappy", error)
}

impl Codec for Snappy {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let start = out.len();
        out.resize(start + snap::raw::max_compress_len(raw.len()), 0);
        let wrote = self
            .encoder
            .compress(raw, &mut out[start..])
            .map_err(|e| failed(&e))?;
        out.truncate(start + wrote);
        Ok(())
    }

    fn expand(&mut self, chunk: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let claimed = snap::raw::decompress_len(chunk).map_err(|e| failed(&e))?;
        if claimed > limit {
            return Err(CodecError::TooLong { limit });
        }
        if claimed > chunk.len().saturating_mul(MOST_EXPANSION) {
            return Err(CodecError::failed(
                "snappy",
                &"the chunk claims more than it can hold",
            ));
        }
        let start = out.len();
        out.resize(start + claimed, 0);
        let result = self.decoder.decompress(chunk, &mut out[start..]);
        let kept = *result.as_ref().unwrap_or(&0);
        out.truncate(start + kept);
        result.map(|_| ()).map_err(|e| failed(&e))
    }
}
