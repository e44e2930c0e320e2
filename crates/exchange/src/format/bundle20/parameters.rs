//! Parameters of a whole bundle2: words between blanks, each a name and maybe a value behind `=`,
//! with `%` escapes. A name that begins with a capital letter must be understood.

use crate::ExchangeError;
use percent_encoding::percent_decode;
use varve_codec::StreamFormat;

/// Name of the only parameter that is known.
const COMPRESSION: &[u8] = b"Compression";

/// A parameter of a whole bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamParameter {
    /// Begins with a capital letter if the parameter is mandatory.
    pub name: Vec<u8>,
    /// The text behind `=`, if there is one.
    pub value: Option<Vec<u8>>,
}

/// Takes the block of parameters apart.
pub(super) fn parse(block: &[u8]) -> Result<Vec<StreamParameter>, ExchangeError> {
    if block.is_empty() {
        return Ok(Vec::new());
    }
    let words = block.split(|byte| *byte == b' ');
    let parameters = words.map(|word| {
        let mut sides = word.splitn(2, |byte| *byte == b'=');
        let name: Vec<u8> = percent_decode(sides.next().unwrap_or_default()).collect();
        if !name.first().is_some_and(u8::is_ascii_alphabetic) {
            let shown = String::from_utf8_lossy(&name);
            let reason = format!("a parameter has the name {shown:?}");
            return Err(ExchangeError::DamagedBundle(reason));
        }
        let value = sides.next().map(|value| percent_decode(value).collect());
        Ok(StreamParameter { name, value })
    });
    parameters.collect()
}

/// How the parts are compressed; refuses an unknown mandatory parameter.
pub(super) fn format_of(parameters: &[StreamParameter]) -> Result<StreamFormat, ExchangeError> {
    let mut format = StreamFormat::None;
    for StreamParameter { name, value } in parameters {
        let shown = String::from_utf8_lossy(name);
        if name.eq_ignore_ascii_case(COMPRESSION) {
            format = match value.as_deref() {
                Some(b"UN") => StreamFormat::None,
                Some(b"GZ") => StreamFormat::Zlib,
                Some(b"BZ") => StreamFormat::Bzip2,
                Some(b"ZS") => StreamFormat::Zstd,
                other => {
                    let value = String::from_utf8_lossy(other.unwrap_or(b"None")).into_owned();
                    let feature = format!("Stream Parameter - {shown}='{value}'");
                    return Err(ExchangeError::UnknownBundleFeature(feature));
                }
            };
        } else if name.first().is_some_and(u8::is_ascii_uppercase) {
            let feature = format!("Stream Parameter - {shown}");
            return Err(ExchangeError::UnknownBundleFeature(feature));
        }
    }
    Ok(format)
}
