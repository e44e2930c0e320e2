//! Compression of a stream that goes out as it is made: bundles and wire answers.

use crate::{CodecError, CodecId, EngineSetting};
use std::io::{self, Write};

/// Compresses what is written to it into the writer below.
pub enum StreamEncoder<W: Write> {
    /// Bytes as they are.
    None(W),
    /// A zlib stream.
    Zlib(flate2::write::ZlibEncoder<W>),
    /// A zstd frame.
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> StreamEncoder<W> {
    /// Starts a stream.
    ///
    /// # Errors
    /// [`CodecError::NoStream`] for a codec that has no streaming form here.
    pub fn new(setting: EngineSetting, out: W) -> Result<Self, CodecError> {
        match setting.codec() {
            CodecId::None => Ok(StreamEncoder::None(out)),
            CodecId::Snappy => Err(CodecError::NoStream { codec: "snappy" }),
            CodecId::Zlib => {
                let level = flate2::Compression::new(setting.level().unsigned_abs());
                Ok(StreamEncoder::Zlib(flate2::write::ZlibEncoder::new(
                    out, level,
                )))
            }
            CodecId::Zstd => {
                let encoder = zstd::stream::write::Encoder::new(out, setting.level());
                let encoder = encoder.map_err(|e| CodecError::failed("zstd", &e))?;
                Ok(StreamEncoder::Zstd(encoder))
            }
        }
    }

    /// Writes the end of the stream and gives the writer back.
    ///
    /// # Errors
    /// What the writer below answers.
    pub fn finish(self) -> io::Result<W> {
        match self {
            StreamEncoder::None(out) => Ok(out),
            StreamEncoder::Zlib(encoder) => encoder.finish(),
            StreamEncoder::Zstd(encoder) => encoder.finish(),
        }
    }

    /// The writer below.
    pub fn get_mut(&mut self) -> &mut W {
        match self {
            StreamEncoder::None(out) => out,
            StreamEncoder::Zlib(encoder) => encoder.get_mut(),
            StreamEncoder::Zstd(encoder) => encoder.get_mut(),
        }
    }
}

impl<W: Write> Write for StreamEncoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            StreamEncoder::None(out) => out.write(bytes),
            StreamEncoder::Zlib(encoder) => encoder.write(bytes),
            StreamEncoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            StreamEncoder::None(out) => out.flush(),
            StreamEncoder::Zlib(encoder) => encoder.flush(),
            StreamEncoder::Zstd(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expander;

    #[test]
    fn a_stream_expands_to_what_was_written() {
        let text = b"varve ".repeat(5000);
        for setting in [
            EngineSetting::NONE,
            EngineSetting::ZLIB,
            EngineSetting::ZSTD,
        ] {
            let mut encoder = StreamEncoder::new(setting, Vec::new()).unwrap();
            for piece in text.chunks(777) {
                encoder.write_all(piece).unwrap();
            }
            let bytes = encoder.finish().unwrap();
            let mut back = Vec::new();
            Expander::new()
                .expand(setting.codec(), &bytes, text.len(), &mut back)
                .unwrap();
            assert_eq!(back, text, "{setting}");
        }
    }
}
