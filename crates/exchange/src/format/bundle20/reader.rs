//! The parts of a bundle2, one after the other.

use super::{INTERRUPTION, StreamParameter, parameters};
use crate::ExchangeError;
use crate::format::input::{Finish, Input, read_array, read_failed, read_into};
use crate::format::limits::BundleLimits;
use crate::format::part::{Part, PartHeader, PartType, error};
use std::fmt;
use std::io::{self, Read};
use varve_codec::StreamFormat;

/// Longest block of parameters of a whole bundle, and longest header of a part: 510 parameters of
/// twice 255 bytes with their lengths.
const LONGEST_HEADER: usize = 1 << 19;
/// Longest payload of a part that interrupts another one, which is text for the user.
const LONGEST_INTERRUPTION: usize = 1 << 20;

/// Gets the parts that interrupt others.
type Listener<'a> = Box<dyn FnMut(Part<Vec<u8>>) + Send + 'a>;

/// Position of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the header of a part, or the end.
    Header,
    /// In a payload chunk of `len` bytes, of which `left` are to come; both are 0 before a chunk.
    Payload { len: usize, left: usize },
    /// Behind everything.
    End,
}

/// Reads the parts of a bundle2.
pub struct PartReader<'a> {
    input: Input<'a>,
    parameters: Vec<StreamParameter>,
    at: At,
    /// Bytes of the current payload that were read.
    taken: u64,
    listener: Option<Listener<'a>>,
}

impl fmt::Debug for PartReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartReader")
            .field("parameters", &self.parameters)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// The payload of a part, still to be read. The rest of it is skipped when the next part is asked for.
#[derive(Debug)]
pub struct PartPayload<'r, 'a>(&'r mut PartReader<'a>);

impl<'a> PartReader<'a> {
    /// Reads the parameters between the magic and the first part.
    pub(crate) fn open(
        mut source: Box<dyn Read + Send + 'a>,
        limits: BundleLimits,
    ) -> Result<Self, ExchangeError> {
        let len = i32::from_be_bytes(read_array(&mut source)?);
        let len = header_len(len, "the list of parameters")?;
        let mut block = Vec::new();
        read_into(&mut source, len, &mut block)?;
        let parameters = parameters::parse(&block)?;
        let format: StreamFormat = parameters::format_of(&parameters)?;
        Ok(PartReader {
            input: Input::new(source, format, limits)?,
            parameters,
            at: At::Header,
            taken: 0,
            listener: None,
        })
    }

    /// Parameters of the whole bundle.
    pub fn parameters(&self) -> &[StreamParameter] {
        &self.parameters
    }

    /// Calls `listener` with each part that interrupts another one, such as output of the other side. An
    /// error of the other side, or a mandatory part that is unknown, ends the reading instead.
    pub fn on_interruption(&mut self, listener: impl FnMut(Part<Vec<u8>>) + Send + 'a) {
        self.listener = Some(Box::new(listener));
    }

    /// The next part; `None` behind the last one, when the checksum of a compressed bundle is
    /// right as well.
    ///
    /// # Errors
    /// A cut or damaged bundle.
    pub fn next_part(&mut self) -> Result<Option<Part<PartPayload<'_, 'a>>>, ExchangeError> {
        self.end_part()?;
        if self.at == At::End {
            return Ok(None);
        }
        let Some(header) = self.read_header()? else {
            self.at = At::End;
            self.input.finish()?;
            return Ok(None);
        };
        self.at = At::Payload { len: 0, left: 0 };
        self.taken = 0;
        let payload = PartPayload(self);
        Ok(Some(Part { header, payload }))
    }

    /// Skips the rest of the current part and returns the length of its payload.
    ///
    /// # Errors
    /// A cut or damaged bundle.
    pub fn end_part(&mut self) -> Result<u64, ExchangeError> {
        if matches!(self.at, At::Payload { .. }) {
            let mut rest = PartPayload(self);
            io::copy(&mut rest, &mut io::sink()).map_err(read_failed)?;
        }
        Ok(self.taken)
    }

