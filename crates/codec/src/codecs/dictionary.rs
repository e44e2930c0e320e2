//! Trained dictionaries, and short runs of bytes compressed with them.
//!
//! ```text
//! dictionary  byte 0           4        8
//!                  +-----------+--------+--------------------------+
//!                  | 37a430ec  | number | zstd's tables and content |
//!                  +-----------+--------+--------------------------+
//! payload     +-----------------------------------------------------+
//!             | one zstd frame, without the four bytes of its magic |
//!             +-----------------------------------------------------+
//! ```
//! The number is the dictionary's id in the frame's head, so a payload names its dictionary. The
//! frame's head also says how long the content is.

use super::{CodecError, context};
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, OnceLock};
use zstd::zstd_safe::{CCtx, CDict, DCtx, DDict, DParameter, FrameFormat, compress_bound};

/// First bytes of trained dictionaries.
const MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];
/// Where their number stands.
const NUMBER: std::ops::Range<usize> = 4..8;
/// Length of the magic number that a frame begins with elsewhere.
pub(super) const FRAME_MAGIC: usize = 4;

/// A trained dictionary; clones share it, and the contexts made of it for reading and writing.
#[derive(Clone)]
pub struct Dictionary {
    shared: Arc<Shared>,
}

struct Shared {
    bytes: Vec<u8>,
    read: OnceLock<Option<DDict<'static>>>,
    /// For each level that was asked for.
    write: Mutex<Vec<(i32, Arc<CDict<'static>>)>>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.shared.bytes.len();
        write!(f, "Dictionary({}, {len} bytes)", self.number())
    }
}

fn unusable() -> CodecError {
    CodecError::failed("zstd", &"the dictionary cannot be used")
}

impl Dictionary {
    /// Trains a dictionary of at most `size` bytes from samples like the chunks to come. The same
    /// samples give the same dictionary.
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
        let shared = Shared {
            bytes: bytes.to_vec(),
            read: OnceLock::new(),
            write: Mutex::default(),
        };
        Dictionary {
            shared: Arc::new(shared),
        }
    }

    /// The same under another number, at least 1, by which payloads name it.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if it is no trained dictionary.
    pub fn with_number(&self, number: u32) -> Result<Self, CodecError> {
        let mut bytes = self.shared.bytes.clone();
        if number == 0 || !bytes.starts_with(&MAGIC) || bytes.len() < NUMBER.end {
            return Err(unusable());
        }
        bytes[NUMBER].copy_from_slice(&number.to_le_bytes());
        Ok(Self::from_bytes(&bytes))
    }

    /// Its number; 0 if it has none.
    pub fn number(&self) -> u32 {
        match self.shared.bytes.get(NUMBER) {
            Some(&[a, b, c, d]) if self.shared.bytes.starts_with(&MAGIC) => {
                u32::from_le_bytes([a, b, c, d])
            }
            _ => 0,
        }
    }

    /// The bytes to store.
    pub fn bytes(&self) -> &[u8] {
        &self.shared.bytes
    }

    pub(super) fn reader(&self) -> Result<&DDict<'static>, CodecError> {
        let made = self
            .shared
            .read
            .get_or_init(|| DDict::try_create(self.bytes()));
        made.as_ref().ok_or_else(unusable)
    }

    pub(super) fn writer(&self, level: i32) -> Result<Arc<CDict<'static>>, CodecError> {
        let mut made = self.shared.write.lock();
        if let Some((_, known)) = made.iter().find(|(of, _)| *of == level) {
            return Ok(Arc::clone(known));
        }
        let new = CDict::try_create(self.bytes(), level).ok_or_else(unusable)?;
        let new = Arc::new(new);
        made.push((level, Arc::clone(&new)));
        Ok(new)
    }
}

/// Compresses short runs of bytes with a dictionary, for one thread.
pub struct DictionaryCompressor {
    level: i32,
    dictionary: Dictionary,
    writer: Arc<CDict<'static>>,
    context: Option<CCtx<'static>>,
}

impl fmt::Debug for DictionaryCompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DictionaryCompressor({:?})", self.dictionary)
    }
}

