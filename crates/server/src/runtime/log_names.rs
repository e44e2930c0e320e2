//! Names of things as parts of logs' names: all letters but those that both may have are escaped as `.` and two digits.

use std::fmt::Write;
use varve_shared::{LogId, SharedError};

/// The log with this prefix of the thing with this name.
///
/// # Errors
/// [`SharedError::BadName`].
pub(crate) fn escape(prefix: &str, name: &str) -> Result<LogId, SharedError> {
    let mut log = prefix.to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'+' | b'-' => log.push(char::from(byte)),
            other => {
                // Writing to a text does not fail.
                let _ = write!(log, ".{other:02x}");
            }
        }
    }
    LogId::new(&log)
}

/// The name of the thing whose log has this prefix; `None` for other logs.
pub(crate) fn unescape(prefix: &str, log: &str) -> Option<String> {
    let mut rest = log.strip_prefix(prefix)?;
    let mut name = Vec::new();
    while let Some((plain, escaped)) = rest.split_once('.') {
        name.extend_from_slice(plain.as_bytes());
        let digits = escaped.get(..2)?;
        name.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &escaped[2..];
    }
    name.extend_from_slice(rest.as_bytes());
    String::from_utf8(name).ok()
}
