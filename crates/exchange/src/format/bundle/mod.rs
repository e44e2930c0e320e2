//! Reading bundles: files, and pushes of a client.
//!
//! ```text
//! "HG10" compression  changegroup 01           UN: as it is; GZ: zlib; BZ: bzip2, whose own first
//!                                              two bytes are these
//! "HG20" parameters  parts                     see super::bundle20; the parts are compressed as the
//!                                              parameter Compression says: UN, GZ, BZ, ZS (zstd)
//! "HGS1UN" u64 files  u64 bytes  u16 length  requirements \0  files       a packed stream clone
//! ```
//!
//! Nothing is believed: a length only counts as its bytes arrive, and [`BundleLimits`] ends an
//! expansion without end.

use super::bundle20::{MAGIC, PartReader};
use super::input::{self, Input};
use super::limits::BundleLimits;
use super::packed::Packed;
use crate::ExchangeError;
use crate::format::changegroup::{ChangegroupReader, ChangegroupVersion};
use std::io::{Cursor, Read};
use varve_codec::StreamFormat;

/// First bytes of a bundle of the first version, of the second, and of a packed stream clone.
pub(crate) const BUNDLE10: &[u8; 4] = b"HG10";
pub(crate) const BUNDLE20: &[u8; 4] = MAGIC;
const PACKED: &[u8; 4] = b"HGS1";

/// A bundle that was opened.
#[derive(Debug)]
pub enum Bundle<'a> {
    /// A changegroup 01 and nothing else.
    Bundle10(ChangegroupReader<Input<'a>>),
    /// Parts of many kinds.
    Bundle20(PartReader<'a>),
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
        BUNDLE10 => open_bundle10(source, limits),
        BUNDLE20 => Ok(Bundle::Bundle20(PartReader::open(source, limits)?)),
        PACKED => Ok(Bundle::Packed(Packed::open(source, limits)?)),
        [_, _, version @ ..] => {
            let version = String::from_utf8_lossy(version).into_owned();
            Err(ExchangeError::UnknownBundleVersion(version))
        }
    }
}

fn open_bundle10(
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
    Ok(Bundle::Bundle10(ChangegroupReader::new(
        input,
        ChangegroupVersion::V1,
    )))
}

#[cfg(test)]
mod tests;
