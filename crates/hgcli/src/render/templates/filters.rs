//! Filters: one value into another.

use super::eval::{date, described, parse_error, text};
use crate::render::changesets::first_line;
use crate::render::formatter::{Value, push_cbor, push_json};
use crate::ui::Abort;

/// Digits of a short node.
const SHORT: usize = 12;

type Filter = fn(Value) -> Result<Value, Abort>;

/// All filters, sorted by name.
const FILTERS: &[(&str, Filter)] = &[
    ("addbreaks", |value| {
        of_text(value, |text| replace(text, b"\n", b"<br/>\n"))
    }),
    ("age", age),
    ("basename", |value| {
        of_text(value, |text| after_last(text, b'/').to_vec())
    }),
    ("cbor", |value| {
        let mut out = Vec::new();
        push_cbor(&value, &mut out);
        Ok(Value::Text(out))
    }),
    ("commondir", commondir),
    ("count", count),
    ("dirname", |value| {
        of_text(value, |text| before_last(text, b'/').to_vec())
    }),
    ("domain", |value| of_text(value, domain)),
    ("email", |value| of_text(value, |text| email(text).to_vec())),
    ("emailuser", |value| {
        of_text(value, |text| before(email(text), b'@').to_vec())
    }),
    ("escape", |value| of_text(value, escape)),
    ("fill68", |value| {
        of_text(value, |text| super::fill::fill(text, 68, b"", b""))
    }),
    ("fill76", |value| {
        of_text(value, |text| super::fill::fill(text, 76, b"", b""))
    }),
    ("firstline", |value| {
        of_text(value, |text| first_line(text.trim_ascii_start()).to_vec())
    }),
    ("hex", |value| {
        of_text(value, |text| {
            let digits = text.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>().into_bytes()
        })
    }),
    ("hgdate", |value| of_date(value, "hgdate")),
    ("isodate", |value| of_date(value, "%Y-%m-%d %H:%M %1%2")),
    ("isodatesec", |value| {
        of_date(value, "%Y-%m-%d %H:%M:%S %1%2")
    }),
    ("json", json),
    ("lower", |value| {
        of_text(value, |text| cased(text, str::to_lowercase))
    }),
    ("nonempty", |value| {
        of_text(value, |text| match text {
            b"" => b"(none)".to_vec(),
            text => text.to_vec(),
        })
    }),
    ("obfuscate", |value| {
        of_text(value, |text| {
            let text = String::from_utf8_lossy(text);
            let entities = text.chars().map(|letter| format!("&#{};", letter as u32));
            entities.collect::<String>().into_bytes()
        })
    }),
    ("person", |value| of_text(value, person)),
    ("revescape", |value| {
        of_text(value, |text| replace(&escaped(text, b"/@"), b"/", b"%252F"))
    }),
    ("reverse", |value| match value {
        Value::List(mut members) => {
            members.reverse();
            Ok(Value::List(members))
        }
        Value::Null => Ok(Value::Null),
        _ => Err(parse_error("not reversible")),
    }),
    ("rfc3339date", |value| {
        of_date(value, "%Y-%m-%dT%H:%M:%S%1:%2")
    }),
    ("rfc822date", |value| {
        of_date(value, "%a, %d %b %Y %H:%M:%S %1%2")
    }),
    ("short", |value| {
        of_text(value, |text| text[..text.len().min(SHORT)].to_vec())
    }),
    ("shortbisect", |value| {
        of_text(value, |text| match text.first() {
            Some(letter @ (b'g' | b'b' | b's' | b'u' | b'i')) => vec![letter.to_ascii_uppercase()],
            _ => b" ".to_vec(),
        })
    }),
    ("shortdate", |value| of_date(value, "%Y-%m-%d")),
    ("slashpath", |value| of_text(value, <[u8]>::to_vec)),
    ("splitlines", |value| {
        let text = text(&value);
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let line = |line: &[u8]| Value::Text(line.strip_suffix(b"\n").unwrap_or(line).to_vec());
        Ok(Value::List(lines.map(line).collect()))
    }),
    ("stringify", |value| Ok(Value::Text(text(&value)))),
    ("stripdir", |value| {
        of_text(value, |text| match before_last(text, b'/') {
            b"" => after_last(text, b'/').to_vec(),
            directory => directory.to_vec(),
        })
    }),
    ("tabindent", |value| {
        of_text(value, |text| {
            super::functions::indent(text, b"\t", Some(b""))
        })
    }),
    ("upper", |value| {
        of_text(value, |text| cased(text, str::to_uppercase))
    }),
    ("urlescape", |value| {
        of_text(value, |text| escaped(text, b"/"))
    }),
    ("user", |value| of_text(value, user)),
    ("utf8", Ok),
    ("xmlescape", |value| of_text(value, xml_escape)),
];

