//! Compression of a streamed answer on its way to the sink.

use super::{StreamMedia, WireSettings};
use crate::sink::SinkWriter;
use crate::{ChunkSink, ExchangeError, SinkClosed};
use std::io::{self, Write};
use varve_codec::{CodecId, StreamEncoder};

/// Compresses a streamed answer as its media type says, into a sink.
pub(crate) struct CompressedWriter<'a> {
    encoder: StreamEncoder<SinkWriter<'a>>,
}

impl<'a> CompressedWriter<'a> {
    pub(crate) fn new(
        media: StreamMedia,
        settings: &WireSettings,
        sink: &'a mut dyn ChunkSink,
    ) -> Result<Self, ExchangeError> {
        let mut out = SinkWriter::new(sink);
        out.write_all(media.prefix)?;
        let engine = settings.engine(media.codec);
        let encoder = match media.codec {
            CodecId::Zstd => StreamEncoder::far_zstd(engine.level(), out)?,
            CodecId::Zlib => StreamEncoder::new(engine, out)?,
            CodecId::None | CodecId::Snappy => StreamEncoder::None(out),
        };
        Ok(CompressedWriter { encoder })
    }

    /// Ends the stream and sends the rest.
    pub(crate) fn finish(self) -> Result<(), ExchangeError> {
        Ok(self.encoder.finish()?.flush()?)
    }
}

impl ChunkSink for CompressedWriter<'_> {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        self.write_all(&bytes).map_err(|_| SinkClosed)
    }
}

impl Write for CompressedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encoder.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.flush()
    }
}
