//! Globs as regular expressions.
//!
//! ```text
//! *      any bytes but slashes        **     any bytes
//! **/    any directories, or none         ?      one byte
//! [a-z]  one of these, [!a] not       {a,b}  either
//! \x     x itself
//! ```

/// Deepest nesting of braces.
const DEPTH: usize = 100;

/// Appends the expression of a glob; `None` if its braces do not match.
pub(super) fn push_regex(mut rest: &[u8], out: &mut String) -> Option<()> {
    let mut depth = 0_usize;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'*' => rest = push_star(rest, out),
            b'?' => out.push('.'),
            b'[' => rest = push_class(rest, out),
            b'{' => {
                depth += 1;
                out.push_str("(?:");
            }
            b'}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            b',' if depth > 0 => out.push('|'),
            b'\\' => match rest {
                [literal, behind @ ..] => {
                    push_literal(&[*literal], out);
                    rest = behind;
                }
                [] => push_literal(b"\\", out),
            },
            other => push_literal(&[*other], out),
        }
        if depth > DEPTH {
            return None;
        }
    }
    (depth == 0).then_some(())
}

fn push_star<'a>(rest: &'a [u8], out: &mut String) -> &'a [u8] {
    match rest {
        [b'*', b'/', behind @ ..] => {
            out.push_str("(?:.*/)?");
            behind
        }
        [b'*', behind @ ..] => {
            out.push_str(".*");
            behind
        }
        _ => {
            out.push_str("[^/]*");
            rest
        }
    }
}

/// A class without an end is a bracket like any other byte.
fn push_class<'a>(rest: &'a [u8], out: &mut String) -> &'a [u8] {
    let negated = rest.first() == Some(&b'!');
    let start = usize::from(negated);
    // A bracket that closes at once belongs to the class.
    let skip = usize::from(matches!(rest.get(start), Some(b']')));
    let end = rest
        .iter()
        .skip(start + skip)
        .position(|byte| *byte == b']');
    let Some(end) = end.map(|end| start + skip + end) else {
        push_literal(b"[", out);
        return rest;
    };
    out.push('[');
    if negated {
        out.push('^');
    }
    push_class_items(&rest[start..end], negated, out);
    out.push(']');
    &rest[end + 1..]
}

fn push_class_items(mut items: &[u8], negated: bool, out: &mut String) {
    // As in an expression, a roof at the beginning negates.
    if let ([b'^', behind @ ..], false) = (items, negated)
        && !behind.is_empty()
    {
        out.push('^');
        items = behind;
    }
    while let [low, behind @ ..] = items {
        items = behind;
        push_byte(*low, out);
        if let [b'-', high, behind @ ..] = items {
            out.push('-');
            push_byte((*high).max(*low), out);
            items = behind;
        }
    }
}

/// One byte, written so that it means itself anywhere in an expression.
pub(super) fn push_byte(byte: u8, out: &mut String) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b' ') {
        out.push(char::from(byte));
    } else {
        out.push_str(&format!("\\x{byte:02x}"));
    }
}

/// Bytes that mean themselves.
pub(super) fn push_literal(bytes: &[u8], out: &mut String) {
    bytes.iter().for_each(|byte| push_byte(*byte, out));
}

/// The directories at the beginning of a glob, or the whole, that are no pattern.
pub(super) fn fixed_prefix(glob: &[u8]) -> &[u8] {
    let wild = |byte: &u8| matches!(byte, b'[' | b'{' | b'*' | b'?' | b'\\');
    match glob.iter().position(wild) {
        None if glob == b"." => b"",
        None => glob,
        Some(at) => {
            let slash = glob[..at].iter().rposition(|byte| *byte == b'/');
            &glob[..slash.unwrap_or(0)]
        }
    }
}
