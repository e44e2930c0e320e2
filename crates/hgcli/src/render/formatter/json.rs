//! Values as JSON, in Mercurial's layout.

use super::value::{FormatterItem, Value, is_hidden};
use std::io::Write;

/// An item: one line per value, sorted by name.
pub(super) fn push_item(item: &FormatterItem, out: &mut Vec<u8>) {
    out.push(b'{');
    for (number, (name, value)) in item.values().enumerate() {
        out.extend_from_slice(if number == 0 { b"\n  " } else { b",\n  " });
        push_text(name.as_bytes(), out);
        out.extend_from_slice(b": ");
        push_json(value, out);
    }
    out.extend_from_slice(b"\n }");
}

/// One value, on one line.
pub(crate) fn push_json(value: &Value, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = match value {
        Value::Null => out.write_all(b"null"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Float(value) => write!(out, "{value:?}"),
        Value::Date(time, zone) => write!(out, "[{time}, {zone}]"),
        Value::Text(text) => {
            push_text(text, out);
            Ok(())
        }
        Value::Shown(text, _) => {
            push_text(text, out);
            Ok(())
        }
        Value::Changeset(..) => out.write_all(b"{}"),
        Value::List(values) | Value::Mapped(values) => {
            push_list(values, out);
            Ok(())
        }
        Value::Dict(values) => {
            let shown = values.iter().filter(|(name, _)| !is_hidden(name));
            let mut shown: Vec<(&[u8], &Value)> =
                shown.map(|(name, value)| (&name[..], value)).collect();
            shown.sort_by_key(|(name, _)| *name);
            push_pairs(shown.into_iter(), out);
            Ok(())
        }
        Value::Table(rows, _) => {
            let mut rows: Vec<(&[u8], &Value)> =
                rows.iter().map(|row| (&row.name[..], &row.value)).collect();
            rows.sort_by_key(|(name, _)| *name);
            push_pairs(rows.into_iter(), out);
            Ok(())
        }
    };
}

fn push_list(values: &[Value], out: &mut Vec<u8>) {
    out.push(b'[');
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        match value {
            // In a list a changeset is its number.
            Value::Changeset(rev, _) => push_json(&Value::from(*rev), out),
            other => push_json(other, out),
        }
    }
    out.push(b']');
}

fn push_pairs<'v>(pairs: impl Iterator<Item = (&'v [u8], &'v Value)>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (number, (name, value)) in pairs.enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        push_text(name, out);
        out.extend_from_slice(b": ");
        push_json(value, out);
    }
    out.push(b'}');
}

/// Text in quotes. Bytes that are not UTF-8 become the surrogates that Python puts in their place.
fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            push_char(letter, out);
        }
        for byte in chunk.invalid() {
            // U+DC00 and the byte, as UTF-8 would have it if surrogates were letters.
            out.extend_from_slice(&[0xed, 0xb0 | byte >> 6, 0x80 | byte & 0x3f]);
        }
    }
    out.push(b'"');
}

fn push_char(letter: char, out: &mut Vec<u8>) {
    let _ = match letter {
        '"' => out.write_all(b"\\\""),
        '\\' => out.write_all(b"\\\\"),
        '\u{8}' => out.write_all(b"\\b"),
        '\u{c}' => out.write_all(b"\\f"),
        '\n' => out.write_all(b"\\n"),
        '\r' => out.write_all(b"\\r"),
        '\t' => out.write_all(b"\\t"),
        '\0'..='\u{1f}' | '\u{7f}' => write!(out, "\\u{:04x}", letter as u32),
        other => write!(out, "{other}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_as_mercurial_does() {
        let mut out = Vec::new();
        push_json(&Value::from(&b"a\"\\\n\x01\xc3\xa4\xff"[..]), &mut out);
        assert_eq!(out, b"\"a\\\"\\\\\\n\\u0001\xc3\xa4\xed\xb3\xbf\"");
        let mut out = Vec::new();
        let list = Value::from(vec!["a", "b"]);
        let dict = Value::Dict(vec![
            (b"d".to_vec(), Value::Date(1, -60)),
            (b"l".to_vec(), list),
        ]);
        push_json(&dict, &mut out);
        assert_eq!(out, b"{\"d\": [1, -60], \"l\": [\"a\", \"b\"]}");
    }
}