/// Whether there is a filter of this name.
pub(super) fn is_filter(name: &str) -> bool {
    FILTERS.iter().any(|(known, _)| *known == name)
}

/// Applies the filter of this name.
pub(super) fn filter(name: &str, value: Value) -> Result<Value, Abort> {
    match FILTERS.iter().find(|(known, _)| *known == name) {
        Some((_, filter)) => filter(value),
        None => Err(parse_error(format!("unknown function '{name}'"))),
    }
}

fn of_text(value: Value, change: impl Fn(&[u8]) -> Vec<u8>) -> Result<Value, Abort> {
    Ok(Value::Text(change(&text(&value))))
}

fn of_date(value: Value, pattern: &str) -> Result<Value, Abort> {
    let date = date_of(&value)?;
    Ok(Value::from(match pattern {
        "hgdate" => format!("{} {}", date.time, date.zone),
        _ => date.format(pattern),
    }))
}

fn count(value: Value) -> Result<Value, Abort> {
    let count = match &value {
        Value::List(members) | Value::Mapped(members) => members.len(),
        Value::Dict(entries) => entries.len(),
        Value::Table(rows, _) => rows.len(),
        Value::Text(text) | Value::Shown(text, _) => text.len(),
        Value::Null => 0,
        _ => return Err(parse_error("not countable")),
    };
    Ok(Value::Int(count as i64))
}

/// As JSON of ASCII only, which can stand in a page too.
fn json(value: Value) -> Result<Value, Abort> {
    let mut out = Vec::new();
    push_json(&value, &mut out);
    let mut ascii = String::with_capacity(out.len());
    for letter in String::from_utf8_lossy(&out).chars() {
        if letter.is_ascii() && !matches!(letter, '<' | '>') {
            ascii.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    Ok(Value::from(ascii))
}

fn cased(text: &[u8], change: fn(&str) -> String) -> Vec<u8> {
    match std::str::from_utf8(text) {
        Ok(text) => change(text).into_bytes(),
        Err(_) => text.to_vec(),
    }
}

fn before(text: &[u8], byte: u8) -> &[u8] {
    let at = text.iter().position(|found| *found == byte);
    &text[..at.unwrap_or(text.len())]
}

fn after_last(text: &[u8], byte: u8) -> &[u8] {
    let at = text.iter().rposition(|found| *found == byte);
    &text[at.map_or(0, |at| at + 1)..]
}

fn before_last(text: &[u8], byte: u8) -> &[u8] {
    let at = text.iter().rposition(|found| *found == byte);
    &text[..at.unwrap_or(0)]
}

/// The text between angle brackets, or all.
fn email(author: &[u8]) -> &[u8] {
    let open = author.iter().position(|byte| *byte == b'<');
    let from = open.map_or(0, |at| at + 1);
    before(&author[from..], b'>')
}

fn domain(author: &[u8]) -> Vec<u8> {
    match author.iter().position(|byte| *byte == b'@') {
        Some(at) => before(&author[at + 1..], b'>').to_vec(),
        None => Vec::new(),
    }
}

/// The name before the address in angle brackets, which may be empty; or the address's own.
fn person(author: &[u8]) -> Vec<u8> {
    if !author.contains(&b'@') {
        return author.to_vec();
    }
    if let Some(open) = author.iter().position(|byte| *byte == b'<') {
        let is_around = |byte: &u8| matches!(byte, b' ' | b'"');
        let Some(first) = author[..open].iter().position(|byte| !is_around(byte)) else {
            return Vec::new();
        };
        let end = author[..open].iter().rposition(|byte| !is_around(byte));
        let name = &author[first..end.map_or(open, |last| last + 1)];
        return replace(name, b"\\\"", b"\"");
    }
    replace(before(email(author), b'@'), b".", b" ")
}

/// The short name: of the address, or the first word.
pub(crate) fn user(author: &[u8]) -> Vec<u8> {
    let name = before(author, b'@');
    let name = match name.iter().position(|byte| *byte == b'<') {
        Some(at) => &name[at + 1..],
        None => name,
    };
    let name = before(name, b' ');
    before(name, b'.').to_vec()
}

fn replace(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(byte) = rest.first() {
        if let Some(behind) = rest.strip_prefix(old) {
            out.extend_from_slice(new);
            rest = behind;
        } else {
            out.push(*byte);
            rest = &rest[1..];
        }
    }
    out
}

/// Text in XML, which has no control characters but tabs and ends of lines.
fn xml_escape(text: &[u8]) -> Vec<u8> {
    let mut escaped = escape(text);
    for byte in &mut escaped {
        if *byte < b' ' && !b"\t\n\r".contains(byte) {
            *byte = b' ';
        }
    }
    escaped
}

fn escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            0 => {}
            other => out.push(*other),
        }
    }
    out
}

