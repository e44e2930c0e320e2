//! Words of the language.

use super::FilesetError;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a pattern without quotes.
    Symbol(Vec<u8>),
    /// Between quotes.
    Text(Vec<u8>),
    /// An operator.
    Operator(&'static str),
    /// Behind the last word.
    End,
}

impl Token {
    /// As messages call it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Token::Symbol(_) => "symbol",
            Token::Text(_) => "string",
            Token::Operator(operator) => operator,
            Token::End => "end",
        }
    }
}

fn is_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b".*{}[]?/\\_".contains(&byte)
}

/// Takes an expression apart; each word with its place, the last is [`Token::End`].
pub(super) fn tokens(text: &[u8]) -> Result<Vec<(usize, Token)>, FilesetError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let start = at;
        let token = match byte {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'(' => operator("(", &mut at),
            b')' => operator(")", &mut at),
            b'-' => operator("-", &mut at),
            b':' => operator(":", &mut at),
            b',' => operator(",", &mut at),
            b'&' => operator("and", &mut at),
            b'|' | b'+' => operator("or", &mut at),
            b'!' => operator("not", &mut at),
            b'"' | b'\'' => quoted(text, &mut at, false)?,
            b'r' if matches!(text.get(at + 1), Some(b'"' | b'\'')) => {
                at += 1;
                quoted(text, &mut at, true)?
            }
            byte if is_symbol(*byte) => {
                let rest = text[at..].iter();
                at += rest.take_while(|byte| is_symbol(**byte)).count();
                match &text[start..at] {
                    b"and" => Token::Operator("and"),
                    b"or" => Token::Operator("or"),
                    b"not" => Token::Operator("not"),
                    symbol => Token::Symbol(symbol.to_vec()),
                }
            }
            _ => return Err(FilesetError::at(at, "syntax error")),
        };
        found.push((start, token));
    }
    found.push((text.len(), Token::End));
    Ok(found)
}

fn operator(name: &'static str, at: &mut usize) -> Token {
    *at += 1;
    Token::Operator(name)
}

/// A string; `at` is at its first quote.
fn quoted(text: &[u8], at: &mut usize, is_raw: bool) -> Result<Token, FilesetError> {
    let quote = text[*at];
    let start = *at + 1;
    let mut end = start;
    while let Some(byte) = text.get(end) {
        if *byte == quote {
            *at = end + 1;
            let inner = &text[start..end];
            return Ok(Token::Text(match is_raw {
                true => inner.to_vec(),
                false => unescaped(inner),
            }));
        }
        end += if *byte == b'\\' { 2 } else { 1 };
    }
    Err(FilesetError::at(start, "unterminated string"))
}

/// Resolves what a backslash means in Python's strings; an unknown letter keeps its backslash.
fn unescaped(mut text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [byte, rest @ ..] = text {
        text = rest;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let Some((letter, behind)) = rest.split_first() else {
            out.push(b'\\');
            break;
        };
        text = behind;
        match letter {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'v' => out.push(11),
            b'\\' | b'\'' | b'"' => out.push(*letter),
            b'\n' => {}
            b'0'..=b'7' => {
                let digits = rest.iter().take(3);
                let digits: Vec<u8> = digits
                    .copied()
                    .take_while(|digit| (b'0'..=b'7').contains(digit))
                    .collect();
                let number = digits
                    .iter()
                    .fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
                out.push(number as u8);
                text = &rest[digits.len()..];
            }
            b'x' if behind.len() >= 2 && behind[..2].iter().all(u8::is_ascii_hexdigit) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default() as u8;
                out.push(digit(behind[0]) << 4 | digit(behind[1]));
                text = &behind[2..];
            }
            other => out.extend_from_slice(&[b'\\', *other]),
        }
    }
    out
}
