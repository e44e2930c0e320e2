//! zstd, with both contexts kept between chunks, and dictionaries.

use super::{Codec, CodecError};
use std::io::Cursor;
use std::sync::Arc;
use zstd::zstd_safe::{CCtx, CDict, DCtx, DDict, InBuffer, OutBuffer, ResetDirective};

/// Expanding a frame of known size up to this much is done in one call into reserved memory.
const ONE_CALL: u64 = 1 << 20;

/// Room that is added whenever the output is full.
const STEP: usize = 128 << 10;

pub(super) struct Zstd {
    level: i32,
    /// Both are made when first needed: hardly anybody needs both.
    compress: Option<CCtx<'static>>,
    expand: Option<DCtx<'static>>,
    dictionary: Option<Arc<Loaded>>,
}

/// A trained dictionary; clones share the bytes.
#[derive(Clone, Debug)]
pub struct Dictionary {
    bytes: Arc<[u8]>,
}

struct Loaded {
    bytes: Arc<[u8]>,
    write: CDict<'static>,
    read: DDict<'static>,
}

fn failed(code: usize) -> CodecError {
    CodecError::failed("zstd", &zstd::zstd_safe::get_error_name(code))
}

impl Dictionary {
    /// Trains a dictionary of at most `size` bytes from samples like the chunks to come.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if the samples are too few or too short.
    pub fn train(samples: &[Vec<u8>], size: usize) -> Result<Self, CodecError> {
        let bytes =
            zstd::dict::from_samples(samples, size).map_err(|e| CodecError::failed("zstd", &e))?;
        Ok(Self::from_bytes(&bytes))
    }

    /// A dictionary that was trained before.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Dictionary {
            bytes: bytes.into(),
        }
    }

    /// The bytes to store.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn codec(&self, level: i32) -> Result<Zstd, CodecError> {
        let write = CDict::create(&self.bytes, level);
        let loaded = Loaded {
            bytes: self.bytes.clone(),
            write,
            read: DDict::create(&self.bytes),
        };
        Ok(Zstd {
            dictionary: Some(Arc::new(loaded)),
            ..Zstd::new(level)
        })
    }
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
}

/// The context in `slot`, made if it is not there yet.
fn context<T>(slot: &mut Option<T>, make: fn() -> Option<T>) -> Result<&mut T, CodecError> {
    if slot.is_none() {
        *slot = make();
    }
    slot.as_mut()
        .ok_or_else(|| CodecError::failed("zstd", &"no memory for a context"))
}

/// Writes behind what `out` holds.
fn behind(out: &mut Vec<u8>) -> Cursor<&mut Vec<u8>> {
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
        let done = match self.dictionary.as_deref() {
            None => compress.compress(&mut tail, raw, self.level),
            Some(loaded) => compress.compress_using_cdict(&mut tail, raw, &loaded.write),
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
            let done = match self.dictionary.as_deref() {
                None => expand.decompress(&mut tail, chunk),
                Some(loaded) => expand.decompress_using_ddict(&mut tail, chunk, &loaded.read),
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
        if let Some(loaded) = self.dictionary.as_deref() {
            expand.load_dictionary(&loaded.bytes).map_err(failed)?;
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
