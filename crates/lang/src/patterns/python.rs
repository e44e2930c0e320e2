//! Python's regular expressions, written in the language of the `regex` crate.
//!
//! Most of both is the same. Differences: brackets and operators inside of classes, braces that
//! count nothing, escapes, comments, and bytes above 127. Forms that need backtracking (look-around,
//! references to groups, possessive repeats, atomic groups, conditions) are refused by name where time must be
//! linear, and else written for the crate `fancy-regex`, whose language has the same forms.

use super::glob::push_byte;

/// An expression that cannot be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PythonRegexError {
    /// Python refuses it too.
    #[error("invalid regular expression")]
    Invalid,
    /// Python accepts this construct, but it cannot be matched in linear time.
    #[error("{0} cannot be matched in linear time and is not supported")]
    Unsupported(&'static str),
}

use PythonRegexError::{Invalid, Unsupported};

/// Names of groups in a translated expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupNames {
    Kept,
    /// Two patterns of one expression may have groups of one name, which nothing asks for.
    Dropped,
}

/// The engine of a translated expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexEngine {
    /// Takes time in proportion to the length of the text, also for hostile expressions.
    Linear,
    /// May try very many ways to match, as Python does: for expressions of the user who waits for it.
    Backtracking,
}

impl RegexEngine {
    /// Appends what a form is written like, if it is not refused.
    fn push(
        self,
        form: &'static str,
        written: &str,
        out: &mut String,
    ) -> Result<(), PythonRegexError> {
        match self {
            RegexEngine::Linear => Err(Unsupported(form)),
            RegexEngine::Backtracking => {
                out.push_str(written);
                Ok(())
            }
        }
    }
}

/// Appends the translated expression.
pub(super) fn push_regex(
    mut rest: &[u8],
    dialect: (GroupNames, RegexEngine),
    out: &mut String,
) -> Result<(), PythonRegexError> {
    let (names, engine) = dialect;
    // Whether something stands before that can be repeated.
    let mut repeatable = false;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let counts = match byte {
            b'*' | b'+' | b'?' => true,
            b'{' => count(rest).is_some(),
            _ => false,
        };
        if counts && !repeatable {
            return Err(Invalid);
        }
        repeatable = !(counts || matches!(byte, b'(' | b'|' | b'^' | b'$'));
        match byte {
            b'\\' => {
                repeatable = !matches!(rest, [b'A' | b'b' | b'B' | b'Z', ..]);
                rest = push_escape(rest, engine, out)?;
            }
            b'[' => rest = push_class(rest, out)?,
            b'(' => rest = push_group(rest, (names, engine), out)?,
            b'{' if counts => rest = push_count(rest, engine, out)?,
            b'*' | b'+' | b'?' => {
                out.push(char::from(*byte));
                rest = after_repeat(rest, engine, out)?;
            }
            b'.' | b'^' | b'$' | b'|' | b')' => out.push(char::from(*byte)),
            other => push_byte(*other, out),
        }
    }
    Ok(())
}

/// Suffix of `*`, `+`, `?` and counts: `?` for as few as possible, `+` for as many without giving any back.
fn after_repeat<'a>(
    rest: &'a [u8],
    engine: RegexEngine,
    out: &mut String,
) -> Result<&'a [u8], PythonRegexError> {
    match rest {
        [b'?', behind @ ..] => {
            out.push('?');
            Ok(behind)
        }
        [b'+', behind @ ..] => {
            engine.push("a possessive repeat", "+", out)?;
            Ok(behind)
        }
        [b'*', ..] => Err(Invalid),
        _ => Ok(rest),
    }
}

fn push_escape<'a>(
    rest: &'a [u8],
    engine: RegexEngine,
    out: &mut String,
) -> Result<&'a [u8], PythonRegexError> {
    let [byte, behind @ ..] = rest else {
        return Err(Invalid);
    };
    match byte {
        b'1'..=b'9' => return push_reference(rest, engine, out),
        b'Z' => out.push_str("\\z"),
        b'A' | b'b' | b'B' | b'd' | b'D' | b's' | b'S' | b'w' | b'W' => {
            out.push('\\');
            out.push(char::from(*byte));
        }
        _ => {
            let (byte, behind) = escaped_byte(rest)?;
            push_byte(byte, out);
            return Ok(behind);
        }
    }
    Ok(behind)
}

