//! Text that the user types: it is UTF-8, which is also the encoding in repositories.

use crate::ui::{Abort, Ui, environment};

/// How bytes that are not UTF-8 are handled.
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

impl Ui {
    /// Text as the repository holds it.
    ///
    /// # Errors
    /// Bytes that are not UTF-8, in Mercurial's words.
    pub fn decode(&self, typed: &[u8]) -> Result<Vec<u8>, Abort> {
        let mut out = Vec::with_capacity(typed.len());
        let mut start = 0;
        for chunk in typed.utf8_chunks() {
            out.extend_from_slice(chunk.valid().as_bytes());
            let (at, wrong) = (start + chunk.valid().len(), chunk.invalid());
            start = at + wrong.len();
            match self.encoding {
                _ if wrong.is_empty() => {}
                Mode::Ignore => {}
                Mode::Replace => out.extend_from_slice("\u{fffd}".as_bytes()),
                Mode::Strict => return Err(fault(typed, at, wrong)),
            }
        }
        Ok(out)
    }
}

fn fault(typed: &[u8], at: usize, wrong: &[u8]) -> Abort {
    let end = at + wrong.len();
    let near = &typed[at.saturating_sub(NEAR)..typed.len().min(at + NEAR)];
    let near = String::from_utf8_lossy(near);
    let place = match wrong {
        [byte] => format!("byte 0x{byte:02x} in position {at}"),
        _ => format!("bytes in position {at}-{}", end - 1),
    };
    let reason = match wrong[0] {
        0x80..=0xc1 | 0xf5..=0xff => "invalid start byte",
        _ if end == typed.len() => "unexpected end of data",
        _ => "invalid continuation byte",
    };
    Abort::new(format!(
        "decoding near '{near}': 'utf-8' codec can't decode {place}: {reason}!"
    ))
}