impl DictionaryCompressor {
    /// Longest content that a dictionary is used for; longer content has enough of its own.
    pub const LONGEST: usize = 64 << 10;

    /// A compressor at one of zstd's levels.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if the dictionary is none, or has no number.
    pub fn new(level: i32, dictionary: &Dictionary) -> Result<Self, CodecError> {
        if dictionary.number() == 0 {
            return Err(unusable());
        }
        Ok(DictionaryCompressor {
            level,
            dictionary: dictionary.clone(),
            writer: dictionary.writer(level)?,
            context: None,
        })
    }

    /// The level that it was made with.
    pub fn level(&self) -> i32 {
        self.level
    }

    /// The dictionary that it was made with.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Appends the payload that `raw` makes to `out`.
    ///
    /// # Errors
    /// [`CodecError::TooLong`] past [`DictionaryCompressor::LONGEST`], [`CodecError::Failed`] if
    /// zstd refuses.
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let limit = Self::LONGEST;
        if raw.len() > limit {
            return Err(CodecError::TooLong { limit });
        }
        let start = out.len();
        out.reserve(compress_bound(raw.len()));
        let mut tail = super::zstandard::behind(out);
        let made = context(&mut self.context, CCtx::try_create)?;
        made.compress_using_cdict(&mut tail, raw, &self.writer)
            .map_err(super::zstandard::failed)?;
        out.drain(start..start + FRAME_MAGIC);
        Ok(())
    }
}

/// The number of the dictionary that a payload needs; `None` if it names none.
pub fn dictionary_of(payload: &[u8]) -> Option<u32> {
    let head = FrameHead::read(payload)?;
    Some(head.dictionary).filter(|number| *number != 0)
}

/// Length of the content of a whole zstd frame, with its magic number, if its head says it.
pub fn content_len(frame: &[u8]) -> Option<u64> {
    FrameHead::read(frame.get(FRAME_MAGIC..)?)?.content
}

/// Fields of a frame's head, behind the magic number.
pub(super) struct FrameHead {
    dictionary: u32,
    /// Length of the content, if it is there.
    pub(super) content: Option<u64>,
}

impl FrameHead {
    pub(super) fn read(payload: &[u8]) -> Option<FrameHead> {
        let (&flags, rest) = payload.split_first()?;
        let is_single = flags & 0x20 != 0;
        let rest = rest.get(usize::from(!is_single)..)?;
        let number = |bytes: &[u8]| {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(wide)
        };
        let (dictionary, rest) = rest.split_at_checked([0, 1, 2, 4][usize::from(flags & 3)])?;
        let len = match flags >> 6 {
            0 => usize::from(is_single),
            bits => 1 << bits,
        };
        let content = rest.get(..len)?;
        // Two bytes begin to count where one ends.
        let least = if len == 2 { 256 } else { 0 };
        Some(FrameHead {
            // At most four bytes.
            dictionary: number(dictionary) as u32,
            content: (len > 0).then(|| number(content).saturating_add(least)),
        })
    }
}

/// Expands payloads of [`DictionaryCompressor`], for one thread.
#[derive(Default)]
pub(super) struct DictionaryExpander {
    context: Option<DCtx<'static>>,
}

