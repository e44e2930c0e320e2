//! Writing JSON as CouchDB writes it: no blanks, `"` and `\` and control characters escaped,
//! everything else as it is.

use crate::{Object, Value};

/// Rest of the open containers that remains to be written.
enum OpenContainer<'a> {
    Array(std::slice::Iter<'a, Value>),
    Object(std::slice::Iter<'a, (String, Value)>),
}

/// Appends the value's JSON text.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    let mut open = Vec::new();
    write_opening(value, &mut open, out);
    write_rest(open, out);
}

/// Appends the object's JSON text.
pub fn write_object(object: &Object, out: &mut Vec<u8>) {
    out.push(b'{');
    write_rest(vec![OpenContainer::Object(object.members().iter())], out);
}

/// The value's JSON text.
pub fn to_string(value: &Value) -> String {
    let mut out = Vec::new();
    write(value, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn write_rest(mut open: Vec<OpenContainer<'_>>, out: &mut Vec<u8>) {
    while let Some(innermost) = open.last_mut() {
        let next = match innermost {
            OpenContainer::Array(items) => match items.next() {
                Some(item) => {
                    separate(b'[', out);
                    item
                }
                None => {
                    close(b']', &mut open, out);
                    continue;
                }
            },
            OpenContainer::Object(members) => match members.next() {
                Some((name, value)) => {
                    separate(b'{', out);
                    write_string(name, out);
                    out.push(b':');
                    value
                }
                None => {
                    close(b'}', &mut open, out);
                    continue;
                }
            },
        };
        write_opening(next, &mut open, out);
    }
}

/// A comma, unless the bracket was opened just now. A bracket inside a string never ends the
/// text that is written so far: the string's quote does.
fn separate(opening: u8, out: &mut Vec<u8>) {
    if out.last() != Some(&opening) {
        out.push(b',');
    }
}

fn close(bracket: u8, open: &mut Vec<OpenContainer<'_>>, out: &mut Vec<u8>) {
    out.push(bracket);
    open.pop();
}

/// Writes a scalar whole, of a container the bracket.
fn write_opening<'a>(value: &'a Value, open: &mut Vec<OpenContainer<'a>>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => number.write(out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            open.push(OpenContainer::Array(items.iter()));
        }
        Value::Object(object) => {
            out.push(b'{');
            open.push(OpenContainer::Object(object.members().iter()));
        }
    }
}

/// Appends the text in quotes.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut rest = bytes;
    loop {
        let plain = crate::lexer::plain_prefix(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some(&byte) = rest.get(plain) else { break };
        write_escape(byte, out);
        rest = &rest[plain + 1..];
    }
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_the_peer_does() {
        let mut out = Vec::new();
        write_string(
            "a\"\\/\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}é\u{1f600}",
            &mut out,
        );
        let expected = "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001F\u{7f}é\u{1f600}\"";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_text_that_ends_with_an_open_bracket_is_not_continued_wrongly() {
        let mut out = b"[".to_vec();
        write(
            &crate::parse(br#"[[],[1,[]],{"[":"{"},{}]"#).unwrap(),
            &mut out,
        );
        assert_eq!(out, br#"[[[],[1,[]],{"[":"{"},{}]"#);
    }
}
