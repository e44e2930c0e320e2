//! Words for an expression that Python refuses.

/// The reason why an expression is invalid, with the position, as Python says it.
pub fn why_invalid(pattern: &[u8]) -> String {
    let mut groups = Vec::new();
    let mut repeatable = false;
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' if at + 1 == pattern.len() => {
                return format!("bad escape (end of pattern) at position {at}");
            }
            b'\\' => {
                let letter = pattern[at + 1];
                let known = b"abfnrtvxAbBdDsSwWZ0123456789";
                if letter.is_ascii_alphanumeric() && !known.contains(&letter) {
                    return format!("bad escape \\{} at position {at}", char::from(letter));
                }
                at += 1;
                repeatable = true;
            }
            b'[' => match class_end(&pattern[at..]) {
                Some(len) => {
                    at += len;
                    repeatable = true;
                }
                None => return format!("unterminated character set at position {at}"),
            },
            b'(' => {
                groups.push(at);
                repeatable = false;
                if pattern.get(at + 1) == Some(&b'?') {
                    at += 1;
                }
            }
            b')' => {
                if groups.pop().is_none() {
                    return format!("unbalanced parenthesis at position {at}");
                }
                repeatable = true;
            }
            b'*' | b'+' | b'?' if !repeatable => {
                let before = at.checked_sub(1).and_then(|before| pattern.get(before));
                return match before {
                    Some(b'*' | b'+' | b'?') => format!("multiple repeat at position {at}"),
                    _ => format!("nothing to repeat at position {at}"),
                };
            }
            b'*' | b'+' | b'?' => {
                repeatable = false;
                if matches!(pattern.get(at + 1), Some(b'?' | b'+')) {
                    at += 1;
                }
            }
            byte => repeatable = !matches!(byte, b'|' | b'^' | b'$'),
        }
        at += 1;
    }
    match groups.pop() {
        Some(at) => format!("missing ), unterminated subpattern at position {at}"),
        None => "invalid pattern".to_owned(),
    }
}

/// Position of the bracket that ends a class.
fn class_end(class: &[u8]) -> Option<usize> {
    let mut at = 1 + usize::from(class.get(1) == Some(&b'^'));
    let first = at;
    loop {
        match class.get(at)? {
            b']' if at > first => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::why_invalid;

    #[test]
    fn the_reason_has_the_position() {
        for (pattern, expected) in [
            ("**x", "nothing to repeat at position 0"),
            ("a|+", "nothing to repeat at position 2"),
            ("a**", "multiple repeat at position 2"),
            ("ab[", "unterminated character set at position 2"),
            ("[^]", "unterminated character set at position 0"),
            ("x(a", "missing ), unterminated subpattern at position 1"),
            ("a)", "unbalanced parenthesis at position 1"),
            ("a\\", "bad escape (end of pattern) at position 1"),
            ("\\q", "bad escape \\q at position 0"),
        ] {
            assert_eq!(why_invalid(pattern.as_bytes()), expected, "{pattern}");
        }
    }
}
