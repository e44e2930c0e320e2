//! A chunk as stored: its first byte names the compression of the rest.
//!
//! ```text
//! (nothing)   the empty text or patch
//! \0 …        as it is, the zero byte included
//! u  …        as it is, without the `u`
//! x  …        a zlib stream, the `x` included
//! (  …        a zstd frame, the `(` included
//! ```

use varve_codec::{CodecError, CodecId, Compressor, EngineSetting, Expander};

const ZERO: u8 = 0;
const PLAIN: u8 = b'u';
const ZLIB: u8 = b'x';
const ZSTD: u8 = b'(';

/// Shorter texts are not tried, as Mercurial does.
const LEAST_FOR_ZLIB: usize = 44;
const LEAST_FOR_ZSTD: usize = 50;

/// zstd's levels do less for short inputs than they promise for long ones. Deltas of manifests,
/// which no diff makes shorter, are of this length.
const SHORT: usize = 2 << 10;
const MORE_FOR_SHORT: i32 = 2;
const HIGHEST_FOR_SHORT: i32 = 7;

/// Compresses chunks with one engine.
#[derive(Debug)]
pub struct Packer {
    engine: EngineSetting,
    long: Compressor,
    /// For zstd at low levels: a little more work on short chunks, which are most of a store, and
    /// take next to no time at any of these levels.
    short: Option<Compressor>,
}

impl Packer {
    /// A packer with fresh contexts.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if a context cannot be had.
    pub fn new(engine: EngineSetting) -> Result<Packer, CodecError> {
        let level = match engine.level() {
            0 => EngineSetting::ZSTD.level(),
            level => level,
        };
        let higher = match engine.codec() {
            CodecId::Zstd if level < HIGHEST_FOR_SHORT => {
                EngineSetting::new(CodecId::Zstd, level + MORE_FOR_SHORT).ok()
            }
            _ => None,
        };
        Ok(Packer {
            engine,
            long: Compressor::new(engine)?,
            short: higher.map(Compressor::new).transpose()?,
        })
    }

    /// Engine of the packer.
    pub fn engine(&self) -> EngineSetting {
        self.engine
    }

    /// As [`pack`].
    ///
    /// # Errors
    /// See [`pack`].
    pub fn pack(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let short = self.short.as_mut().filter(|_| raw.len() < SHORT);
        pack(raw, short.unwrap_or(&mut self.long), out)
    }
}

/// Why a chunk does not expand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The first byte is none of those above.
    #[error("unknown chunk type {0:#04x}; this program knows plain, zlib and zstd chunks")]
    UnknownType(u8),
    /// The codec refuses.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// Appends the expanded content of `chunk` to `out`, at most `limit` bytes.
///
/// # Errors
/// [`ChunkError`].
pub fn expand(
    chunk: &[u8],
    limit: usize,
    expander: &mut Expander,
    out: &mut Vec<u8>,
) -> Result<(), ChunkError> {
    let (codec, packed) = match chunk {
        [] => return Ok(()),
        [ZERO, ..] => (CodecId::None, chunk),
        [PLAIN, plain @ ..] => (CodecId::None, plain),
        [ZLIB, ..] => (CodecId::Zlib, chunk),
        [ZSTD, ..] => (CodecId::Zstd, chunk),
        [other, ..] => return Err(ChunkError::UnknownType(*other)),
    };
    Ok(expander.expand(codec, packed, limit, out)?)
}

/// Appends the smallest of the forms that `compressor` can make of `raw` to `out`.
///
/// # Errors
/// Errors of the codec; a codec that revlogs do not know counts as none.
pub fn pack(raw: &[u8], compressor: &mut Compressor, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let least = match compressor.setting().codec() {
        CodecId::Zlib => LEAST_FOR_ZLIB,
        CodecId::Zstd => LEAST_FOR_ZSTD,
        CodecId::None | CodecId::Snappy => usize::MAX,
    };
    let start = out.len();
    if raw.len() >= least {
        compressor.compress(raw, out)?;
        if out.len() - start < raw.len() {
            return Ok(());
        }
        out.truncate(start);
    }
    if raw.first().is_some_and(|first| *first != ZERO) {
        out.push(PLAIN);
    }
    out.extend_from_slice(raw);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unknown_types_are_named() {
        let result = expand(b"?x", 10, &mut Expander::new(), &mut Vec::new());
        assert_eq!(result, Err(ChunkError::UnknownType(b'?')));
    }

    proptest! {
        #[test]
        fn what_is_packed_expands(raw in proptest::collection::vec(0_u8..4, 0..200)) {
            for setting in [EngineSetting::NONE, EngineSetting::ZLIB, EngineSetting::ZSTD] {
                let mut compressor = Compressor::new(setting).unwrap();
                let (mut chunk, mut back) = (Vec::new(), Vec::new());
                pack(&raw, &mut compressor, &mut chunk).unwrap();
                prop_assert!(chunk.len() <= raw.len() + 1);
                expand(&chunk, raw.len(), &mut Expander::new(), &mut back).unwrap();
                prop_assert_eq!(&back, &raw);
                (chunk, back) = (Vec::new(), Vec::new());
                Packer::new(setting).unwrap().pack(&raw, &mut chunk).unwrap();
                prop_assert!(chunk.len() <= raw.len() + 1);
                expand(&chunk, raw.len(), &mut Expander::new(), &mut back).unwrap();
                prop_assert_eq!(&back, &raw);
            }
        }
    }
}