/// A group by its number, of one or two digits.
fn push_reference<'a>(
    rest: &'a [u8],
    engine: RegexEngine,
    out: &mut String,
) -> Result<&'a [u8], PythonRegexError> {
    let digits = rest.iter().take(2);
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let number = String::from_utf8_lossy(&rest[..digits]);
    // In a group of its own, so that no digit behind it counts.
    engine.push("a reference to a group", &format!("(?:\\{number})"), out)?;
    Ok(&rest[digits..])
}

/// The byte that an escape means, and the rest behind it.
fn escaped_byte(rest: &[u8]) -> Result<(u8, &[u8]), PythonRegexError> {
    let [byte, behind @ ..] = rest else {
        return Err(Invalid);
    };
    let byte = match byte {
        b'a' => 7,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'x' => {
            let digits = behind
                .get(..2)
                .and_then(|two| std::str::from_utf8(two).ok());
            let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            return Ok((value.ok_or(Invalid)?, &behind[2..]));
        }
        b'0' => {
            let octal = behind.iter().take(2);
            let count = octal
                .take_while(|byte| (b'0'..=b'7').contains(*byte))
                .count();
            let value = behind[..count]
                .iter()
                .fold(0, |value, digit| value * 8 + (digit - b'0'));
            return Ok((value, &behind[count..]));
        }
        letter if letter.is_ascii_alphanumeric() => return Err(Invalid),
        other => *other,
    };
    Ok((byte, behind))
}

fn push_group<'a>(
    rest: &'a [u8],
    dialect: (GroupNames, RegexEngine),
    out: &mut String,
) -> Result<&'a [u8], PythonRegexError> {
    let Some(extension) = rest.strip_prefix(b"?") else {
        out.push('(');
        return Ok(rest);
    };
    let mut push = |form, written: &str| dialect.1.push(form, written, out);
    match extension {
        [b'#', comment @ ..] => {
            let end = comment.iter().position(|byte| *byte == b')');
            Ok(&comment[end.ok_or(Invalid)? + 1..])
        }
        [b'=', behind @ ..] => push("look-around", "(?=").map(|()| behind),
        [b'!', behind @ ..] => push("look-around", "(?!").map(|()| behind),
        [b'<', b'=', behind @ ..] => push("look-around", "(?<=").map(|()| behind),
        [b'<', b'!', behind @ ..] => push("look-around", "(?<!").map(|()| behind),
        [b'>', behind @ ..] => push("an atomic group", "(?>").map(|()| behind),
        [b'(', rest @ ..] => {
            let (group, behind) = named_until(rest, b')')?;
            let condition = match group.bytes().all(|byte| byte.is_ascii_digit()) {
                true => format!("(?({group})"),
                false => format!("(?(<{group}>)"),
            };
            push("a condition", &condition).map(|()| behind)
        }
        [b'P', b'=', rest @ ..] => {
            let (name, behind) = named_until(rest, b')')?;
            push("a reference to a group", &format!("(?P={name})")).map(|()| behind)
        }
        [b'P', b'<', rest @ ..] => push_named(rest, dialect, out),
        _ => push_flags(extension, out),
    }
}

/// A number or a name of a group, and what follows the byte that ends it.
fn named_until(rest: &[u8], end: u8) -> Result<(&str, &[u8]), PythonRegexError> {
    let at = rest.iter().position(|byte| *byte == end).ok_or(Invalid)?;
    let name = std::str::from_utf8(&rest[..at]).map_err(|_| Invalid)?;
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    match is_number || is_identifier(name) {
        true => Ok((name, &rest[at + 1..])),
        false => Err(Invalid),
    }
}

fn push_named<'a>(
    rest: &'a [u8],
    (names, engine): (GroupNames, RegexEngine),
    out: &mut String,
) -> Result<&'a [u8], PythonRegexError> {
    let end = rest.iter().position(|byte| *byte == b'>').ok_or(Invalid)?;
    match (names, engine) {
        // Nothing in an expression of linear time refers to them.
        (GroupNames::Dropped, RegexEngine::Linear) => out.push_str("(?:"),
        _ => {
            let name = std::str::from_utf8(&rest[..end])
                .ok()
                .filter(|it| is_identifier(it));
            out.push_str(&format!("(?P<{}>", name.ok_or(Invalid)?));
        }
    }
    Ok(&rest[end + 1..])
}

