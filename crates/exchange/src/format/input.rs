//! The expanded bytes of a bundle.

use super::limits::BundleLimits;
use crate::{ExchangeError, Spool};
use std::fmt;
use std::io::{self, BufReader, Read};
use varve_codec::{StreamDecoder, StreamFormat};

/// Bytes that are read at once.
const BUFFER: usize = 128 << 10;
/// Bytes reserved at most for a length whose bytes have not arrived yet.
const RESERVED: usize = 64 << 10;
/// A longer piece is kept in a file until all of it has arrived, so that only received bytes take memory, and once.
const LONG_PIECE: usize = 16 << 20;

/// Counts the bytes read.
struct Counting<'a> {
    below: Box<dyn Read + Send + 'a>,
    read: u64,
}

impl Read for Counting<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.below.read(bytes)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// Expands a bundle, within its limits.
struct Expanding<'a> {
    decoder: StreamDecoder<BufReader<Counting<'a>>>,
    expanded: u64,
    limits: BundleLimits,
    /// The compressed stream ended before its end mark.
    is_cut: bool,
}

impl Read for Expanding<'_> {
    /// A cut stream ends where it is cut; [`Input::finish`] returns the error.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.is_cut {
            return Ok(0);
        }
        let read = match self.decoder.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.is_cut = true;
                return Ok(0);
            }
            other => other?,
        };
        self.expanded += read as u64;
        let compressed = self.decoder.get_ref().get_ref().read;
        let is_plain = matches!(self.decoder, StreamDecoder::None(_));
        if !is_plain && self.expanded > self.limits.allowed(compressed) {
            let expanded = self.expanded;
            let endless = ExchangeError::EndlessBundle {
                compressed,
                expanded,
            };
            return Err(io::Error::other(endless));
        }
        Ok(read)
    }
}

/// The expanded bytes of a bundle.
pub struct Input<'a>(BufReader<Expanding<'a>>);

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Input")
    }
}

impl<'a> Input<'a> {
    pub(crate) fn new(
        below: Box<dyn Read + Send + 'a>,
        format: StreamFormat,
        limits: BundleLimits,
    ) -> Result<Self, ExchangeError> {
        let counting = Counting { below, read: 0 };
        let decoder = StreamDecoder::new(format, BufReader::with_capacity(BUFFER, counting))?;
        let expanding = Expanding {
            decoder,
            expanded: 0,
            limits,
            is_cut: false,
        };
        Ok(Input(BufReader::with_capacity(BUFFER, expanding)))
    }
}

impl Read for Input<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

/// Something whose end can be checked when all that counts has been read.
pub trait Finish {
    /// Reads on to the end of a compressed stream, which has its checksum there. Bytes behind
    /// the end of the bundle are passed over, as Mercurial does.
    ///
    /// # Errors
    /// If the stream is cut or damaged.
    fn finish(&mut self) -> Result<(), ExchangeError>;
}

impl Finish for Input<'_> {
    fn finish(&mut self) -> Result<(), ExchangeError> {
        if matches!(self.0.get_ref().decoder, StreamDecoder::None(_)) {
            return Ok(());
        }
        io::copy(&mut self.0, &mut io::sink()).map_err(read_failed)?;
        match self.0.get_ref().is_cut {
            true => Err(ExchangeError::StreamEnded {
                got: 0,
                expected: 1,
            }),
            false => Ok(()),
        }
    }
}

impl Finish for &[u8] {
    fn finish(&mut self) -> Result<(), ExchangeError> {
        Ok(())
    }
}

/// Fills an array.
pub(crate) fn read_array<const N: usize>(source: &mut impl Read) -> Result<[u8; N], ExchangeError> {
    let mut bytes = [0; N];
    let mut got = 0;
    while let Some(rest) = bytes.get_mut(got..).filter(|rest| !rest.is_empty()) {
        match source.read(rest) {
            Ok(0) => return Err(ExchangeError::StreamEnded { got, expected: N }),
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_failed(error)),
        }
    }
    Ok(bytes)
}

/// Replaces the content of `out` by `len` bytes. Memory grows as they arrive; where fewer come, those are in `out`.
pub(crate) fn read_into(
    source: &mut impl Read,
    len: usize,
    out: &mut Vec<u8>,
) -> Result<(), ExchangeError> {
    out.clear();
    if len > LONG_PIECE {
        return read_long(source, len, out);
    }
    out.reserve(len.min(RESERVED));
    let read = source.by_ref().take(len as u64).read_to_end(out);
    let got = read.map_err(read_failed)?;
    if got < len {
        return Err(ExchangeError::StreamEnded { got, expected: len });
    }
    Ok(())
}

/// As [`read_into`], by way of a file. What arrived before a cut is in `out`, too.
fn read_long(source: &mut impl Read, len: usize, out: &mut Vec<u8>) -> Result<(), ExchangeError> {
    let mut arrived = Spool::default();
    io::copy(&mut source.by_ref().take(len as u64), &mut arrived).map_err(read_failed)?;
    arrived.rewind().map_err(ExchangeError::Read)?;
    let got = usize::try_from(arrived.len()).unwrap_or(len);
    out.reserve_exact(got);
    arrived.read_to_end(out).map_err(ExchangeError::Read)?;
    if got < len {
        return Err(ExchangeError::StreamEnded { got, expected: len });
    }
    Ok(())
}

/// The error of a reader, which may be one of ours in another's coat.
pub(crate) fn read_failed(error: io::Error) -> ExchangeError {
    match error.downcast::<ExchangeError>() {
        Ok(ours) => ours,
        Err(error) => ExchangeError::Read(error),
    }
}
