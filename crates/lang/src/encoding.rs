//! Character encodings of terminals, by Python's names.

use encoding_rs::{DecoderResult, EncoderResult};
use std::borrow::Cow;

/// A character encoding. Two are equal if their bytes mean the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Seven bits.
    Ascii,
    /// Every byte is the character of that number.
    Latin1,
    /// Unicode in bytes, which needs no conversion.
    #[default]
    Utf8,
    /// Any other one of the Encoding Standard.
    Other(&'static encoding_rs::Encoding),
}

/// The first bytes of a text that are no characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeFault {
    /// Position of the first of them.
    pub at: usize,
    /// How many there are, at least one.
    pub len: usize,
    /// Their fault in Python's words.
    pub reason: &'static str,
}

/// Stands for a character that an encoding lacks.
const SUBSTITUTE: u8 = b'?';

impl Encoding {
    /// The encoding that Python has by this name.
    pub fn of_name(name: &str) -> Option<Encoding> {
        let plain = name.to_ascii_lowercase().replace(['_', ' '], "-");
        Some(match plain.as_str() {
            "ascii" | "us-ascii" | "646" | "ansi-x3.4-1968" => Encoding::Ascii,
            "utf-8" | "utf8" | "u8" | "utf" | "cp65001" => Encoding::Utf8,
            "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "8859" | "cp819" | "latin"
            | "l1" => Encoding::Latin1,
            other => {
                let label = standard_label(other);
                let found = encoding_rs::Encoding::for_label(label.as_bytes())?;
                // Encodings of 16 bits do not contain ASCII, so no terminal has them.
                Encoding::Other(Some(found).filter(|found| found.is_ascii_compatible())?)
            }
        })
    }

    /// The text as UTF-8.
    ///
    /// # Errors
    /// The first bytes that are no characters.
    pub fn decode(self, text: &[u8]) -> Result<Cow<'_, [u8]>, DecodeFault> {
        match self {
            _ if text.is_ascii() => Ok(Cow::Borrowed(text)),
            Encoding::Ascii => Err(DecodeFault {
                at: text.iter().position(|byte| !byte.is_ascii()).unwrap_or(0),
                len: 1,
                reason: "ordinal not in range(128)",
            }),
            Encoding::Latin1 => Ok(Cow::Owned(
                encoding_rs::mem::decode_latin1(text)
                    .into_owned()
                    .into_bytes(),
            )),
            Encoding::Utf8 => match std::str::from_utf8(text) {
                Ok(_) => Ok(Cow::Borrowed(text)),
                Err(error) => Err(utf8_fault(text, error)),
            },
            Encoding::Other(encoding) => decode_other(encoding, text),
        }
    }

    /// Name of Python's codec, as its messages call it.
    pub fn codec_name(self) -> String {
        match self {
            Encoding::Ascii => "ascii".to_owned(),
            Encoding::Latin1 => "latin-1".to_owned(),
            Encoding::Utf8 => "utf-8".to_owned(),
            Encoding::Other(encoding) if encoding.is_single_byte() => "charmap".to_owned(),
            Encoding::Other(encoding) => encoding.name().to_ascii_lowercase().replace('-', "_"),
        }
    }

    /// Text that is UTF-8 in this encoding, with a question mark for each character that it lacks.
    pub fn encode_lossy(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self == Encoding::Utf8 || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let text = String::from_utf8_lossy(text);
        Cow::Owned(match self {
            Encoding::Utf8 => text.into_owned().into_bytes(),
            Encoding::Ascii => text.chars().map(|char| byte_below(char, 0x80)).collect(),
            Encoding::Latin1 => text.chars().map(|char| byte_below(char, 0x100)).collect(),
            Encoding::Other(encoding) => encode_other(encoding, &text),
        })
    }
}

/// The Encoding Standard's label for a name of Python in lower case.
fn standard_label(name: &str) -> String {
    if let Some(number) = name
        .strip_prefix("cp125")
        .filter(|number| number.len() == 1)
    {
        return format!("windows-125{number}");
    }
    match name {
        "cp866" => "ibm866",
        "cp932" | "ms932" | "mskanji" | "ms-kanji" => "shift_jis",
        "cp936" | "ms936" => "gbk",
        "cp949" | "ms949" | "uhc" => "euc-kr",
        "cp950" | "ms950" | "big5-tw" => "big5",
        "eucjp" | "ujis" | "u-jis" => "euc-jp",
        "euckr" => "euc-kr",
        "sjis" | "s-jis" | "shift-jis" | "shiftjis" => "shift_jis",
        "koi8-r" | "koi8r" => "koi8-r",
        "mac-roman" | "macroman" => "macintosh",
        other => other,
    }
    .to_owned()
}

fn byte_below(char: char, end: u32) -> u8 {
    let number = Some(u32::from(char)).filter(|number| *number < end);
    let byte = number.and_then(|number| u8::try_from(number).ok());
    byte.unwrap_or(SUBSTITUTE)
}