/// True for the ASCII part of Python's identifiers.
fn is_identifier(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_word) && name.starts_with(|first: char| !first.is_ascii_digit())
}

/// `ims-x:` or `imsx)`.
fn push_flags<'a>(flags: &'a [u8], out: &mut String) -> Result<&'a [u8], PythonRegexError> {
    let end = flags.iter().position(|byte| matches!(byte, b':' | b')'));
    let end = end.ok_or(Invalid)?;
    out.push_str("(?");
    for flag in &flags[..end] {
        match flag {
            b'i' | b'm' | b's' | b'-' => out.push(char::from(*flag)),
            // In bytes, letters are those of ASCII anyway.
            b'a' => {}
            b'x' => return Err(Unsupported("the flag x")),
            b'L' => return Err(Unsupported("the flag L")),
            _ => return Err(Invalid),
        }
    }
    if out.ends_with("(?") && flags[end] == b')' {
        out.truncate(out.len() - 2);
    } else {
        out.push(char::from(flags[end]));
    }
    Ok(&flags[end + 1..])
}

/// How often `2}`, `2,}`, `,3}` and `2,3}` repeat, in the form of `{2,3}`, and how long it is; any
/// other brace is a byte.
fn count(rest: &[u8]) -> Option<(String, usize)> {
    let end = rest.iter().position(|byte| *byte == b'}')?;
    let inner = std::str::from_utf8(&rest[..end]).ok()?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let counts = match inner.split_once(',') {
        Some((low, high)) if is_number(low) && is_number(high) => {
            let low = if low.is_empty() { "0" } else { low };
            format!("{{{low},{high}}}")
        }
        None if !inner.is_empty() && is_number(inner) => format!("{{{inner}}}"),
        _ => return None,
    };
    Some((counts, end + 1))
}

fn push_count<'a>(
    rest: &'a [u8],
    engine: RegexEngine,
    out: &mut String,
) -> Result<&'a [u8], PythonRegexError> {
    let (counts, len) = count(rest).ok_or(Invalid)?;
    out.push_str(&counts);
    after_repeat(&rest[len..], engine, out)
}

fn push_class<'a>(mut rest: &'a [u8], out: &mut String) -> Result<&'a [u8], PythonRegexError> {
    out.push('[');
    if let [b'^', behind @ ..] = rest {
        out.push('^');
        rest = behind;
    }
    let mut first = true;
    loop {
        match rest {
            [] => return Err(Invalid),
            [b']', behind @ ..] if !first => {
                out.push(']');
                return Ok(behind);
            }
            [
                b'\\',
                letter @ (b'd' | b'D' | b's' | b'S' | b'w' | b'W'),
                behind @ ..,
            ] => {
                out.push('\\');
                out.push(char::from(*letter));
                rest = behind;
            }
            _ => rest = push_range(rest, out)?,
        }
        first = false;
    }
}

/// One byte of a class, or two with a hyphen between.
fn push_range<'a>(rest: &'a [u8], out: &mut String) -> Result<&'a [u8], PythonRegexError> {
    let (low, behind) = class_byte(rest)?;
    push_byte(low, out);
    let [b'-', upper @ ..] = behind else {
        return Ok(behind);
    };
    if matches!(upper, [] | [b']', ..]) {
        return Ok(behind);
    }
    let (high, behind) = class_byte(upper)?;
    if high < low {
        return Err(Invalid);
    }
    out.push('-');
    push_byte(high, out);
    Ok(behind)
}

fn class_byte(rest: &[u8]) -> Result<(u8, &[u8]), PythonRegexError> {
    match rest {
        [b'\\', b'b', behind @ ..] => Ok((8, behind)),
        [b'\\', behind @ ..] => escaped_byte(behind),
        [byte, behind @ ..] => Ok((*byte, behind)),
        [] => Err(Invalid),
    }
}
