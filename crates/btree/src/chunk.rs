//! A chunk: a run of bytes compressed on its own.
//!
//! ```text
//! byte 0             4       5          13
//!      +-------------+-------+----------+------------------+
//!      | payload len | codec | checksum | payload …        |
//!      | u32         | u8    | xxh3 u64 | len bytes        |
//!      +-------------+-------+----------+------------------+
//! ```
//! Numbers are little-endian. Codec: 0 none, 1 snappy, 2 zlib, 3 zstd, 4 zstd with a dictionary
//! (drawn in `varve_codec`, module `dictionary`), 5 a delta (drawn in module `delta`). The checksum covers the payload, seeded with the five bytes before it as a number. A payload that compression would
//! not make shorter is stored with codec none.

use crate::dictionaries::Dictionaries;
use crate::error::check_len;
use crate::{ChunkForm, TreeError};
use std::path::Path;
use varve_codec::{CodecId, Compressor, Dictionary, DictionaryCompressor, Expander, dictionary_of};
use xxhash_rust::xxh3::xxh3_64_with_seed;

mod at {
    pub const LEN: usize = 0;
    pub const CODEC: usize = LEN + 4;
    pub const CHECKSUM: usize = CODEC + 1;
}

/// Length of the head in front of the payload.
pub(crate) const CHUNK_HEAD: usize = at::CHECKSUM + 8;
const _: () = assert!(CHUNK_HEAD == 13);

/// Longest content of one chunk, in bytes before compression.
pub const MAX_RAW: usize = 256 << 20;

/// Where a chunk stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkRef {
    /// Position of its first byte in the file.
    pub offset: u64,
    /// Length in bytes as stored, with the chunk's head.
    pub len: u32,
}

impl ChunkRef {
    /// The position behind the chunk; `None` on overflow, which means damage.
    pub(crate) fn end(self) -> Option<u64> {
        self.offset.checked_add(u64::from(self.len))
    }
}

/// A chunk ready to be appended; any thread can make it before the writer sees it.
#[derive(Clone, Debug)]
pub struct EncodedChunk {
    bytes: Vec<u8>,
}

impl EncodedChunk {
    /// Compresses `raw`.
    ///
    /// # Errors
    /// [`TreeError::TooLong`] past [`MAX_RAW`], [`TreeError::Compress`] if the codec refuses.
    pub fn encode(compressor: &mut Compressor, raw: &[u8]) -> Result<Self, TreeError> {
        let mut bytes = Vec::new();
        encode_into(compressor, raw, &mut bytes)?;
        Ok(EncodedChunk { bytes })
    }

    /// Compresses `raw`, at most [`DictionaryCompressor::LONGEST`] bytes, with a dictionary. Readers of the file must
    /// know the dictionary by its number.
    ///
    /// # Errors
    /// [`TreeError::Compress`] if the codec refuses.
    pub fn encode_short(
        compressor: &mut DictionaryCompressor,
        raw: &[u8],
    ) -> Result<Self, TreeError> {
        let mut bytes = vec![0; CHUNK_HEAD];
        compressor
            .compress(raw, &mut bytes)
            .map_err(TreeError::Compress)?;
        let mut form = ChunkForm::Dictionary;
        if bytes.len() - CHUNK_HEAD >= raw.len() {
            bytes.truncate(CHUNK_HEAD);
            bytes.extend_from_slice(raw);
            form = ChunkForm::Plain(CodecId::None);
        }
        put_head(form, &mut bytes);
        Ok(EncodedChunk { bytes })
    }

    /// The content of a chunk that was made with this dictionary.
    ///
    /// # Errors
    /// [`TreeError::Compress`] if it was not.
    pub fn expand_with(&self, dictionary: &Dictionary) -> Result<Vec<u8>, TreeError> {
        let (payload, mut out) = (&self.bytes[CHUNK_HEAD..], Vec::new());
        let done = Expander::new().expand_with(dictionary, payload, MAX_RAW, &mut out);
        done.map(|()| out).map_err(TreeError::Compress)
    }