fn utf8_fault(text: &[u8], error: std::str::Utf8Error) -> DecodeFault {
    let at = error.valid_up_to();
    let reason = match (error.error_len(), text[at]) {
        (None, _) => "unexpected end of data",
        (_, 0x80..=0xc1 | 0xf5..=0xff) => "invalid start byte",
        _ => "invalid continuation byte",
    };
    DecodeFault {
        at,
        len: error.error_len().unwrap_or(text.len() - at),
        reason,
    }
}

fn decode_other<'t>(
    encoding: &'static encoding_rs::Encoding,
    text: &'t [u8],
) -> Result<Cow<'t, [u8]>, DecodeFault> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    // No byte of these encodings becomes more than three bytes of UTF-8.
    let room = decoder.max_utf8_buffer_length_without_replacement(text.len());
    let mut out = String::with_capacity(room.unwrap_or(text.len()));
    let (result, read) = decoder.decode_to_string_without_replacement(text, &mut out, true);
    match result {
        DecoderResult::Malformed(len, behind) => {
            let len = usize::from(len);
            Err(DecodeFault {
                at: read.saturating_sub(len + usize::from(behind)),
                len: len.max(1),
                reason: match encoding.is_single_byte() {
                    true => "character maps to <undefined>",
                    false if read == text.len() => "incomplete multibyte sequence",
                    false => "illegal multibyte sequence",
                },
            })
        }
        DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(Cow::Owned(out.into_bytes())),
    }
}

fn encode_other(encoding: &'static encoding_rs::Encoding, text: &str) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        out.reserve(room.unwrap_or(4 * rest.len()) + 1);
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
        rest = &rest[read..];
        match result {
            EncoderResult::Unmappable(_) => out.push(SUBSTITUTE),
            EncoderResult::InputEmpty => return out,
            EncoderResult::OutputFull => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(name: &str) -> Encoding {
        Encoding::of_name(name).unwrap()
    }

    #[test]
    fn names_are_those_of_python() {
        assert_eq!(of("US-ASCII"), Encoding::Ascii);
        assert_eq!(of("utf_8"), Encoding::Utf8);
        assert_eq!(of("iso8859-1"), Encoding::Latin1);
        assert_eq!(of("cp1252"), of("windows-1252"));
        assert_eq!(of("sjis"), of("cp932"));
        for name in ["nosuch", "utf-16", "utf-16le", "base64", ""] {
            assert_eq!(Encoding::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn texts_are_converted_both_ways() {
        for (name, bytes, text) in [
            ("latin-1", &b"caf\xe9 \x80"[..], "caf\u{e9} \u{80}"),
            ("cp1252", b"\x80", "\u{20ac}"),
            ("koi8-r", b"\xd2\xd4", "\u{440}\u{442}"),
            ("euc-jp", b"\xc6\xfc", "\u{65e5}"),
        ] {
            let encoding = of(name);
            assert_eq!(encoding.decode(bytes).unwrap(), text.as_bytes(), "{name}");
            assert_eq!(encoding.encode_lossy(text.as_bytes()), bytes, "{name}");
        }
        let mixed = "a\u{e9}b\u{20ac}c".as_bytes();
        assert_eq!(of("ascii").encode_lossy(mixed), &b"a?b?c"[..]);
        assert_eq!(of("latin-1").encode_lossy(mixed), &b"a\xe9b?c"[..]);
        assert_eq!(of("koi8-r").encode_lossy(mixed), &b"a?b?c"[..]);
    }

    #[test]
    fn faults_are_named_as_python_names_them() {
        for (name, bytes, at, len, reason) in [
            ("ascii", &b"ab\xe9"[..], 2, 1, "ordinal not in range(128)"),
            ("utf-8", b"a\xe9", 1, 1, "unexpected end of data"),
            ("utf-8", b"a\xe9b", 1, 1, "invalid continuation byte"),
            ("utf-8", b"\xff", 0, 1, "invalid start byte"),
            ("euc-jp", b"\xe9", 0, 1, "incomplete multibyte sequence"),
        ] {
            let fault = DecodeFault { at, len, reason };
            assert_eq!(of(name).decode(bytes), Err(fault), "{name} {bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_can_be_decoded_is_encoded_again(text in "\\PC*", bytes: Vec<u8>) {
            for name in ["ascii", "latin-1", "cp1252", "koi8-r", "euc-jp", "gb18030", "big5"] {
                let _ = of(name).encode_lossy(text.as_bytes());
                if let Err(fault) = of(name).decode(&bytes) {
                    prop_assert!(fault.at + fault.len <= bytes.len());
                }
            }
            let decoded = of("latin-1").decode(&bytes).unwrap();
            prop_assert_eq!(of("latin-1").encode_lossy(&decoded), &bytes[..]);
        }
    }
}