/// With `%` and two digits for whatever is not plain.
fn escaped(text: &[u8], also_plain: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        let plain = matches!(byte, b'-' | b'_' | b'.' | b'~') || also_plain.contains(byte);
        if byte.is_ascii_alphanumeric() || plain {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out.into_bytes()
}

/// The directory that all paths have in common.
fn commondir(value: Value) -> Result<Value, Abort> {
    let paths = match value {
        Value::List(paths) => paths,
        Value::Null => Vec::new(),
        _ => return Err(parse_error("argument is not a list of text")),
    };
    let directories = |path: &Value| {
        let path = text(path);
        let path = path.strip_prefix(b"/").unwrap_or(&path).to_vec();
        let mut parts: Vec<Vec<u8>> = path
            .split(|byte| *byte == b'/')
            .map(<[u8]>::to_vec)
            .collect();
        parts.pop();
        parts
    };
    let mut all = paths.iter().map(directories);
    let mut common = all.next().unwrap_or_default();
    for other in all {
        let same = common.iter().zip(&other).take_while(|(a, b)| a == b);
        common.truncate(same.count());
    }
    Ok(Value::Text(common.join(&b'/')))
}

/// Seconds of a year; dates that are two of them old are shown as they are.
const YEAR: i64 = 365 * 24 * 3600;
/// Spans of time, the longest first.
const SPANS: &[Span] = &[
    Span("year", "Y", YEAR),
    Span("month", "M", 30 * 24 * 3600),
    Span("week", "W", 7 * 24 * 3600),
    Span("day", "d", 24 * 3600),
    Span("hour", "h", 3600),
    Span("minute", "m", 60),
    Span("second", "s", 1),
];

/// A unit of time: its name, the letter for it, and its seconds.
struct Span(&'static str, &'static str, i64);

/// How long ago.
fn age(value: Value) -> Result<Value, Abort> {
    let date = date_of(&value)?;
    Ok(Value::from(age_of(date, |count, Span(name, ..)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {name}{plural}")
    })))
}

/// How long ago, with a letter for the unit. `time` is in seconds since 1970.
pub(crate) fn brief_age(time: i64) -> String {
    let date = varve_lang::date::Date {
        time,
        ..crate::ui::clock::clock().date()
    };
    age_of(date, |count, Span(_, letter, _)| format!("{count}{letter}"))
}

fn age_of(date: varve_lang::date::Date, shown: impl Fn(i64, &Span) -> String) -> String {
    let now = crate::ui::clock::clock().now;
    let future = date.time > now;
    let span = (now - date.time).abs().max(1);
    if future && span > 30 * YEAR {
        return "in the distant future".to_owned();
    }
    if !future && span > 2 * YEAR {
        return date.format("%Y-%m-%d");
    }
    let mut fitting = SPANS
        .iter()
        .filter(|Span(.., len)| span / len >= 2 || *len == 1);
    let unit = fitting.next().unwrap_or(&Span("second", "s", 1));
    let direction = if future { "from now" } else { "ago" };
    format!("{} {direction}", shown(span / unit.2, unit))
}

fn date_of(value: &Value) -> Result<varve_lang::date::Date, Abort> {
    date(value).ok_or_else(|| parse_error(format!("invalid date: {}", described(value))))
}
