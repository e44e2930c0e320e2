//! From [`BundleSpec`] to text that reads back as the same.

use super::BundleSpec;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;

/// Characters that are not escaped, besides letters and digits.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl fmt::Display for BundleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.engine.name(), self.kind.name())?;
        for (key, value) in &self.params {
            f.write_str(";")?;
            escape(key, f)?;
            f.write_str("=")?;
            escape(value, f)?;
        }
        Ok(())
    }
}

/// Capital letters are escaped too, since a bundlespec is read in lower case.
fn escape(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for letter in text.chars() {
        if letter.is_ascii_uppercase() {
            write!(f, "%{:02X}", u32::from(letter))?;
        } else {
            let mut buffer = [0; 4];
            let text = letter.encode_utf8(&mut buffer);
            write!(f, "{}", utf8_percent_encode(text, ESCAPED))?;
        }
    }
    Ok(())
}
