//! Tests of a file's content and metadata.

use super::FileSource;
use crate::format::FileKind;
use std::ops::RangeInclusive;
use varve_lang::patterns::PythonRegex;

/// A test of one file.
#[derive(Debug)]
pub(super) enum Content {
    Binary,
    Executable,
    Symlink,
    Size(RangeInclusive<u64>),
    Grep(PythonRegex),
    Encoding(Encoding),
    Eol(Eol),
}

/// A style of line endings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eol {
    Dos,
    Unix,
    Mac,
}

/// A character encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Seven bits.
    Ascii,
    /// Every byte is a character.
    Latin1,
    /// Unicode in bytes.
    Utf8,
}

impl Encoding {
    /// The encoding that Python has by this name.
    pub(super) fn of_name(name: &str) -> Option<Encoding> {
        let plain = name.to_ascii_lowercase().replace(['_', ' '], "-");
        match plain.as_str() {
            "ascii" | "us-ascii" | "646" => Some(Encoding::Ascii),
            "utf-8" | "utf8" | "u8" | "utf" => Some(Encoding::Utf8),
            "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "8859" | "cp819" | "latin"
            | "l1" => Some(Encoding::Latin1),
            _ => None,
        }
    }

    /// Whether Python has an encoding of such a name, most likely.
    pub(super) fn is_family(name: &str) -> bool {
        const FAMILIES: [&str; 14] = [
            "cp", "iso", "koi8", "utf", "mac", "gb", "big5", "euc", "shift", "windows", "latin",
            "hz", "johab", "ptcp",
        ];
        let name = name.to_ascii_lowercase();
        FAMILIES.iter().any(|family| name.starts_with(family))
    }

    fn can_decode(self, text: &[u8]) -> bool {
        match self {
            Encoding::Ascii => text.is_ascii(),
            Encoding::Latin1 => true,
            Encoding::Utf8 => std::str::from_utf8(text).is_ok(),
        }
    }
}

impl Content {
    /// Whether the test holds for a file; none holds for a file that does not exist.
    pub(super) fn holds(&self, source: &dyn FileSource, path: &[u8]) -> bool {
        let metadata = || source.metadata(path);
        let text =
            |test: &dyn Fn(&[u8]) -> bool| source.content(path).is_some_and(|text| test(&text));
        match self {
            Content::Executable => metadata().is_some_and(|(_, kind)| kind == FileKind::Executable),
            Content::Symlink => metadata().is_some_and(|(_, kind)| kind == FileKind::Symlink),
            Content::Size(sizes) => metadata().is_some_and(|(size, _)| sizes.contains(&size)),
            Content::Binary => text(&is_binary),
            // In Python the end of the text is also before its last newline.
            Content::Grep(regex) => text(&|text| {
                let body = text.strip_suffix(b"\n");
                regex.is_match(text) || body.is_some_and(|body| regex.is_match(body))
            }),
            Content::Encoding(encoding) => text(&|text| encoding.can_decode(text)),
            Content::Eol(eol) => text(&|text| !is_binary(text) && eol.occurs(text)),
        }
    }
}

fn is_binary(text: &[u8]) -> bool {
    text.contains(&0)
}

impl Eol {
    fn occurs(self, text: &[u8]) -> bool {
        let mut before = 0;
        for (at, byte) in text.iter().enumerate() {
            let found = match self {
                Eol::Dos => before == b'\r' && *byte == b'\n',
                Eol::Unix => before != b'\r' && *byte == b'\n',
                Eol::Mac => *byte == b'\r' && text.get(at + 1).is_some_and(|next| *next != b'\n'),
            };
            if found {
                return true;
            }
            before = *byte;
        }
        false
    }
}
