//! zstd, with both contexts kept between chunks.

use super::{Codec, CodecError, Dictionary, context};
use std::io::Cursor;
use zstd::zstd_safe::{CCtx, DCtx, InBuffer, OutBuffer, ResetDirective};

/// Expanding a frame of known size up to this much is done in one call into reserved memory.
const ONE_CALL: u64 = 1 << 20;

/// Room that is added whenever the output is full.
const STEP: usize = 128 << 10;

pub(super) struct Zstd {
    level: i32,
    /// Both contexts are made when first needed: few callers need both.
    compress: Option<CCtx<'static>>,
    expand: Option<DCtx<'static>>,
    dictionary: Option<Dictionary>,
}

pub(super) fn failed(code: usize) -> CodecError {
    CodecError::failed("zstd", &zstd::zstd_safe::get_error_name(code))
}

impl Zstd {
    pub(super) fn new(level: i32) -> Self {
        Zstd {
            level,
            compress: None,
            expand: None,
            dictionary: None,
        }
    }

    /// Starts every chunk from a dictionary.
    pub(super) fn with_dictionary(level: i32, dictionary: &Dictionary) -> Self {
        Zstd {
            dictionary: Some(dictionary.clone()),
            ..Zstd::new(level)
        }
    }
}

/// Writes behind the content of `out`.
pub(super) fn behind(out: &mut Vec<u8>) -> Cursor<&mut Vec<u8>> {
    let end = out.len() as u64;
    let mut cursor = Cursor::new(out);
    cursor.set_position(end);
    cursor
}

impl Codec for Zstd {
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        let mut tail = behind(out);
        let compress = context(&mut self.compress, CCtx::try_create)?;
        let done = match &self.dictionary {
            None => compress.compress(&mut tail, raw, self.level),
            Some(loaded) => {
                compress.compress_using_cdict(&mut tail, raw, &*loaded.writer(self.level)?)
            }
        };
        done.map(|_| ()).map_err(failed)
    }

    fn expand(&mut self, chunk: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let claimed = zstd::zstd_safe::get_frame_content_size(chunk)
            .ok()
            .flatten();
        if claimed.is_some_and(|size| size > limit as u64) && limit < usize::MAX {
            return Err(CodecError::TooLong { limit });
        }
        if let Some(size) = claimed.filter(|&size| size <= ONE_CALL) {
            out.reserve(usize::try_from(size).unwrap_or(0));
            let mut tail = behind(out);
            let expand = context(&mut self.expand, DCtx::try_create)?;
            let done = match &self.dictionary {
                None => expand.decompress(&mut tail, chunk),
                Some(loaded) => expand.decompress_using_ddict(&mut tail, chunk, loaded.reader()?),
            };
            return done.map(|_| ()).map_err(failed);
        }
        self.expand_unknown(chunk, limit, out)
    }
}

impl Zstd {
    /// For frames without a size (written by streaming) and for those that claim much.
    fn expand_unknown(
        &mut self,
        chunk: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let expand = context(&mut self.expand, DCtx::try_create)?;
        expand.reset(ResetDirective::SessionOnly).map_err(failed)?;
        if let Some(loaded) = &self.dictionary {
            expand.load_dictionary(loaded.bytes()).map_err(failed)?;
        }
        let start = out.len();
        let mut input = InBuffer::around(chunk);
        loop {
            let made = out.len() - start;
            out.reserve(STEP);
            let before = (made, input.pos);
            let mut tail = behind(out);
            let mut output = OutBuffer::around(&mut tail);
            let left = expand
                .decompress_stream(&mut output, &mut input)
                .map_err(failed)?;
            if out.len() - start > limit {
                out.truncate(start + limit);
                return Err(CodecError::TooLong { limit });
            }
            if left == 0 {
                return Ok(());
            }
            if (out.len() - start, input.pos) == before {
                return Err(CodecError::failed("zstd", &"the chunk ends in the middle"));
            }
        }
    }
}
