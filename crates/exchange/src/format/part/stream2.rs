//! `stream2`: the payload is the files of a store, see [`crate::format::stream`].
//!
//! ```text
//! bytecount     mandatory   bytes of all files, without their headers
//! filecount     mandatory   number of files
//! requirements  mandatory   requirements for a reader, separated by commas, quoted as in a URL
//! ```

use super::{PartHeader, PartType};
use crate::ExchangeError;
use crate::format::quoting::QUOTED;
use percent_encoding::{percent_decode, utf8_percent_encode};

/// Parameters of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream2Parameters {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    /// Separated by commas.
    pub(crate) requirements: Vec<u8>,
}

pub(crate) fn header(bytes: u64, files: usize, requirements: &str) -> PartHeader {
    PartHeader::mandatory(PartType::Stream2)
        .with("bytecount", bytes.to_string())
        .with("filecount", files.to_string())
        .with(
            "requirements",
            utf8_percent_encode(requirements, QUOTED).to_string(),
        )
}

/// # Errors
/// [`ExchangeError::DamagedBundle`] for a count that is missing or not a number.
pub(crate) fn decode(header: &PartHeader) -> Result<Stream2Parameters, ExchangeError> {
    let number = |name: &str| {
        let number = header.text(name).and_then(|text| text.parse().ok());
        number.ok_or_else(|| {
            let reason = format!("the part stream2 has no sound {name}");
            ExchangeError::DamagedBundle(reason)
        })
    };
    let quoted = header.value("requirements").unwrap_or_default();
    Ok(Stream2Parameters {
        files: number("filecount")?,
        bytes: number("bytecount")?,
        requirements: percent_decode(quoted).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a real `hg serve` 7.2.4 begins the answer to `clone --stream`.
    #[test]
    fn golden_header() {
        let header = header(1234, 5, "generaldelta,revlogv1");
        let expected: &[u8] = b"\x07STREAM2\0\0\0\0\x03\0\x09\x04\x09\x01\x0c\x17\
            bytecount1234filecount5requirementsgeneraldelta%2Crevlogv1";
        assert_eq!(header.encode().unwrap(), expected);
        let expected = Stream2Parameters {
            bytes: 1234,
            files: 5,
            requirements: b"generaldelta,revlogv1".to_vec(),
        };
        assert_eq!(decode(&header).unwrap(), expected);
    }

    #[test]
    fn counts_must_be_numbers() {
        let bare = PartHeader::mandatory(PartType::Stream2);
        let whole = bare.clone().with("filecount", "0").with("bytecount", "0");
        assert!(decode(&whole).is_ok());
        for (key, value) in [
            ("bytecount", "-1"),
            ("filecount", ""),
            ("bytecount", "18446744073709551616"),
        ] {
            let refused = decode(&whole.clone().with(key, value)).unwrap_err();
            let words = format!("the bundle is damaged: the part stream2 has no sound {key}");
            assert_eq!(refused.to_string(), words);
        }
        assert!(decode(&bare.with("filecount", "1")).is_err());
    }
}
