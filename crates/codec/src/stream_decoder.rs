//! Expansion of a stream that comes in as it is read: bundles.

use crate::CodecError;
use std::io::{self, BufRead, Read};

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// Bytes as they are.
    None,
    /// One zlib stream.
    Zlib,
    /// One bzip2 stream.
    Bzip2,
    /// One zstd frame, which may look back over 128 MiB.
    Zstd,
}

/// Expands the bytes of the reader below, up to the end of the one stream there. Checksums are checked at that end,
/// before the reader says that there is no more.
pub enum StreamDecoder<R: BufRead> {
    /// Bytes as they are.
    None(R),
    /// A zlib stream.
    Zlib(flate2::bufread::ZlibDecoder<R>),
    /// A bzip2 stream.
    Bzip2(bzip2::bufread::BzDecoder<R>),
    /// A zstd frame.
    Zstd(zstd::stream::read::Decoder<'static, R>),
}

impl<R: BufRead> StreamDecoder<R> {
    /// Starts to read a stream.
    ///
    /// # Errors
    /// [`CodecError::Failed`] if a context cannot be had.
    pub fn new(format: StreamFormat, below: R) -> Result<Self, CodecError> {
        Ok(match format {
            StreamFormat::None => StreamDecoder::None(below),
            StreamFormat::Zlib => StreamDecoder::Zlib(flate2::bufread::ZlibDecoder::new(below)),
            StreamFormat::Bzip2 => StreamDecoder::Bzip2(bzip2::bufread::BzDecoder::new(below)),
            StreamFormat::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(below);
                let decoder = decoder.map_err(|e| CodecError::failed("zstd", &e))?;
                StreamDecoder::Zstd(decoder.single_frame())
            }
        })
    }

    /// The reader below.
    pub fn get_ref(&self) -> &R {
        match self {
            StreamDecoder::None(below) => below,
            StreamDecoder::Zlib(decoder) => decoder.get_ref(),
            StreamDecoder::Bzip2(decoder) => decoder.get_ref(),
            StreamDecoder::Zstd(decoder) => decoder.get_ref(),
        }
    }
}

impl<R: BufRead> Read for StreamDecoder<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            StreamDecoder::None(below) => below.read(bytes),
            StreamDecoder::Zlib(decoder) => decoder.read(bytes),
            StreamDecoder::Bzip2(decoder) => decoder.read(bytes),
            StreamDecoder::Zstd(decoder) => decoder.read(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EngineSetting, StreamEncoder};
    use std::io::Write;

    fn streams(text: &[u8]) -> [(StreamFormat, Vec<u8>); 4] {
        let plain = |format, setting| {
            let mut encoder = StreamEncoder::new(setting, Vec::new()).unwrap();
            encoder.write_all(text).unwrap();
            (format, encoder.finish().unwrap())
        };
        let mut bzip2 = StreamEncoder::bzip2(Vec::new());
        bzip2.write_all(text).unwrap();
        [
            plain(StreamFormat::None, EngineSetting::NONE),
            plain(StreamFormat::Zlib, EngineSetting::ZLIB),
            plain(StreamFormat::Zstd, EngineSetting::ZSTD),
            (StreamFormat::Bzip2, bzip2.finish().unwrap()),
        ]
    }

    #[test]
    fn what_was_written_comes_back_whatever_lies_behind() {
        let text = b"varve ".repeat(50_000);
        for (format, mut bytes) in streams(&text) {
            if format != StreamFormat::None {
                bytes.extend_from_slice(b"behind");
            }
            let mut back = Vec::new();
            let mut decoder = StreamDecoder::new(format, &bytes[..]).unwrap();
            decoder.read_to_end(&mut back).unwrap();
            assert!(back == text, "{format:?}");
        }
    }

    #[test]
    fn a_cut_stream_is_an_error() {
        let text = b"varve ".repeat(50_000);
        for (format, bytes) in &streams(&text)[1..] {
            for len in [bytes.len() / 2, bytes.len() - 1] {
                let mut decoder = StreamDecoder::new(*format, &bytes[..len]).unwrap();
                let error = decoder.read_to_end(&mut Vec::new()).unwrap_err();
                let kind = error.kind();
                assert_eq!(kind, io::ErrorKind::UnexpectedEof, "{format:?} {len}");
            }
        }
    }
}
