//! The part of CBOR (RFC 8949) that Mercurial's state files use.
//!
//! ```text
//! +--------------+----------------------+---------+
//! | type, 3 bits | length or value,     | content |
//! |              | 5 bits to 8 bytes    |         |
//! +--------------+----------------------+---------+
//! ```
//! Numbers are big-endian. Mercurial writes lists and maps with their lengths and the keys of maps sorted.

use std::collections::BTreeMap;

const BYTES: u8 = 2;
const LIST: u8 = 4;
const MAP: u8 = 5;
const SIMPLE: u8 = 7;
const FALSE: u8 = 20;
const TRUE: u8 = 21;
const NULL: u8 = 22;

/// Lists and maps in each other; Mercurial's state files have two levels.
const MAX_DEPTH: usize = 8;

/// A value of a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Map(BTreeMap<Vec<u8>, Value>),
}

/// Reads one value that fills all of `bytes`; `None` if they are something else.
pub(super) fn parse(bytes: &[u8]) -> Option<Value> {
    let mut reader = Reader(bytes);
    let value = reader.value(MAX_DEPTH)?;
    reader.0.is_empty().then_some(value)
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, len: u64) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// The type, and the length or value.
    fn head(&mut self) -> Option<(u8, u64)> {
        let first = self.take(1)?[0];
        let number = match first & 0x1f {
            small @ 0..24 => u64::from(small),
            wide @ 24..28 => {
                let bytes = self.take(1 << (wide - 24))?;
                bytes
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            }
            _ => return None,
        };
        Some((first >> 5, number))
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        Some(match self.head()? {
            (BYTES, len) => Value::Bytes(self.take(len)?.to_vec()),
            (LIST, len) => {
                let mut list = Vec::new();
                for _ in 0..len {
                    list.push(self.value(depth)?);
                }
                Value::List(list)
            }
            (MAP, len) => {
                let mut map = BTreeMap::new();
                for _ in 0..len {
                    let Value::Bytes(key) = self.value(depth)? else {
                        return None;
                    };
                    map.insert(key, self.value(depth)?);
                }
                Value::Map(map)
            }
            (SIMPLE, number) => match u8::try_from(number).ok()? {
                FALSE => Value::Bool(false),
                TRUE => Value::Bool(true),
                NULL => Value::Null,
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// Appends a value.
pub(super) fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => head(SIMPLE, NULL.into(), out),
        Value::Bool(is) => head(SIMPLE, if *is { TRUE } else { FALSE }.into(), out),
        Value::Bytes(bytes) => {
            head(BYTES, bytes.len() as u64, out);
            out.extend_from_slice(bytes);
        }
        Value::List(list) => {
            head(LIST, list.len() as u64, out);
            list.iter().for_each(|value| encode(value, out));
        }
        Value::Map(map) => {
            head(MAP, map.len() as u64, out);
            for (key, value) in map {
                head(BYTES, key.len() as u64, out);
                out.extend_from_slice(key);
                encode(value, out);
            }
        }
    }
}

fn head(kind: u8, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let (code, len) = match number {
        0..24 => (number as u8, 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(kind << 5 | code);
    out.extend_from_slice(&bytes[bytes.len() - len..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written() {
        let long = Value::Bytes(vec![7; 300]);
        let list = Value::List(vec![long, Value::Null, Value::Bool(true)]);
        let map = Value::Map(BTreeMap::from([
            (b"log".to_vec(), Value::Bool(false)),
            (b"nodes".to_vec(), list),
        ]));
        let mut bytes = Vec::new();
        encode(&map, &mut bytes);
        assert!(bytes.starts_with(b"\xa2Clog\xf4Enodes\x83\x59\x01\x2c\x07"));
        assert_eq!(parse(&bytes), Some(map));
        assert_eq!(parse(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn depth_and_lengths_are_bounded() {
        assert_eq!(parse(&[0x81; 100_000]), None);
        assert_eq!(parse(b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff"), None);
        assert_eq!(parse(b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff"), None);
    }
}
