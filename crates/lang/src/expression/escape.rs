//! Backslash escapes of strings, as in Python's byte strings.

use super::SyntaxError;

/// Decodes all escapes of a string.
///
/// # Errors
/// A malformed `\x` or a backslash at the end.
pub fn unescape(text: &[u8]) -> Result<Vec<u8>, SyntaxError> {
    let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(byte) = text.get(at) {
        if *byte == b'\\' {
            at += unescape_one(text, at, &mut out)?;
        } else {
            out.push(*byte);
            at += 1;
        }
    }
    Ok(out)
}

/// Decodes the escape whose backslash is at `at` and returns its length. An unknown escape stands
/// for itself.
///
/// # Errors
/// A malformed `\x`, with its position in `text`, or a backslash at the end.
fn unescape_one(text: &[u8], at: usize, out: &mut Vec<u8>) -> Result<usize, SyntaxError> {
    let Some(letter) = text.get(at + 1) else {
        return Err(SyntaxError::new("trailing \\ in string"));
    };
    let byte = match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'v' => 11,
        b'\\' | b'\'' | b'"' => *letter,
        // A line break behind a backslash continues the line.
        b'\n' => return Ok(2),
        b'0'..=b'7' => {
            let digits = text[at + 1..].iter().take(3);
            let digits = digits.take_while(|digit| (b'0'..=b'7').contains(*digit));
            let (value, len) = digits.fold((0_u8, 0), |(value, len), digit| {
                let value = value.wrapping_mul(8).wrapping_add(digit - b'0');
                (value, len + 1)
            });
            out.push(value);
            return Ok(1 + len);
        }
        b'x' => {
            let digit = |offset: usize| char::from(*text.get(at + offset)?).to_digit(16);
            let Some((high, low)) = digit(2).zip(digit(3)) else {
                let message = format!("invalid \\x escape at position {at}");
                return Err(SyntaxError::new(message));
            };
            out.push((high << 4 | low) as u8);
            return Ok(4);
        }
        other => {
            out.push(b'\\');
            *other
        }
    };
    out.push(byte);
    Ok(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Recorded from `parser.unescapestr` of Mercurial 7.2.4.
    #[test]
    fn escapes_are_those_of_python() {
        for (text, expected) in [
            (&b"a\\nb\\t\\\\"[..], &b"a\nb\t\\"[..]),
            (b"\\x41\\x7e", b"A~"),
            (b"\\101\\0\\7x\\777", b"A\0\x07x\xff"),
            (b"\\q\\'\\\"", b"\\q'\""),
            (b"a\\\nb", b"ab"),
        ] {
            assert_eq!(unescape(text).as_deref(), Ok(expected));
        }
        let error = |text| unescape(text).unwrap_err().message;
        assert_eq!(error(b"ab\\x4"), "invalid \\x escape at position 2");
        assert_eq!(error(b"\\xg0"), "invalid \\x escape at position 0");
        assert_eq!(error(b"\\"), "trailing \\ in string");
    }

    proptest! {
        #[test]
        fn any_bytes_come_back_from_hexadecimal_escapes(bytes: Vec<u8>) {
            let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            prop_assert_eq!(unescape(escaped.as_bytes()), Ok(bytes));
        }
    }
}
