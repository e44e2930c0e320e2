//! A packed stream clone.

use super::input::{Input, read_array, read_into};
use super::limits::BundleLimits;
use crate::ExchangeError;
use std::io::Read;
use varve_codec::StreamFormat;

/// A packed stream clone, read up to its files.
#[derive(Debug)]
pub struct Packed<'a> {
    /// How many files follow.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// Requirements for a repository with these files, between commas.
    pub requirements: Vec<u8>,
    /// The files.
    pub input: Input<'a>,
}

impl<'a> Packed<'a> {
    pub(crate) fn open(
        mut source: Box<dyn Read + Send + 'a>,
        limits: BundleLimits,
    ) -> Result<Self, ExchangeError> {
        let compression: [u8; 2] = read_array(&mut source)?;
        if compression != *b"UN" {
            let name = String::from_utf8_lossy(&compression).into_owned();
            return Err(ExchangeError::UnknownCompression(name));
        }
        let mut input = Input::new(source, StreamFormat::None, limits)?;
        let files = u64::from_be_bytes(read_array(&mut input)?);
        let bytes = u64::from_be_bytes(read_array(&mut input)?);
        let len = u16::from_be_bytes(read_array(&mut input)?);
        let mut requirements = Vec::new();
        read_into(&mut input, len.into(), &mut requirements)?;
        if requirements.pop() != Some(0) {
            let reason = "the requirements do not end with a zero".to_owned();
            return Err(ExchangeError::DamagedBundle(reason));
        }
        Ok(Packed {
            files,
            bytes,
            requirements,
            input,
        })
    }
}
