//! How bodies are compressed: a setting, and for zstd a dictionary that short ones begin with.

use crate::DocdbError;
use varve_btree::{EncodedChunk, TreeError};
use varve_codec::{Compressor, Dictionary, DictionaryCompressor, EngineSetting};

/// A setting with the dictionary that goes with it.
#[derive(Clone, Debug)]
pub(crate) struct BodyCodec {
    pub(crate) setting: EngineSetting,
    /// Only for zstd.
    pub(crate) dictionary: Option<Dictionary>,
}

impl BodyCodec {
    fn number(&self) -> Option<u32> {
        self.dictionary.as_ref().map(Dictionary::number)
    }

    /// Whether the two codecs make the same chunks, within one database.
    pub(crate) fn is_same(&self, other: &BodyCodec) -> bool {
        self.setting == other.setting && self.number() == other.number()
    }
}

/// Compresses bodies, for one thread.
#[derive(Debug)]
pub(crate) struct BodyCompressor {
    method: BodyCodec,
    plain: Compressor,
    short: Option<DictionaryCompressor>,
}

impl BodyCompressor {
    pub(crate) fn new(method: &BodyCodec) -> Result<Self, DocdbError> {
        let short = |dictionary| DictionaryCompressor::new(method.setting.level(), dictionary);
        let short = method.dictionary.as_ref().map(short).transpose();
        Ok(BodyCompressor {
            plain: Compressor::new(method.setting).map_err(TreeError::Compress)?,
            short: short.map_err(TreeError::Compress)?,
            method: method.clone(),
        })
    }

    pub(crate) fn method(&self) -> &BodyCodec {
        &self.method
    }

    pub(crate) fn encode(&mut self, text: &[u8]) -> Result<EncodedChunk, TreeError> {
        match &mut self.short {
            Some(short) if text.len() <= DictionaryCompressor::LONGEST => {
                EncodedChunk::encode_short(short, text)
            }
            _ => EncodedChunk::encode(&mut self.plain, text),
        }
    }
}