    pub(crate) fn of_payload(form: ChunkForm, payload: &[u8]) -> Self {
        let mut bytes = vec![0; CHUNK_HEAD];
        bytes.extend_from_slice(payload);
        put_head(form, &mut bytes);
        EncodedChunk { bytes }
    }

    /// A chunk of another file, with its head.
    pub(crate) fn of_stored(bytes: &[u8]) -> Self {
        EncodedChunk {
            bytes: bytes.to_vec(),
        }
    }

    /// Length in bytes as it will be stored.
    pub fn stored_len(&self) -> usize {
        self.bytes.len()
    }

    /// How its content is stored.
    pub fn form(&self) -> ChunkForm {
        form_of(&self.bytes)
    }

    /// The number of the dictionary that it needs.
    pub fn dictionary(&self) -> Option<u32> {
        dictionary_in(self.form(), &self.bytes[CHUNK_HEAD..])
    }

    /// The bytes as they will stand in the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Appends `raw` as a chunk to `out`; returns the chunk's length.
pub(crate) fn encode_into(
    compressor: &mut Compressor,
    raw: &[u8],
    out: &mut Vec<u8>,
) -> Result<u32, TreeError> {
    check_len("chunk", raw.len(), MAX_RAW)?;
    let start = out.len();
    let payload_at = start + CHUNK_HEAD;
    out.resize(payload_at, 0);
    let mut codec = compressor.setting().codec();
    if codec != CodecId::None {
        compressor.compress(raw, out).map_err(TreeError::Compress)?;
        if out.len() - payload_at >= raw.len() {
            out.truncate(payload_at);
            codec = CodecId::None;
        }
    }
    if codec == CodecId::None {
        out.extend_from_slice(raw);
    }
    // `raw` is at most MAX_RAW and the payload is not longer.
    let len = (out.len() - start) as u32;
    put_head(ChunkForm::Plain(codec), &mut out[start..]);
    Ok(len)
}

/// Fills in the head of a chunk whose payload stands behind it.
fn put_head(form: ChunkForm, chunk: &mut [u8]) {
    let (head, payload) = chunk.split_at_mut(CHUNK_HEAD);
    let (len, tag) = (payload.len() as u32, form.tag());
    let checksum = xxh3_64_with_seed(payload, seed(len, tag));
    head[at::LEN..at::CODEC].copy_from_slice(&len.to_le_bytes());
    head[at::CODEC] = tag;
    head[at::CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
}

/// The number of the dictionary that a payload needs.
pub(crate) fn dictionary_in(form: ChunkForm, payload: &[u8]) -> Option<u32> {
    match form {
        ChunkForm::Dictionary => dictionary_of(payload),
        ChunkForm::Plain(_) | ChunkForm::Delta => None,
    }
}

/// The checksum's seed: length and codec cannot be damaged unseen either.
fn seed(len: u32, tag: u8) -> u64 {
    u64::from(len) | u64::from(tag) << 32
}

/// The form of a chunk that this build made or has checked.
pub(crate) fn form_of(stored: &[u8]) -> ChunkForm {
    let tag = stored.get(at::CODEC).copied();
    tag.and_then(ChunkForm::of_tag)
        .unwrap_or(ChunkForm::Plain(CodecId::None))
}

/// Context of a chunk that is read: its limits, and its place for messages.
#[derive(Clone, Copy)]
pub(crate) struct ChunkContext<'p> {
    pub(crate) dictionaries: &'p Dictionaries,
    pub(crate) path: &'p Path,
    pub(crate) offset: u64,
}

/// Appends the content of the chunk `stored` to `out`.
pub(crate) fn decode(
    stored: &[u8],
    expander: &mut Expander,
    context: ChunkContext<'_>,
    out: &mut Vec<u8>,
) -> Result<(), TreeError> {
    let (form, payload) = check(stored, (context.path, context.offset))?;
    expand(form, payload, expander, context, out)
}

/// Checks head and checksum of the chunk `stored`; returns its form and its payload.
pub(crate) fn check<'s>(
    stored: &'s [u8],
    (path, offset): (&Path, u64),
) -> Result<(ChunkForm, &'s [u8]), TreeError> {
    let damaged = |reason| TreeError::damaged(path, offset, reason);
    let (head, payload) = stored
        .split_first_chunk::<CHUNK_HEAD>()
        .ok_or_else(|| damaged("a chunk is shorter than its head"))?;
    let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    if len as usize != payload.len() {
        return Err(damaged(
            "a chunk has another length than its reference says",
        ));
    }
    let tag = head[at::CODEC];
    let checksum = xxh3_64_with_seed(payload, seed(len, tag));
    if head[at::CHECKSUM..] != checksum.to_le_bytes() {
        return Err(damaged("a chunk's checksum does not match"));
    }
    let form = ChunkForm::of_tag(tag)
        .ok_or_else(|| damaged("a chunk has a codec that this build does not know"))?;
    Ok((form, payload))
}

