//! Chunk compression: one trait, one table from codec to implementation, engine settings.
//!
//! A [`Compressor`] and an [`Expander`] keep their contexts from chunk to chunk: on chunks of a
//! few hundred bytes making a context costs more than using it. Neither is shared between
//! threads; each thread has its own.

mod codecs;
pub mod deflate;
pub mod fuzzing;
mod setting;
mod stream;
mod stream_decoder;
mod stream_setting;

pub use codecs::{
    Codec, CodecError, CodecId, Compressor, DeltaCompressor, Dictionary, DictionaryCompressor,
    Expander, content_len, dictionary_of,
};
pub use setting::{EngineSetting, SettingError};
pub use stream::StreamEncoder;
pub use stream_decoder::{StreamDecoder, StreamFormat};
pub use stream_setting::{StreamEngine, StreamSetting};