impl DictionaryExpander {
    pub(super) fn expand(
        &mut self,
        dictionary: &Dictionary,
        payload: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let claimed = FrameHead::read(payload).and_then(|head| head.content);
        let claimed = claimed.and_then(|len| usize::try_from(len).ok());
        let claimed =
            claimed.ok_or_else(|| CodecError::failed("zstd", &"the frame has no length"))?;
        // Nothing is longer that is compressed so, and this much may be reserved.
        let limit = limit.min(DictionaryCompressor::LONGEST);
        if claimed > limit {
            return Err(CodecError::TooLong { limit });
        }
        if self.context.is_none() {
            let mut made =
                DCtx::try_create().ok_or_else(|| CodecError::failed("zstd", &"no memory"))?;
            made.set_parameter(DParameter::Format(FrameFormat::Magicless))
                .map_err(super::zstandard::failed)?;
            self.context = Some(made);
        }
        let made = context(&mut self.context, DCtx::try_create)?;
        let reader = dictionary.reader()?;
        let start = out.len();
        // Exactly so much, that a frame which holds more is refused.
        out.resize(start + claimed, 0);
        let done = made.decompress_using_ddict(&mut out[start..], payload, reader);
        if done != Ok(claimed) {
            out.truncate(start);
        }
        match done {
            Ok(len) if len == claimed => Ok(()),
            Ok(_) => Err(CodecError::failed("zstd", &"the frame has another length")),
            Err(code) => Err(super::zstandard::failed(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expander;
    use proptest::prelude::*;

    fn document(number: u32) -> Vec<u8> {
        let text = format!(
            "{{\"type\":\"station\",\"category\":\"gamma\",\"level\":{number},\"active\":true}}"
        );
        text.into_bytes()
    }

    fn trained() -> Dictionary {
        let samples: Vec<_> = (0..2000).map(|number| document(number * 7919)).collect();
        let again = Dictionary::train(&samples, 4096).unwrap();
        let dictionary = Dictionary::train(&samples, 4096).unwrap();
        assert_eq!(
            again.bytes(),
            dictionary.bytes(),
            "training is no game of dice"
        );
        dictionary
    }

    #[test]
    fn payloads_name_their_dictionary_and_come_back() {
        let mut expander = Expander::new();
        for number in [1, 77, 255, 256, 65_535, 65_536, u32::MAX] {
            let dictionary = trained().with_number(number).unwrap();
            let mut compressor = DictionaryCompressor::new(3, &dictionary).unwrap();
            for raw in [
                &b""[..],
                b"x",
                &document(12),
                &document(3).repeat(9),
                &[7; 65_536],
            ] {
                let mut payload = Vec::new();
                compressor.compress(raw, &mut payload).unwrap();
                assert_eq!(dictionary_of(&payload), Some(number));
                let mut back = b"kept".to_vec();
                expander
                    .expand_with(&dictionary, &payload, 1 << 20, &mut back)
                    .unwrap();
                assert_eq!(back.strip_prefix(b"kept"), Some(raw));
                for len in 0..payload.len() {
                    let cut = &payload[..len];
                    let done = expander.expand_with(&dictionary, cut, 1 << 20, &mut back);
                    assert!(done.is_err(), "cut at {len}");
                }
            }
        }
        let numbered = trained().with_number(1).unwrap();
        let mut compressor = DictionaryCompressor::new(3, &numbered).unwrap();
        assert!(compressor.compress(&[7; 65_537], &mut Vec::new()).is_err());
    }

    #[test]
    fn what_is_no_dictionary_is_refused() {
        let other = Dictionary::from_bytes(b"{\"no\":\"dictionary\"}");
        assert_eq!(other.number(), 0);
        assert!(other.with_number(1).is_err());
        assert!(DictionaryCompressor::new(3, &other).is_err());
        let mut broken = trained().with_number(5).unwrap().bytes().to_vec();
        broken.truncate(20);
        let broken = Dictionary::from_bytes(&broken);
        assert!(DictionaryCompressor::new(3, &broken).is_err());
        let expanded = Expander::new().expand_with(&broken, &[0x20, 0], 10, &mut Vec::new());
        assert!(expanded.is_err());
    }

    static DICTIONARY: OnceLock<Dictionary> = OnceLock::new();

    proptest! {
        #[test]
        fn damaged_payloads_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..60),
            flips in proptest::collection::vec(any::<usize>(), 1..4),
        ) {
            let dictionary = DICTIONARY.get_or_init(|| trained().with_number(1).unwrap());
            let mut compressor = DictionaryCompressor::new(3, dictionary).unwrap();
            let mut payload = Vec::new();
            compressor.compress(&document(5), &mut payload).unwrap();
            for flip in flips {
                let bit = flip % (payload.len() * 8);
                payload[bit / 8] ^= 1 << (bit % 8);
            }
            let mut expander = Expander::new();
            for hostile in [bytes, payload] {
                let mut out = Vec::new();
                let _ = expander.expand_with(dictionary, &hostile, 500, &mut out);
                prop_assert!(out.len() <= 500);
            }
        }
    }
}
