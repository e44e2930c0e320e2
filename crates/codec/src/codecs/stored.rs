//! Bytes as they are.

use super::{Codec, CodecError};

pub(super) struct Stored;

impl Codec for Stored {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(raw);
        Ok(())
    }

    fn expand(&mut self, chunk: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
        if chunk.len() > limit {
            return Err(CodecError::TooLong { limit });
        }
        out.extend_from_slice(chunk);
        Ok(())
    }
}
