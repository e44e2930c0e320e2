//! Functions with regular expressions.

use super::eval::{SHOWN, parse_error};
use crate::render::formatter::Value;
use crate::ui::Abort;
use varve_lang::patterns::{PythonRegex, PythonRegexError};

fn compiled(function: &str, pattern: &[u8]) -> Result<PythonRegex, Abort> {
    let shown = String::from_utf8_lossy(pattern);
    PythonRegex::with_groups(pattern).map_err(|refusal| match refusal {
        PythonRegexError::Invalid => {
            parse_error(format!("{function} got an invalid pattern: {shown}"))
        }
        PythonRegexError::Unsupported(what) => {
            parse_error(format!("{what} is not supported in the pattern: {shown}"))
        }
    })
}

/// Names that templates have for parts of Mercurial.
const RESERVED: &[&str] = &["cache", "ctx", "fctx", "repo", "revcache", "ui"];

/// A piece of the replacement of matches.
enum ReplacementPiece {
    Text(Vec<u8>),
    Group(usize),
}

/// Replaces all matches.
pub(super) fn sub(pattern: &[u8], replacement: &[u8], text: &[u8]) -> Result<Value, Abort> {
    let search = compiled("sub", pattern)?;
    let pieces = pieces(replacement).ok_or_else(|| {
        let shown = String::from_utf8_lossy(replacement);
        parse_error(format!("sub got an invalid replacement: {shown}"))
    })?;
    let (mut out, mut copied, mut at) = (Vec::new(), 0, 0);
    while at <= text.len() {
        let Some(groups) = search.find(text, at) else {
            break;
        };
        let Some(Some(whole)) = groups.first().cloned() else {
            break;
        };
        out.extend_from_slice(&text[copied..whole.start]);
        for piece in &pieces {
            match piece {
                ReplacementPiece::Text(text) => out.extend_from_slice(text),
                ReplacementPiece::Group(number) => {
                    let range = groups.get(*number).cloned().flatten();
                    let range = match range {
                        Some(range) => range,
                        None if *number < groups.len() => 0..0,
                        None => {
                            let shown = String::from_utf8_lossy(replacement);
                            let message = format!("sub got an invalid replacement: {shown}");
                            return Err(parse_error(message));
                        }
                    };
                    out.extend_from_slice(&text[range]);
                }
            }
        }
        copied = whole.end;
        // An empty match moves on by a byte.
        at = if whole.is_empty() {
            whole.end + 1
        } else {
            whole.end
        };
    }
    out.extend_from_slice(&text[copied..]);
    Ok(Value::Text(out))
}

fn pieces(mut rest: &[u8]) -> Option<Vec<ReplacementPiece>> {
    let (mut pieces, mut plain) = (Vec::new(), Vec::new());
    while let [byte, behind @ ..] = rest {
        rest = behind;
        if *byte != b'\\' {
            plain.push(*byte);
            continue;
        }
        let (escaped, behind) = rest.split_first()?;
        rest = behind;
        let group = match escaped {
            b'\\' => {
                plain.push(b'\\');
                continue;
            }
            b'n' | b't' | b'r' => {
                plain.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    _ => b'\r',
                });
                continue;
            }
            b'g' => {
                let end = rest.iter().position(|byte| *byte == b'>')?;
                let name = std::str::from_utf8(rest[..end].strip_prefix(b"<")?).ok()?;
                rest = &rest[end + 1..];
                name.parse().ok()?
            }
            b'1'..=b'9' => {
                let mut number = usize::from(escaped - b'0');
                if let Some(digit @ b'0'..=b'9') = rest.first() {
                    number = number * 10 + usize::from(digit - b'0');
                    rest = &rest[1..];
                }
                number
            }
            letter if letter.is_ascii_alphanumeric() => return None,
            other => {
                plain.extend_from_slice(&[b'\\', *other]);
                continue;
            }
        };
        pieces.push(ReplacementPiece::Text(std::mem::take(&mut plain)));
        pieces.push(ReplacementPiece::Group(group));
    }
    pieces.push(ReplacementPiece::Text(plain));
    Some(pieces)
}

/// The first match, with its groups as parts.
pub(super) fn search(pattern: &[u8], text: &[u8]) -> Result<Value, Abort> {
    let search = compiled("search", pattern)?;
    let mut reserved: Vec<String> = search
        .names()
        .filter(|(_, name)| RESERVED.contains(name))
        .map(|(_, name)| format!("'{name}'"))
        .collect();
    if !reserved.is_empty() {
        reserved.sort_unstable();
        let (groups, shown) = (reserved.join(", "), String::from_utf8_lossy(pattern));
        let words = format!("invalid group {groups} in search pattern: {shown}");
        return Err(parse_error(words));
    }
    let Some(groups) = search.find(text, 0) else {
        return Ok(Value::Null);
    };
    let part = |range: &Option<std::ops::Range<usize>>| {
        let range = range.clone();
        range.map_or(Value::Null, |range| Value::from(&text[range]))
    };
    let numbered = groups.iter().enumerate();
    let mut parts: Vec<(Vec<u8>, Value)> = numbered
        .map(|(number, range)| (number.to_string().into_bytes(), part(range)))
        .collect();
    let named = search.names().map(|(number, name)| {
        let range = groups.get(number).unwrap_or(&None);
        (name.as_bytes().to_vec(), part(range))
    });
    parts.extend(named);
    let whole = groups.first().cloned().flatten().unwrap_or(0..0);
    parts.push((SHOWN.to_vec(), Value::from(&text[whole])));
    Ok(Value::Dict(parts))
}
