//! Values as CBOR (RFC 8949): texts are byte strings, as in Mercurial.

use super::value::{FormatterItem, Value, is_hidden};

/// An array of items that ends with [`END`].
pub(super) const BEGIN: u8 = 0x9f;
pub(super) const END: u8 = 0xff;

/// Major types.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const ARRAY: u8 = 4;
const MAP: u8 = 5;

/// An item: a map, sorted by name.
pub(super) fn push_item(item: &FormatterItem, out: &mut Vec<u8>) {
    push_head(MAP, item.values().count() as u64, out);
    for (name, value) in item.values() {
        push_bytes(name.as_bytes(), out);
        push_cbor(value, out);
    }
}

/// The first bytes of a value: its type, and a number in as few bytes as possible.
fn push_head(major: u8, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let (short, rest): (u8, &[u8]) = match number {
        0..24 => (bytes[7], &[]),
        24..0x100 => (24, &bytes[7..]),
        0x100..0x1_0000 => (25, &bytes[6..]),
        0x1_0000..0x1_0000_0000 => (26, &bytes[4..]),
        _ => (27, &bytes),
    };
    out.push(major << 5 | short);
    out.extend_from_slice(rest);
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    push_head(BYTES, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn push_number(number: i64, out: &mut Vec<u8>) {
    match u64::try_from(number) {
        Ok(number) => push_head(UNSIGNED, number, out),
        // -1 is 0, -2 is 1.
        Err(_) => push_head(NEGATIVE, !number as u64, out),
    }
}

/// One value.
pub(crate) fn push_cbor(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(value) => out.push(if *value { 0xf5 } else { 0xf4 }),
        Value::Int(number) => push_number(*number, out),
        Value::Float(number) => {
            out.push(0xfb);
            out.extend_from_slice(&number.to_be_bytes());
        }
        Value::Text(text) | Value::Shown(text, _) => push_bytes(text, out),
        Value::Date(time, zone) => {
            push_head(ARRAY, 2, out);
            push_number(*time, out);
            push_number(i64::from(*zone), out);
        }
        // As in JSON, a changeset alone has no value.
        Value::Changeset(..) => push_head(MAP, 0, out),
        Value::List(values) | Value::Mapped(values) => {
            push_head(ARRAY, values.len() as u64, out);
            values.iter().for_each(|value| match value {
                // As in JSON, a changeset in a list is its number.
                Value::Changeset(rev, _) => push_cbor(&Value::from(*rev), out),
                other => push_cbor(other, out),
            });
        }
        Value::Dict(values) => {
            let shown = values.iter().filter(|(name, _)| !is_hidden(name));
            push_pairs(shown.map(|(name, value)| (&name[..], value)).collect(), out);
        }
        Value::Table(rows, _) => {
            let pairs = rows.iter().map(|row| (&row.name[..], &row.value));
            push_pairs(pairs.collect(), out);
        }
    }
}

fn push_pairs(mut pairs: Vec<(&[u8], &Value)>, out: &mut Vec<u8>) {
    pairs.sort_by_key(|(name, _)| *name);
    push_head(MAP, pairs.len() as u64, out);
    for (name, value) in pairs {
        push_bytes(name, out);
        push_cbor(value, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: Value) -> Vec<u8> {
        let mut out = Vec::new();
        push_cbor(&value, &mut out);
        out
    }

    #[test]
    fn numbers_are_as_short_as_possible() {
        assert_eq!(encoded(Value::Int(23)), [0x17]);
        assert_eq!(encoded(Value::Int(24)), [0x18, 24]);
        assert_eq!(encoded(Value::Int(256)), [0x19, 1, 0]);
        assert_eq!(
            encoded(Value::Int(0x7fff_ffff)),
            [0x1a, 0x7f, 0xff, 0xff, 0xff]
        );
        assert_eq!(encoded(Value::Int(-1)), [0x20]);
        assert_eq!(encoded(Value::Int(-3600)), [0x39, 0x0e, 0x0f]);
    }

    #[test]
    fn values_have_their_types() {
        assert_eq!(
            encoded(Value::from(vec!["a", ""])),
            [0x82, 0x41, b'a', 0x40]
        );
        assert_eq!(encoded(Value::Date(0, 0)), [0x82, 0, 0]);
        let dict = vec![
            (b"b".to_vec(), Value::Bool(true)),
            (b"a".to_vec(), Value::Null),
        ];
        assert_eq!(
            encoded(Value::Dict(dict)),
            [0xa2, 0x41, b'a', 0xf6, 0x41, b'b', 0xf5]
        );
    }
}
