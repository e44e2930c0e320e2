//! JSON in the layout of `hg serve`: a line for each member, neighbouring items on one line.

use crate::hg::pages::read::Text;
use std::fmt::Write;
use varve_lang::date::Date;
use varve_repo::Node;

/// A value that is to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonValue {
    Text(Text),
    Number(u64),
    /// Written already.
    Written(String),
    List(Vec<JsonValue>),
    Object(Vec<(&'static str, JsonValue)>),
}

impl JsonValue {
    pub(super) fn node(node: &Node) -> JsonValue {
        JsonValue::Text(node.to_hex().to_vec())
    }

    pub(super) fn nodes(nodes: &[Node]) -> JsonValue {
        JsonValue::List(nodes.iter().map(JsonValue::node).collect())
    }

    pub(super) fn texts(texts: &[Text]) -> JsonValue {
        JsonValue::List(texts.iter().cloned().map(JsonValue::Text).collect())
    }

    /// Seconds since 1970 and seconds west of UTC; Mercurial has the former as a fraction.
    pub(super) fn date(date: Date) -> JsonValue {
        JsonValue::Written(format!("[{}.0, {}]", date.time, date.zone))
    }

    pub(super) fn text(text: &str) -> JsonValue {
        JsonValue::Text(text.as_bytes().to_vec())
    }

    pub(super) fn list(items: impl Iterator<Item = JsonValue>) -> JsonValue {
        JsonValue::List(items.collect())
    }

    pub(super) fn to_body(&self) -> Vec<u8> {
        let mut out = String::new();
        self.push(&mut out);
        out.into_bytes()
    }

    /// As the logs of `hg serve` have it: members are indented, and there is a line end.
    pub(super) fn to_indented_body(&self) -> Vec<u8> {
        let JsonValue::Object(members) = self else {
            return self.to_body();
        };
        let mut out = String::from("{");
        for (number, (name, value)) in members.iter().enumerate() {
            out.push_str(if number == 0 { "\n" } else { ",\n" });
            // Writing to memory does not fail.
            let _ = write!(out, "  \"{name}\": ");
            value.push(&mut out);
        }
        out.push_str("\n}\n");
        out.into_bytes()
    }

    fn push(&self, out: &mut String) {
        match self {
            JsonValue::Text(text) => push_text(text, out),
            JsonValue::Number(number) => {
                let _ = write!(out, "{number}");
            }
            JsonValue::Written(written) => out.push_str(written),
            JsonValue::List(items) => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    out.push_str(if number == 0 { "" } else { ", " });
                    item.push(out);
                }
                out.push(']');
            }
            JsonValue::Object(members) => {
                out.push('{');
                for (number, (name, value)) in members.iter().enumerate() {
                    out.push_str(if number == 0 { "\n" } else { ",\n" });
                    let _ = write!(out, "\"{name}\": ");
                    value.push(out);
                }
                out.push_str("\n}");
            }
        }
    }
}

/// All but plain ASCII is escaped, also `<` and `>`; a byte that is no UTF-8 is `\udcXX`.
fn push_text(text: &[u8], out: &mut String) {
    out.push('"');
    for chunk in text.utf8_chunks() {
        for char in chunk.valid().chars() {
            push_char(char, out);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\udc{byte:02x}");
        }
    }
    out.push('"');
}

fn push_char(char: char, out: &mut String) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        ' '..='~' if !matches!(char, '<' | '>') => out.push(char),
        _ => {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_laid_out_as_mercurial_does() {
        let value = JsonValue::Object(vec![
            ("a", JsonValue::text("<é\u{1f600}\u{7f}\t\"&/")),
            ("b", JsonValue::Text(b"caf\xe9".to_vec())),
            (
                "c",
                JsonValue::List(vec![
                    JsonValue::Object(vec![("d", JsonValue::Number(1))]),
                    JsonValue::Object(vec![("d", JsonValue::Number(2))]),
                ]),
            ),
            ("e", JsonValue::List(Vec::new())),
        ]);
        let expected = "{\n\"a\": \"\\u003c\\u00e9\\ud83d\\ude00\\u007f\\t\\\"&/\",\n\"b\": \"caf\\udce9\",\n\
                        \"c\": [{\n\"d\": 1\n}, {\n\"d\": 2\n}],\n\"e\": []\n}";
        assert_eq!(String::from_utf8(value.to_body()).unwrap(), expected);
        let log = JsonValue::Object(vec![
            ("a", JsonValue::Number(1)),
            ("b", JsonValue::Number(2)),
        ]);
        let log = String::from_utf8(log.to_indented_body()).unwrap();
        assert_eq!(log, "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    }
}