    fn read_header(&mut self) -> Result<Option<PartHeader>, ExchangeError> {
        let len = i32::from_be_bytes(read_array(&mut self.input)?);
        let len = header_len(len, "the header of a part")?;
        if len == 0 {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        read_into(&mut self.input, len, &mut bytes)?;
        PartHeader::decode(&bytes).map(Some)
    }

    /// Goes to the first byte of the next payload chunk, or to the end of the part.
    fn enter_chunk(&mut self) -> Result<(), ExchangeError> {
        loop {
            self.at = match i32::from_be_bytes(read_array(&mut self.input)?) {
                0 => At::Header,
                INTERRUPTION => {
                    self.interrupt()?;
                    continue;
                }
                len => {
                    let len = chunk_len(len)?;
                    At::Payload { len, left: len }
                }
            };
            return Ok(());
        }
    }

    fn interrupt(&mut self) -> Result<(), ExchangeError> {
        let Some(header) = self.read_header()? else {
            return Ok(());
        };
        let (mut payload, mut chunk) = (Vec::new(), Vec::new());
        loop {
            let len = chunk_len(i32::from_be_bytes(read_array(&mut self.input)?))?;
            if len == 0 {
                break;
            }
            if payload.len() + len > LONGEST_INTERRUPTION {
                let reason = format!("an interruption is longer than {LONGEST_INTERRUPTION} bytes");
                return Err(ExchangeError::DamagedBundle(reason));
            }
            read_into(&mut self.input, len, &mut chunk)?;
            payload.append(&mut chunk);
        }
        let interruption = Part { header, payload };
        refuse_errors(&interruption.header)?;
        if let Some(listener) = &mut self.listener {
            listener(interruption);
        }
        Ok(())
    }

    fn read_payload(&mut self, bytes: &mut [u8]) -> Result<usize, ExchangeError> {
        if self.at == (At::Payload { len: 0, left: 0 }) {
            self.enter_chunk()?;
        }
        let At::Payload { len, left } = self.at else {
            return Ok(0);
        };
        let wanted = bytes.len().min(left);
        let read = self.input.read(&mut bytes[..wanted]).map_err(read_failed)?;
        if read == 0 && wanted > 0 {
            return Err(ExchangeError::ChunkEnded {
                got: len - left,
                expected: len,
            });
        }
        self.taken += read as u64;
        let left = left - read;
        let len = if left == 0 { 0 } else { len };
        self.at = At::Payload { len, left };
        Ok(read)
    }
}

impl Read for PartPayload<'_, '_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        self.0.read_payload(bytes).map_err(io::Error::other)
    }
}

impl Finish for PartPayload<'_, '_> {
    /// The end of the part's bundle is checked by [`PartReader::next_part`].
    fn finish(&mut self) -> Result<(), ExchangeError> {
        Ok(())
    }
}

/// Interruptions that end the reading: failures of the sender, and unknown mandatory parts.
fn refuse_errors(header: &PartHeader) -> Result<(), ExchangeError> {
    match header.part_type() {
        Some(PartType::ErrorAbort) => match error::decode(header) {
            Some(error) => Err(error.into()),
            None => Err(header.unknown()),
        },
        Some(PartType::Output) => Ok(()),
        _ if header.is_mandatory() => Err(header.unknown()),
        _ => Ok(()),
    }
}

fn chunk_len(len: i32) -> Result<usize, ExchangeError> {
    usize::try_from(len)
        .map_err(|_| ExchangeError::DamagedBundle(format!("negative payload chunk size: {len}")))
}

fn header_len(len: i32, what: &str) -> Result<usize, ExchangeError> {
    let damaged = || ExchangeError::DamagedBundle(format!("{what} would have {len} bytes"));
    let len = usize::try_from(len).map_err(|_| damaged())?;
    (len <= LONGEST_HEADER).then_some(len).ok_or_else(damaged)
}
