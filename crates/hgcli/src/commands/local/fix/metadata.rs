//! Values that tools tell about a file, and their form for hooks, which is Python's.

use serde_json::Value;
use varve_repo::hooks::python;

/// Splits the output of a tool at its first zero byte, behind the JSON.
pub(super) fn split(output: &[u8]) -> Option<(Value, &[u8])> {
    let at = output.iter().position(|byte| *byte == 0)?;
    let value = serde_json::from_slice(&output[..at]).ok()?;
    Some((value, &output[at + 1..]))
}

/// A dictionary with keys of bytes.
pub(super) fn dictionary<'a>(pairs: impl Iterator<Item = (&'a [u8], String)>) -> String {
    let pairs = pairs.map(|(key, value)| format!("{}: {value}", python::string(key)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

/// A list of values.
pub(super) fn list<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> String {
    format!("[{}]", values.map(shown).collect::<Vec<_>>().join(", "))
}

/// One value; a tool without metadata has none.
pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "None".to_owned(),
        Some(Value::Bool(true)) => "True".to_owned(),
        Some(Value::Bool(false)) => "False".to_owned(),
        Some(Value::Number(number)) => match number.as_f64() {
            Some(float) if number.is_f64() => shown_float(float),
            _ => number.to_string(),
        },
        Some(Value::String(text)) => shown_text(text),
        Some(Value::Array(items)) => list(items.iter().map(Some)),
        Some(Value::Object(pairs)) => {
            let mut pairs: Vec<_> = pairs.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            let pairs = pairs.into_iter();
            let pairs =
                pairs.map(|(key, value)| format!("{}: {}", shown_text(key), shown(Some(value))));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Digits as few as tell the number; with an exponent below 1e-4 and from 1e16 on.
fn shown_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{float:?}"),
    }
}

/// Text between quotation marks, with all that is not ASCII by its number.
fn shown_text(text: &str) -> String {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    let mut out = String::from(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character == quote => {
                out.push('\\');
                out.push(quote);
            }
            ' '..='~' => out.push(character),
            '\0'..='\u{ff}' => out.push_str(&format!("\\x{:02x}", u32::from(character))),
            '\u{100}'..='\u{ffff}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(character))),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_python_shows_them() {
        let json = r#"{"b": [true, false, null, 1.5, 1e100, 1E5, 0.0001, 1e-7, 1e16, 1.0, 7], "a": "it's",
            "bo": "it's \"\\ \t\r\n\u0001\u20ac\ud83d\ude00\u00ff\u007f", "n": {"z": [[], {}]}}"#;
        let value: Value = serde_json::from_str(json).unwrap();
        let expected = concat!(
            r#"{'a': "it's", 'b': [True, False, None, 1.5, 1e+100, 100000.0, 0.0001, 1e-07, 1e+16, 1.0, 7], "#,
            r#"'bo': 'it\'s "\\ \t\r\n\x01\u20ac\U0001f600\xff\x7f', 'n': {'z': [[], {}]}}"#,
        );
        assert_eq!(shown(Some(&value)), expected);
    }

    #[test]
    fn metadata_ends_with_a_zero_byte() {
        assert_eq!(
            split(b"[1]\0a\0b"),
            Some((serde_json::json!([1]), &b"a\0b"[..]))
        );
        for wrong in [&b"[1]"[..], b"\0a", b"[1\0a", b""] {
            assert_eq!(split(wrong), None);
        }
    }
}
