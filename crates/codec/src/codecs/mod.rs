//! The codecs of this build, behind one trait.

mod delta;
mod dictionary;
mod snappy;
mod stored;
mod zlib;
mod zstandard;

use crate::EngineSetting;
use std::fmt;

pub use delta::DeltaCompressor;
pub use dictionary::{Dictionary, DictionaryCompressor, content_len, dictionary_of};

/// Which codec made a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodecId {
    /// Bytes as they are.
    None,
    /// Snappy's raw block format.
    Snappy,
    /// zlib (deflate with header and checksum).
    Zlib,
    /// One zstd frame.
    Zstd,
}

impl CodecId {
    /// Name for tables and messages.
    pub fn name(self) -> &'static str {
        match self {
            CodecId::None => "none",
            CodecId::Snappy => "snappy",
            CodecId::Zlib => "zlib",
            CodecId::Zstd => "zstd",
        }
    }
}

impl fmt::Display for CodecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A chunk could not be compressed or expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The chunk expands past the caller's limit.
    #[error("chunk expands past {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The codec found its data damaged, or refused to work.
    #[error("{codec} failed: {reason}")]
    Failed {
        /// Name of the codec.
        codec: &'static str,
        /// The message of the codec's library.
        reason: String,
    },
    /// The codec exists only for single chunks.
    #[error("{codec} has no streaming form")]
    NoStream {
        /// Name of the codec.
        codec: &'static str,
    },
}

impl CodecError {
    pub(crate) fn failed(codec: &'static str, reason: &dyn fmt::Display) -> Self {
        CodecError::Failed {
            codec,
            reason: reason.to_string(),
        }
    }
}

/// Compresses and expands single chunks, with contexts that are kept between calls.
pub trait Codec: Send {
    /// Appends the compressed form of `raw` to `out`.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if the codec refuses.
    fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Appends the expanded chunk to `out`, at most `limit` bytes of it. Memory is reserved by the output so far, never
    /// by the chunk's claim.
    ///
    /// # Errors
    /// [`CodecError::TooLong`] past the limit, [`CodecError::Failed`] for damaged data.
    fn expand(&mut self, chunk: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), CodecError>;
}

/// One codec at one level, for one thread.
pub struct Compressor {
    setting: EngineSetting,
    codec: Box<dyn Codec>,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compressor({})", self.setting)
    }
}

impl Compressor {
    /// A compressor with fresh contexts.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if a context cannot be had.
    pub fn new(setting: EngineSetting) -> Result<Self, CodecError> {
        Ok(Compressor {
            setting,
            codec: make(setting)?,
        })
    }

    /// A zstd compressor that starts every chunk from `dictionary`.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if a context cannot be had.
    pub fn with_dictionary(level: i32, dictionary: &Dictionary) -> Result<Self, CodecError> {
        let setting = EngineSetting::new(CodecId::Zstd, level)
            .map_err(|expected| CodecError::failed("zstd", &format!("level is not {expected}")))?;
        Ok(Compressor {
            setting,
            codec: Box::new(zstandard::Zstd::with_dictionary(level, dictionary)),
        })
    }

    /// Setting that this compressor was made with.
    pub fn setting(&self) -> EngineSetting {
        self.setting
    }

    /// Appends the compressed form of `raw` to `out`.
    ///
    /// # Errors
    /// See [`Codec::compress`].
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.codec.compress(raw, out)
    }

    /// Expands a chunk of the same codec (and dictionary).
    ///
    /// # Errors
    /// See [`Codec::expand`].
    pub fn expand(
        &mut self,
        chunk: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.codec.expand(chunk, limit, out)
    }
}

/// Expands chunks of any codec, for one thread. Contexts are made when first needed.
#[derive(Default)]
pub struct Expander {
    zlib: Option<Box<dyn Codec>>,
    zstd: Option<Box<dyn Codec>>,
    snappy: Option<Box<dyn Codec>>,
    dictionary: dictionary::DictionaryExpander,
}

impl fmt::Debug for Expander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expander")
    }
}

impl Expander {
    /// An expander without contexts yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the expanded chunk to `out`, at most `limit` bytes of it.
    ///
    /// # Errors
    /// See [`Codec::expand`].
    pub fn expand(
        &mut self,
        codec: CodecId,
        chunk: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let (slot, setting) = match codec {
            CodecId::None => return stored::Stored.expand(chunk, limit, out),
            CodecId::Snappy => (&mut self.snappy, EngineSetting::SNAPPY),
            CodecId::Zlib => (&mut self.zlib, EngineSetting::ZLIB),
            CodecId::Zstd => (&mut self.zstd, EngineSetting::ZSTD),
        };
        match slot {
            Some(kept) => kept.expand(chunk, limit, out),
            None => slot.insert(make(setting)?).expand(chunk, limit, out),
        }
    }
}

