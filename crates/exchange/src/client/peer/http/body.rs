//! The body of a long answer, expanded.
//!
//! In the form 0.2 the name of the engine comes first, see [`crate::server::wire`]; in 0.1 everything but
//! streams of files is one zlib stream.

use crate::ExchangeError;
use std::io::{BufReader, Read};
use varve_codec::{StreamDecoder, StreamFormat};

/// Bytes that are taken from the connection at a time.
const BUFFER: usize = 64 << 10;

/// Expands a body.
pub(super) fn expanded(
    body: impl Read + Send + 'static,
    is_new: bool,
    is_compressed: bool,
) -> Result<Box<dyn Read + Send>, ExchangeError> {
    let mut body = BufReader::with_capacity(BUFFER, body);
    let format = match (is_new, is_compressed) {
        (true, _) => named(&mut body)?,
        (false, true) => StreamFormat::Zlib,
        (false, false) => StreamFormat::None,
    };
    Ok(Box::new(StreamDecoder::new(format, body)?))
}

fn named(body: &mut impl Read) -> Result<StreamFormat, ExchangeError> {
    let mut len = [0];
    body.read_exact(&mut len).map_err(ExchangeError::Broken)?;
    let mut name = vec![0; usize::from(len[0])];
    body.read_exact(&mut name).map_err(ExchangeError::Broken)?;
    match &name[..] {
        b"zstd" => Ok(StreamFormat::Zstd),
        b"zlib" => Ok(StreamFormat::Zlib),
        b"bzip2" => Ok(StreamFormat::Bzip2),
        b"none" => Ok(StreamFormat::None),
        _ => Err(ExchangeError::UnknownCompression(
            String::from_utf8_lossy(&name).into_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_named_first() {
        let mut text = String::new();
        let mut body = expanded(&b"\x04nonewords"[..], true, true).unwrap();
        body.read_to_string(&mut text).unwrap();
        assert_eq!(text, "words");
        let error = expanded(&b"\x03foowords"[..], true, true).err().unwrap();
        assert!(matches!(error, ExchangeError::UnknownCompression(name) if name == "foo"));
        let error = expanded(&b"\x04no"[..], true, true).err().unwrap();
        assert!(matches!(error, ExchangeError::Broken(_)));
    }
}