/// Appends the expanded form of a checked payload, if that needs no other chunk.
pub(crate) fn expand(
    form: ChunkForm,
    payload: &[u8],
    expander: &mut Expander,
    context: ChunkContext<'_>,
    out: &mut Vec<u8>,
) -> Result<(), TreeError> {
    let done = match form {
        ChunkForm::Plain(codec) => expander.expand(codec, payload, MAX_RAW, out),
        ChunkForm::Dictionary => {
            let known = dictionary_of(payload).and_then(|number| context.dictionaries.get(number));
            let dictionary = known.ok_or_else(|| {
                let reason = "a chunk needs a dictionary that is not there";
                TreeError::damaged(context.path, context.offset, reason)
            })?;
            expander.expand_with(&dictionary, payload, MAX_RAW, out)
        }
        ChunkForm::Delta => {
            let reason = "a delta stands where none can be";
            return Err(TreeError::damaged(context.path, context.offset, reason));
        }
    };
    done.map_err(|source| TreeError::Expand {
        path: context.path.to_owned(),
        offset: context.offset,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_codec::EngineSetting;

    fn expand(stored: &[u8]) -> Result<Vec<u8>, TreeError> {
        let mut out = Vec::new();
        let context = ChunkContext {
            dictionaries: &Dictionaries::default(),
            path: Path::new("f"),
            offset: 7,
        };
        decode(stored, &mut Expander::new(), context, &mut out).map(|()| out)
    }

    #[test]
    fn every_codec_comes_back_and_never_grows() {
        for setting in [
            EngineSetting::NONE,
            EngineSetting::SNAPPY,
            EngineSetting::ZLIB,
            EngineSetting::ZSTD,
        ] {
            let mut compressor = Compressor::new(setting).unwrap();
            for raw in [&b""[..], b"x", &[7; 5000]] {
                let chunk = EncodedChunk::encode(&mut compressor, raw).unwrap();
                assert!(chunk.stored_len() <= raw.len() + CHUNK_HEAD, "{setting}");
                assert_eq!(expand(chunk.bytes()).unwrap(), raw, "{setting}");
            }
        }
    }

    #[test]
    fn golden_chunk() {
        let mut compressor = Compressor::new(EngineSetting::NONE).unwrap();
        let chunk = EncodedChunk::encode(&mut compressor, b"abc").unwrap();
        assert_eq!(chunk.bytes()[..5], [3, 0, 0, 0, 0]);
        assert_eq!(&chunk.bytes()[13..], b"abc");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let mut compressor = Compressor::new(EngineSetting::ZSTD).unwrap();
        let chunk = EncodedChunk::encode(&mut compressor, &b"varve ".repeat(20)).unwrap();
        for bit in 0..chunk.stored_len() * 8 {
            let mut bytes = chunk.bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let error = expand(&bytes).unwrap_err();
            assert!(
                error.to_string().starts_with("f is damaged at byte 7: "),
                "{error}"
            );
        }
        for len in 0..chunk.stored_len() {
            assert!(expand(&chunk.bytes()[..len]).is_err(), "cut at {len}");
        }
    }
}
