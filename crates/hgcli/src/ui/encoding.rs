//! Text that the user types or reads, in the encoding of the terminal; repositories hold UTF-8.

use crate::ui::{Abort, Ui, environment};
use std::borrow::Cow;
use varve_lang::{DecodeFault, Encoding};

/// How bytes that are no text of the encoding are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// They are refused.
    #[default]
    Strict,
    /// A sign stands in their place.
    Replace,
    /// They are left out.
    Ignore,
}

/// Bytes before and behind a fault that the message about it shows.
const NEAR: usize = 10;

impl Mode {
    /// `--encodingmode`, or the variable `HGENCODINGMODE`; other words mean nothing.
    pub fn of(typed: Option<&[u8]>) -> Mode {
        let typed = typed.map(<[u8]>::to_vec);
        let mode = typed.filter(|mode| !mode.is_empty());
        match mode
            .or_else(|| environment::variable("HGENCODINGMODE"))
            .as_deref()
        {
            Some(b"replace") => Mode::Replace,
            Some(b"ignore") => Mode::Ignore,
            _ => Mode::Strict,
        }
    }
}

/// The encoding of the terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalEncoding {
    encoding: Encoding,
    /// Encoding of stored text that is not UTF-8.
    fallback: Option<Encoding>,
    mode: Mode,
}

impl LocalEncoding {
    /// The encoding that `--encoding` or the variable `HGENCODING` names, else UTF-8; `fallback` is
    /// `ui.fallbackencoding`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn of(
        typed: Option<&[u8]>,
        fallback: Option<&[u8]>,
        mode: Mode,
    ) -> Result<LocalEncoding, Abort> {
        let typed = typed.filter(|name| !name.is_empty()).map(<[u8]>::to_vec);
        let name = typed.or_else(|| environment::variable("HGENCODING"));
        Ok(LocalEncoding {
            encoding: match name.filter(|name| !name.is_empty()) {
                Some(name) => named(&name)?,
                None => Encoding::Utf8,
            },
            fallback: match fallback.filter(|name| !name.is_empty()) {
                Some(name) => Some(named(name)?),
                None => None,
            },
            mode,
        })
    }

    /// Whether stored text is shown as it is.
    pub fn is_utf8(self) -> bool {
        self.encoding == Encoding::Utf8
    }

    /// The same conversions with output in UTF-8.
    #[must_use]
    pub fn in_utf8(self) -> LocalEncoding {
        LocalEncoding {
            encoding: Encoding::Utf8,
            ..self
        }
    }

    /// Stored text as it is shown, with a question mark for what the terminal lacks. Text that is not
    /// UTF-8 comes from old programs, which stored it in the encoding of their terminal.
    pub fn show(self, stored: &[u8]) -> Cow<'_, [u8]> {
        if std::str::from_utf8(stored).is_ok() {
            return self.encoding.encode_lossy(stored);
        }
        let fallback = self.fallback.unwrap_or(Encoding::Latin1);
        let text = match fallback.decode(stored) {
            Ok(text) => text,
            Err(_) => Cow::Owned(String::from_utf8_lossy(stored).into_owned().into_bytes()),
        };
        Cow::Owned(self.encoding.encode_lossy(&text).into_owned())
    }

    /// Typed text as the repository holds it.
    ///
    /// # Errors
    /// Bytes that are no characters of the encoding, in Mercurial's words.
    pub fn decode(self, typed: &[u8]) -> Result<Vec<u8>, Abort> {
        let mut out = Vec::with_capacity(typed.len());
        let mut start = 0;
        loop {
            let fault = match self.encoding.decode(&typed[start..]) {
                Ok(text) => {
                    out.extend_from_slice(&text);
                    return Ok(out);
                }
                Err(fault) => fault,
            };
            let good = &typed[start..start + fault.at];
            out.extend_from_slice(&self.encoding.decode(good).unwrap_or_default());
            match self.mode {
                Mode::Ignore => {}
                Mode::Replace => out.extend_from_slice("\u{fffd}".as_bytes()),
                Mode::Strict => {
                    return Err(self.refuse(
                        typed,
                        &DecodeFault {
                            at: start + fault.at,
                            ..fault
                        },
                    ));
                }
            }
            start += fault.at + fault.len;
        }
    }

    fn refuse(self, typed: &[u8], fault: &DecodeFault) -> Abort {
        let DecodeFault { at, len, reason } = *fault;
        let near = &typed[at.saturating_sub(NEAR)..typed.len().min(at + NEAR)];
        let place = match len {
            1 => format!("byte 0x{:02x} in position {at}", typed[at]),
            _ => format!("bytes in position {at}-{}", at + len - 1),
        };
        let codec = self.encoding.codec_name();
        let rest = format!("': '{codec}' codec can't decode {place}: {reason}!");
        Abort::Undecodable {
            message: [b"decoding near '", near, rest.as_bytes()].concat(),
        }
    }
}

fn named(name: &[u8]) -> Result<Encoding, Abort> {
    let name = String::from_utf8_lossy(name);
    let found = Encoding::of_name(&name);
    found.ok_or_else(|| {
        Abort::new(format!("unknown encoding: {name}")).hint("please check your locale settings")
    })
}

impl Ui {
    /// Text as the repository holds it.
    ///
    /// # Errors
    /// Bytes that are no characters of the terminal's encoding, in Mercurial's words.
    pub fn decode(&self, typed: &[u8]) -> Result<Vec<u8>, Abort> {
        self.encoding.decode(typed)
    }

    /// Stored text as it is shown.
    pub fn local(&self, stored: &[u8]) -> Vec<u8> {
        self.encoding.show(stored).into_owned()
    }
}
