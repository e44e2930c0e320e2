//! Compression of a stream that goes out as it is made: bundles and wire answers.

use crate::{CodecError, CodecId, EngineSetting};
use std::io::{self, Write};
use zstd::stream::raw::CParameter;

/// How far [`StreamEncoder::far_zstd`] looks back, in bytes. Readers need as much memory.
pub const FAR_WINDOW: u32 = 4 << 20;

/// Compresses what is written to it into the writer below.
pub enum StreamEncoder<W: Write> {
    /// Bytes as they are.
    None(W),
    /// A zlib stream.
    Zlib(flate2::write::ZlibEncoder<W>),
    /// A bzip2 stream.
    Bzip2(bzip2::write::BzEncoder<W>),
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

    /// Starts a zstd stream that looks back over [`FAR_WINDOW`] bytes, for long answers.
    ///
    /// One worker thread compresses what the caller makes meanwhile. It also makes the work
    /// itself cheaper: it has pieces of four windows in one place, while a stream without a worker
    /// wraps around in a buffer of one window and searches in two places all the time.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if a context cannot be had.
    pub fn far_zstd(level: i32, out: W) -> Result<Self, CodecError> {
        let fail = |e| CodecError::failed("zstd", &e);
        let mut encoder = zstd::stream::write::Encoder::new(out, level).map_err(fail)?;
        for parameter in [
            CParameter::NbWorkers(1),
            CParameter::WindowLog(FAR_WINDOW.ilog2()),
            // A piece begins with the whole window of the piece before.
            CParameter::OverlapSizeLog(9),
        ] {
            encoder.set_parameter(parameter).map_err(fail)?;
        }
        Ok(StreamEncoder::Zstd(encoder))
    }

    /// Starts a bzip2 stream with the largest blocks, as Mercurial's backup bundles have it.
    pub fn bzip2(out: W) -> Self {
        StreamEncoder::Bzip2(bzip2::write::BzEncoder::new(
            out,
            bzip2::Compression::best(),
        ))
    }

    /// Writes the end of the stream and gives the writer back.
    ///
    /// # Errors
    /// What the writer below answers.
    pub fn finish(self) -> io::Result<W> {
        match self {
            StreamEncoder::None(out) => Ok(out),
            StreamEncoder::Zlib(encoder) => encoder.finish(),
            StreamEncoder::Bzip2(encoder) => encoder.finish(),
            StreamEncoder::Zstd(encoder) => encoder.finish(),
        }
    }

    /// The writer below.
    pub fn get_mut(&mut self) -> &mut W {
        match self {
            StreamEncoder::None(out) => out,
            StreamEncoder::Zlib(encoder) => encoder.get_mut(),
            StreamEncoder::Bzip2(encoder) => encoder.get_mut(),
            StreamEncoder::Zstd(encoder) => encoder.get_mut(),
        }
    }
}

impl<W: Write> Write for StreamEncoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            StreamEncoder::None(out) => out.write(bytes),
            StreamEncoder::Zlib(encoder) => encoder.write(bytes),
            StreamEncoder::Bzip2(encoder) => encoder.write(bytes),
            StreamEncoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            StreamEncoder::None(out) => out.flush(),
            StreamEncoder::Zlib(encoder) => encoder.flush(),
            StreamEncoder::Bzip2(encoder) => encoder.flush(),
            StreamEncoder::Zstd(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expander;

    #[test]
    fn a_far_stream_expands_and_finds_what_is_far_away() {
        let noise = |seed: u32| (0..3 << 20).map(move |n| (seed ^ n).wrapping_mul(2_654_435_761));
        let noise: Vec<u8> = noise(1).map(|n| (n >> 24) as u8).collect();
        let text = [&noise[..], &noise].concat();
        let mut encoder = StreamEncoder::far_zstd(3, Vec::new()).unwrap();
        encoder.write_all(&text).unwrap();
        let bytes = encoder.finish().unwrap();
        assert!(bytes.len() < noise.len() * 5 / 4, "{} bytes", bytes.len());
        let mut back = Vec::new();
        Expander::new()
            .expand(CodecId::Zstd, &bytes, text.len(), &mut back)
            .unwrap();
        assert_eq!(back, text);
    }

    #[test]
    fn a_bzip2_stream_expands_to_what_was_written() {
        let text = b"varve ".repeat(5000);
        let mut encoder = StreamEncoder::bzip2(Vec::new());
        encoder.write_all(&text).unwrap();
        let bytes = encoder.finish().unwrap();
        assert!(bytes.starts_with(b"BZh9"));
        let mut back = Vec::new();
        let mut decoder = bzip2::read::BzDecoder::new(&bytes[..]);
        std::io::Read::read_to_end(&mut decoder, &mut back).unwrap();
        assert_eq!(back, text);
    }

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