impl Expander {
    /// Appends the expanded form of a payload of [`DictionaryCompressor`], at most `limit` bytes of it.
    ///
    /// # Errors
    /// See [`Codec::expand`]; also for another dictionary than the payload's.
    pub fn expand_with(
        &mut self,
        dictionary: &Dictionary,
        payload: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.dictionary.expand(dictionary, payload, limit, out)
    }

    /// Appends the text that a payload of [`DeltaCompressor`] and `base` give, at most `limit` bytes of it.
    ///
    /// # Errors
    /// See [`Codec::expand`].
    pub fn expand_delta(
        &mut self,
        base: &[u8],
        payload: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        delta::expand(base, payload, limit, out)
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

/// The table from setting to implementation.
fn make(setting: EngineSetting) -> Result<Box<dyn Codec>, CodecError> {
    Ok(match setting.codec() {
        CodecId::None => Box::new(stored::Stored),
        CodecId::Snappy => Box::new(snappy::Snappy::new()),
        CodecId::Zlib => Box::new(zlib::Zlib::new(setting.level())),
        CodecId::Zstd => Box::new(zstandard::Zstd::new(setting.level())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every codec at every level goes through this one test.
    fn check(compressor: &mut Compressor, raw: &[u8]) {
        let setting = compressor.setting();
        let mut chunk = b"before".to_vec();
        compressor.compress(raw, &mut chunk).unwrap();
        let chunk = chunk.strip_prefix(b"before").unwrap();
        let mut expander = Expander::new();
        let mut back = b"kept".to_vec();
        expander
            .expand(setting.codec(), chunk, raw.len(), &mut back)
            .unwrap();
        assert_eq!(back.strip_prefix(b"kept"), Some(raw), "{setting}");
        if !raw.is_empty() {
            let short = expander.expand(setting.codec(), chunk, raw.len() - 1, &mut Vec::new());
            assert_eq!(
                short,
                Err(CodecError::TooLong {
                    limit: raw.len() - 1
                }),
                "{setting}"
            );
        }
    }

    #[test]
    fn every_setting_keeps_the_contract() {
        for setting in EngineSetting::all() {
            let mut compressor = Compressor::new(setting).unwrap();
            for raw in [
                &b""[..],
                b"a",
                &[0; 100_000],
                &b"the quick brown fox ".repeat(40),
            ] {
                check(&mut compressor, raw);
            }
        }
    }

    #[test]
    fn a_chunk_that_claims_much_and_holds_little_reserves_little() {
        // A zstd frame header that claims 2^40 bytes of content, then nothing.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0];
        let mut out = Vec::new();
        let error = Expander::new().expand(CodecId::Zstd, &frame, usize::MAX, &mut out);
        assert!(error.is_err());
        assert!(out.capacity() < 1 << 20, "reserved {}", out.capacity());
    }

    #[test]
    fn a_dictionary_helps_small_chunks_and_is_needed_to_read_them() {
        let document = |n: u32| {
            format!("{{\"type\":\"station\",\"category\":\"gamma\",\"level\":{n},\"active\":true}}")
        };
        let samples: Vec<Vec<u8>> = (0..2000).map(|n| document(n * 7919).into_bytes()).collect();
        let dictionary = Dictionary::train(&samples, 4096).unwrap();
        let mut with = Compressor::with_dictionary(3, &dictionary).unwrap();
        let mut without = Compressor::new(EngineSetting::ZSTD).unwrap();
        let raw = document(123_456).into_bytes();
        let (mut small, mut large) = (Vec::new(), Vec::new());
        with.compress(&raw, &mut small).unwrap();
        without.compress(&raw, &mut large).unwrap();
        assert!(
            small.len() < large.len() / 2,
            "{} against {}",
            small.len(),
            large.len()
        );
        let mut back = Vec::new();
        with.expand(&small, raw.len(), &mut back).unwrap();
        assert_eq!(back, raw);
        assert!(
            Expander::new()
                .expand(CodecId::Zstd, &small, 1000, &mut back)
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn damaged_chunks_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut expander = Expander::new();
            for codec in [CodecId::None, CodecId::Snappy, CodecId::Zlib, CodecId::Zstd] {
                let mut out = Vec::new();
                let _ = expander.expand(codec, &bytes, 10_000, &mut out);
                prop_assert!(out.len() <= 10_000);
            }
        }
    }
}
