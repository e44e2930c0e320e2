//! From bytes to tokens.

use crate::RevsetError;

/// The smallest parts of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Symbol(Vec<u8>),
    Text(Vec<u8>),
    /// Operators and the words `and`, `or`, `not`, spelled as in the query.
    Operator(&'static str),
    End,
}

impl Token {
    /// What messages call it.
    pub fn name(&self) -> &'static str {
        match self {
            Token::Symbol(_) => "symbol",
            Token::Text(_) => "string",
            Token::Operator(text) => text,
            Token::End => "end",
        }
    }
}

/// Longer ones first.
const OPERATORS: &[&str] = &[
    "::", "..", "##", "(", ")", ":", "=", ",", "-", "|", "&", "+", "!", "~", "^", "%", "#", "[",
    "]",
];

const WORDS: &[&str] = &["and", "or", "not"];

/// Takes a query apart; each token with its place. `is_name` decides whether a word with hyphens
/// is one name or a difference.
pub(crate) fn tokens(
    query: &[u8],
    is_name: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<(usize, Token)>, RevsetError> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(byte) = query.get(at) {
        let rest = &query[at..];
        if byte.is_ascii_whitespace() {
            at += 1;
        } else if let Some(operator) = operator(rest) {
            found.push((at, Token::Operator(operator)));
            at += operator.len();
        } else if let Some(raw) = quote(rest) {
            let (text, end) = quoted(query, at + usize::from(raw), raw)?;
            found.push((at, Token::Text(text)));
            at = end;
        } else if begins_symbol(*byte) {
            let len = symbol_len(rest);
            push_symbol(at, &rest[..len], is_name, &mut found);
            at += len;
        } else {
            let shown = String::from_utf8_lossy(query);
            return Err(RevsetError::at(
                at,
                format!("syntax error in revset '{shown}'"),
            ));
        }
    }
    found.push((query.len(), Token::End));
    Ok(found)
}

fn operator(rest: &[u8]) -> Option<&'static str> {
    let mut operators = OPERATORS.iter();
    operators
        .find(|operator| rest.starts_with(operator.as_bytes()))
        .copied()
}

/// Whether a string begins here, and whether backslashes stand for themselves in it.
fn quote(rest: &[u8]) -> Option<bool> {
    match rest {
        [b'"' | b'\'', ..] => Some(false),
        [b'r', b'"' | b'\'', ..] => Some(true),
        _ => None,
    }
}

/// Reads the string whose quotation mark stands at `open`.
fn quoted(query: &[u8], open: usize, raw: bool) -> Result<(Vec<u8>, usize), RevsetError> {
    let (mark, start) = (query[open], open + 1);
    let mut end = start;
    loop {
        match query.get(end) {
            None => return Err(RevsetError::at(start, "unterminated string")),
            Some(byte) if *byte == mark => break,
            Some(b'\\') if !raw => end += 2,
            Some(_) => end += 1,
        }
    }
    let text = &query[start..end];
    let text = if raw { text.to_vec() } else { unescape(text)? };
    Ok((text, end + 1))
}

/// Backslash sequences as Python's bytes have them.
fn unescape(text: &[u8]) -> Result<Vec<u8>, RevsetError> {
    let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(byte) = text.get(at) {
        if *byte != b'\\' {
            out.push(*byte);
            at += 1;
            continue;
        }
        let place = at;
        at += 2;
        let byte = match text.get(place + 1) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'v') => 11,
            Some(quoted @ (b'\\' | b'\'' | b'"')) => *quoted,
            Some(digit @ b'0'..=b'7') => octal(*digit, text, &mut at),
            Some(b'x') => {
                at += 2;
                let digits = text.get(place + 2..place + 4);
                let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                byte.ok_or_else(|| {
                    RevsetError::parse(format!("invalid \\x escape at position {place}"))
                })?
            }
            Some(other) => {
                out.push(b'\\');
                *other
            }
            None => b'\\',
        };
        out.push(byte);
    }
    Ok(out)
}

fn octal(first: u8, text: &[u8], at: &mut usize) -> u8 {
    let mut value = first - b'0';
    for _ in 0..2 {
        let Some(digit @ b'0'..=b'7') = text.get(*at) else {
            break;
        };
        value = value.wrapping_mul(8).wrapping_add(digit - b'0');
        *at += 1;
    }
    value
}

fn begins_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@') || byte > 127
}

fn symbol_len(rest: &[u8]) -> usize {
    let belongs = |byte: u8| begins_symbol(byte) || matches!(byte, b'-' | b'/');
    let mut len = 1;
    while let Some(byte) = rest.get(len).copied().filter(|byte| belongs(*byte)) {
        // A range of two dots ends the name before it.
        if byte == b'.' && rest[len - 1] == b'.' {
            return len - 1;
        }
        len += 1;
    }
    len
}

fn push_symbol(
    at: usize,
    symbol: &[u8],
    is_name: &dyn Fn(&[u8]) -> bool,
    found: &mut Vec<(usize, Token)>,
) {
    if let Some(word) = WORDS.iter().find(|word| word.as_bytes() == symbol) {
        found.push((at, Token::Operator(word)));
        return;
    }
    if !symbol.contains(&b'-') || is_name(symbol) {
        found.push((at, Token::Symbol(symbol.to_vec())));
        return;
    }
    let mut at = at;
    for (number, part) in symbol.split(|byte| *byte == b'-').enumerate() {
        if number > 0 {
            found.push((at, Token::Operator("-")));
            at += 1;
        }
        if !part.is_empty() {
            found.push((at, Token::Symbol(part.to_vec())));
            at += part.len();
        }
    }
}

/// Whether the bytes are read as one symbol.
#[cfg(test)]
pub(crate) fn is_plain_symbol(text: &[u8]) -> bool {
    matches!(
        &tokens(text, &|_| false).as_deref(),
        Ok([(_, Token::Symbol(_)), (_, Token::End)])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(query: &str) -> Vec<String> {
        let show = |(at, token): (usize, Token)| match token {
            Token::Symbol(text) => format!("{at}{}", String::from_utf8(text).unwrap()),
            Token::Text(text) => format!("{at}{:?}", String::from_utf8(text).unwrap()),
            other => format!("{at}{}", other.name()),
        };
        let tokens = tokens(query.as_bytes(), &|name| name == b"a-name").unwrap();
        tokens.into_iter().map(show).collect()
    }

    #[test]
    fn names_strings_and_operators_are_told_apart() {
        assert_eq!(names("a-name-b"), ["0a", "1-", "2name", "6-", "7b", "8end"]);
        assert_eq!(names("a-name"), ["0a-name", "6end"]);
        assert_eq!(names("1.2..3"), ["01.2", "3..", "53", "6end"]);
        assert_eq!(names("not x/y"), ["0not", "4x/y", "7end"]);
        assert_eq!(
            names(r#"'\x41\n' r"\x""#),
            [r#"0"A\n""#, r#"9"\\x""#, "14end"]
        );
        assert_eq!(names("::."), ["0::", "2.", "3end"]);
    }
}
