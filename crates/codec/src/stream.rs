//! Compression of a stream that goes out as it is made: bundles and wire answers.

use crate::{CodecError, CodecId, EngineSetting, StreamEngine, StreamSetting};
use std::io::{self, Write};
use zstd::stream::raw::CParameter;

/// How far [`StreamEncoder::far_zstd`] looks back, in bytes. Readers need as much memory.
pub const FAR_WINDOW: u32 = 4 << 20;

/// A long window, and pieces that begin with the whole window of the piece before.
const FAR: [CParameter; 2] = [
    CParameter::WindowLog(FAR_WINDOW.ilog2()),
    CParameter::OverlapSizeLog(9),
];

/// From this level on zstd looks so long that no overlap is worth looking at twice.
const SLOW_LEVEL: i32 = 10;

/// Compresses the bytes written to it into the writer below.
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

    /// Starts the stream of a bundle.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if the engine refuses its level or a context cannot be had.
    pub fn of_bundle(setting: StreamSetting, out: W) -> Result<Self, CodecError> {
        let level = setting.effective_level();
        let size = level.unsigned_abs();
        match setting.engine {
            StreamEngine::None => Ok(StreamEncoder::None(out)),
            StreamEngine::Gzip => Ok(StreamEncoder::Zlib(flate2::write::ZlibEncoder::new(
                out,
                flate2::Compression::new(size),
            ))),
            StreamEngine::Bzip2 => Ok(StreamEncoder::Bzip2(bzip2::write::BzEncoder::new(
                out,
                bzip2::Compression::new(size),
            ))),
            StreamEngine::Zstd => {
                let threads = setting.effective_threads();
                let parameters: &[CParameter] = match level {
                    ..SLOW_LEVEL => &FAR,
                    // Where looking costs the most, as the zstd tool does it with threads.
                    _ => &[],
                };
                StreamEncoder::threaded_zstd(level, threads, parameters, out)
            }
        }
    }

    /// Starts a zstd stream that looks back over [`FAR_WINDOW`] bytes, for long answers.
    ///
    /// One worker thread compresses while the caller makes more. It also makes the work itself cheaper: it has pieces
    /// of four windows in one place, while a stream without a worker wraps around in a buffer of one window and
    /// searches in two places all the time.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if a context cannot be had.
    pub fn far_zstd(level: i32, out: W) -> Result<Self, CodecError> {
        StreamEncoder::threaded_zstd(level, 1, &FAR, out)
    }

    /// The pieces that threads work on depend on the parameters alone, and so do the bytes.
    fn threaded_zstd(
        level: i32,
        threads: u32,
        parameters: &[CParameter],
        out: W,
    ) -> Result<Self, CodecError> {
        let fail = |e| CodecError::failed("zstd", &e);
        let mut encoder = zstd::stream::write::Encoder::new(out, level).map_err(fail)?;
        encoder
            .set_parameter(CParameter::NbWorkers(threads))
            .map_err(fail)?;
        for parameter in parameters {
            encoder.set_parameter(*parameter).map_err(fail)?;
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
    /// Errors of the writer below.
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
    fn threads_do_not_show_in_the_bytes() {
        let noise = |n: u32| (n ^ n >> 7).wrapping_mul(2_654_435_761) >> 27;
        let text: Vec<u8> = (0..18_u32 << 20).map(|n| noise(n) as u8).collect();
        let compressed = |level, threads, piece| {
            let setting = StreamSetting {
                engine: StreamEngine::Zstd,
                level: Some(level),
                threads: Some(threads),
            };
            let mut encoder = StreamEncoder::of_bundle(setting, Vec::new()).unwrap();
            for piece in text.chunks(piece) {
                encoder.write_all(piece).unwrap();
            }
            encoder.finish().unwrap()
        };
        for level in [-5, 1, 10] {
            let one = compressed(level, 1, 1 << 20);
            assert!(one.len() < text.len());
            assert_eq!(one, compressed(level, 4, 77_777), "{level}");
            let mut back = Vec::new();
            Expander::new()
                .expand(CodecId::Zstd, &one, text.len(), &mut back)
                .unwrap();
            assert_eq!(back, text);
        }
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
