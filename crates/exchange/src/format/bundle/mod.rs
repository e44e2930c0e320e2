//! Reading bundles: files, and what a client pushes.
//!
//! ```text
//! "HG10" compression  changegroup 01           UN: as it is; GZ: zlib; BZ: bzip2, whose own first
//!                                              two bytes are these
//! "HG20" parameters  parts                     see super::bundle20; the parts are compressed as the
//!                                              parameter Compression says: UN, GZ, BZ, ZS (zstd)
//! "HGS1UN" u64 files  u64 bytes  u16 length  requirements \0  files       a packed stream clone
//! ```
//!
//! Nothing is believed: a length only counts as its bytes arrive, and [`BundleLimits`] ends what
//! expands without end.

use super::bundle20::PartReader;
use super::input::{self, Input};
use super::limits::BundleLimits;
use super::packed::Packed;
use crate::ExchangeError;
use crate::format::changegroup::{ChangegroupReader, Version};
use std::io::{Cursor, Read};
use varve_codec::StreamFormat;

/// First bytes of a bundle of the first version, of the second, and of a packed stream clone.
const BUNDLE1: &[u8; 4] = b"HG10";
const BUNDLE2: &[u8; 4] = b"HG20";
const PACKED: &[u8; 4] = b"HGS1";

/// A bundle that was opened.
#[derive(Debug)]
pub enum Bundle<'a> {
    /// A changegroup 01 and nothing else.
    One(ChangegroupReader<Input<'a>>),
    /// Parts of many kinds.
    Two(PartReader<'a>),
    /// The files of a store.
    Packed(Packed<'a>),
}

/// Reads the beginning of a bundle.
///
/// # Errors
/// If it is none, or of a kind that this program does not know.
pub fn open_bundle<'a>(
    source: impl Read + Send + 'a,
    limits: BundleLimits,
) -> Result<Bundle<'a>, ExchangeError> {
    let mut source: Box<dyn Read + Send + 'a> = Box::new(source);
    let magic: [u8; 4] = input::read_array(&mut source)?;
    if !magic.starts_with(b"HG") {
        return Err(ExchangeError::NotABundle);
    }
    match &magic {
        BUNDLE1 => open_first(source, limits),
        BUNDLE2 => Ok(Bundle::Two(PartReader::open(source, limits)?)),
        PACKED => Ok(Bundle::Packed(Packed::open(source, limits)?)),
        [_, _, version @ ..] => {
            let version = String::from_utf8_lossy(version).into_owned();
            Err(ExchangeError::UnknownBundleVersion(version))
        }
    }
}

fn open_first(
    mut source: Box<dyn Read + Send + '_>,
    limits: BundleLimits,
) -> Result<Bundle<'_>, ExchangeError> {
    let compression: [u8; 2] = input::read_array(&mut source)?;
    let (format, source): (_, Box<dyn Read + Send + '_>) = match &compression {
        b"UN" => (StreamFormat::None, source),
        b"GZ" => (StreamFormat::Zlib, source),
        b"BZ" => {
            let whole = Cursor::new(compression).chain(source);
            (StreamFormat::Bzip2, Box::new(whole))
        }
        other => {
            let name = String::from_utf8_lossy(other).into_owned();
            return Err(ExchangeError::UnknownCompression(name));
        }
    };
    let input = Input::new(source, format, limits)?;
    Ok(Bundle::One(ChangegroupReader::new(input, Version::V1)))
}

#[cfg(test)]
mod tests;
