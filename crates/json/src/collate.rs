//! Sort keys: bytes that compare as CouchDB's view keys do.
//!
//! ```text
//! null 02   false 03   true 04
//! number 05 f64, most significant byte first, sign bit flipped (all bits of negative numbers)
//! string 06 ICU root sort key, tertiary strength, 00
//! array  07 item… 00
//! object 08 (01 name's ICU sort key 00 value)… 00
//! ```
//!
//! No key is a prefix of another, so that other bytes (a document id) may follow. Strings that
//! the collation holds equal have equal keys, as have `1` and `1.0`, `-0.0` and `0`.
//!
//! Raw keys sort as the terms that CouchDB keeps values as:
//!
//! ```text
//! number 02 as above   false 03   null 04   true 05
//! object 06 (01 name's bytes 00 value)… 00
//! array  07 item… 00
//! string 08 bytes, 00 as 01 01, 01 as 01 02, 00
//! ```
//!
//! CouchDB 3.5 was recorded sorting so where the options of a view say `"collation": "raw"`, and in the first order
//! where only those of its design document do.

use crate::Value;
use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed};
use std::sync::OnceLock;

/// An order of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// That of view keys.
    #[default]
    Collated,
    /// By kind as CouchDB keeps values, and texts by their bytes.
    Raw,
}

const END: u8 = 0;
const MEMBER: u8 = 1;
const NULL: u8 = 2;
const FALSE: u8 = 3;
const TRUE: u8 = 4;
const NUMBER: u8 = 5;
const STRING: u8 = 6;
const ARRAY: u8 = 7;
const OBJECT: u8 = 8;
/// Precedes the bytes 00 and 01 of a raw text.
const ESCAPE: u8 = 1;

/// A byte above every tag: with it behind a key's array items, a range ends after all that
/// continue them.
pub const ABOVE_ALL: u8 = 0xff;

/// Rest of the open containers that remains to be written.
enum OpenContainer<'a> {
    Array(std::slice::Iter<'a, Value>),
    Object(std::slice::Iter<'a, (String, Value)>),
}

/// Appends the key whose byte order is the collation's order.
pub fn sort_key(value: &Value, out: &mut Vec<u8>) {
    Order::Collated.sort_key(value, out);
}

impl Order {
    /// Appends the key whose byte order is this order.
    pub fn sort_key(self, value: &Value, out: &mut Vec<u8>) {
        let mut open = Vec::new();
        self.opening(value, &mut open, out);
        while let Some(innermost) = open.last_mut() {
            let next = match innermost {
                OpenContainer::Array(items) => items.next(),
                OpenContainer::Object(members) => members.next().map(|(name, value)| {
                    out.push(MEMBER);
                    self.text(name, out);
                    value
                }),
            };
            match next {
                Some(value) => self.opening(value, &mut open, out),
                None => {
                    out.push(END);
                    open.pop();
                }
            }
        }
    }

    /// Writes a scalar whole, of a container the tag.
    fn opening<'a>(self, value: &'a Value, open: &mut Vec<OpenContainer<'a>>, out: &mut Vec<u8>) {
        out.push(self.tag(value));
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                out.extend_from_slice(&ordered_bits(number.to_f64()).to_be_bytes());
            }
            Value::String(text) => self.text(text, out),
            Value::Array(items) => open.push(OpenContainer::Array(items.iter())),
            Value::Object(object) => open.push(OpenContainer::Object(object.members().iter())),
        }
    }

    fn tag(self, value: &Value) -> u8 {
        match (self, value) {
            (Order::Collated, Value::Null) => NULL,
            (Order::Collated, Value::Bool(false)) => FALSE,
            (Order::Collated, Value::Bool(true)) => TRUE,
            (Order::Collated, Value::Number(_)) => NUMBER,
            (Order::Collated, Value::String(_)) => STRING,
            (Order::Collated, Value::Array(_)) => ARRAY,
            (Order::Collated, Value::Object(_)) => OBJECT,
            (Order::Raw, Value::Number(_)) => 2,
            (Order::Raw, Value::Bool(false)) => 3,
            (Order::Raw, Value::Null) => 4,
            (Order::Raw, Value::Bool(true)) => 5,
            (Order::Raw, Value::Object(_)) => 6,
            (Order::Raw, Value::Array(_)) => 7,
            (Order::Raw, Value::String(_)) => 8,
        }
    }

    fn text(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Order::Collated => string_key(text, out),
            Order::Raw => {
                for byte in text.bytes() {
                    match byte {
                        END | ESCAPE => out.extend_from_slice(&[ESCAPE, byte + 1]),
                        _ => out.push(byte),
                    }
                }
                out.push(END);
            }
        }
    }
}

impl Order {
    /// How many bytes at the beginning of an array's sort key, which may be followed by others, are its tag and its first
    /// `items` items; `None` if the key is that of no such array.
    pub fn array_beginning(self, key: &[u8], items: usize) -> Option<usize> {
        let text = |at: usize| {
            let end = key.get(at..)?.iter().position(|byte| *byte == END)?;
            Some(at + end + 1)
        };
        let (mut at, mut left, mut depth) = (1, items, 0_usize);
        if key.first() != Some(&ARRAY) {
            return None;
        }
        while left > 0 {
            let tag = *key.get(at)?;
            at += 1;
            match self.collated_tag(tag) {
                END => depth = depth.checked_sub(1)?,
                MEMBER => {
                    at = text(at)?;
                    continue;
                }
                NULL | FALSE | TRUE => {}
                NUMBER => at += size_of::<f64>(),
                STRING => at = text(at)?,
                ARRAY | OBJECT => depth += 1,
                _ => return None,
            }
            left -= usize::from(depth == 0);
        }
        (at <= key.len()).then_some(at)
    }

    /// The tag that stands for the same kind of value in [`Order::Collated`].
    fn collated_tag(self, tag: u8) -> u8 {
        match (self, tag) {
            (Order::Raw, 2) => NUMBER,
            (Order::Raw, 4) => NULL,
            (Order::Raw, 5) => TRUE,
            (Order::Raw, 6) => OBJECT,
            (Order::Raw, 8) => STRING,
            _ => tag,
        }
    }
}

/// Bits whose order as an integer is the order of the floats; both zeros are one.
fn ordered_bits(float: f64) -> u64 {
    let bits = (float + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// Appends the ICU sort key of a string, and the 00 that no such key contains.
fn string_key(text: &str, out: &mut Vec<u8>) {
    // The only error of writing to a vector is one that cannot exist.
    let Ok(()) = collator().write_sort_key_to(text, out);
    out.push(END);
}

/// Number for the order of strings: the same as long as the collation data orders texts as before. It is made of the
/// sort keys of many characters, so that it follows the data by itself.
pub fn version() -> u64 {
    static VERSION: OnceLock<u64> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let dense = 1..0x3000;
        let sparse = (0x3000..0x3_0000).step_by(61);
        let characters = dense.chain(sparse).filter_map(char::from_u32);
        let mut key = Vec::new();
        // FNV-1a.
        let mut hash = 0xcbf2_9ce4_8422_2325;
        for character in characters {
            key.clear();
            string_key(character.encode_utf8(&mut [0; 4]), &mut key);
            for byte in &key {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    })
}

fn collator() -> &'static CollatorBorrowed<'static> {
    static COLLATOR: OnceLock<CollatorBorrowed<'static>> = OnceLock::new();
    COLLATOR.get_or_init(|| {
        let mut options = CollatorOptions::default();
        options.strength = Some(Strength::Tertiary);
        #[expect(
            clippy::expect_used,
            reason = "the root collation is compiled into the program"
        )]
        Collator::try_new(Default::default(), options).expect("root collation data")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use proptest::prelude::*;

    fn key(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        sort_key(&parse(text.as_bytes()).unwrap(), &mut out);
        out
    }

    #[test]
    fn numbers_are_equal_by_value() {
        for (a, b) in [
            ("1", "1.0"),
            ("-0.0", "0"),
            ("9007199254740993", "9007199254740992"),
        ] {
            assert_eq!(key(a), key(b), "{a} and {b}");
        }
    }

    #[test]
    fn raw_keys_sort_by_kind_then_by_bytes() {
        let raw = |text: &str| {
            let mut out = Vec::new();
            Order::Raw.sort_key(&parse(text.as_bytes()).unwrap(), &mut out);
            out
        };
        let ascending = [
            "-1",
            "1",
            "false",
            "null",
            "true",
            "{}",
            r#"{"a":"b"}"#,
            r#"{"b":1}"#,
            "[]",
            "[1]",
            "[1,2]",
            "[null]",
            r#""""#,
            r#""\u0000""#,
            r#""\u0001""#,
            r#""B""#,
            r#""a""#,
            r#""ab""#,
            r#""é""#,
        ];
        for pair in ascending.windows(2) {
            let (low, high) = (raw(pair[0]), raw(pair[1]));
            assert!(low < high && !high.starts_with(&low), "{pair:?}");
        }
        assert_eq!(raw("1"), raw("1.0"));
    }

    /// Values with containers inside each other.
    fn values() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>()
                .prop_filter("JSON has no others", |float| float.is_finite())
                .prop_map(|float| parse(float.to_string().as_bytes()).unwrap()),
            "[a-c\\u{0}\\u{1}é]{0,3}".prop_map(|text| Value::from(text.as_str())),
        ];
        scalar.prop_recursive(3, 12, 3, |inner| {
            let named = prop::collection::vec(("[a-b\\u{0}]{0,2}", inner.clone()), 0..3);
            prop_oneof![
                prop::collection::vec(inner, 0..3).prop_map(Value::Array),
                named.prop_map(|members| {
                    let mut object = crate::Object::new();
                    members
                        .into_iter()
                        .for_each(|(name, value)| object.insert(name, value));
                    Value::Object(object)
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_beginning_of_an_array_is_the_key_of_a_shorter_one(
            all in prop::collection::vec(values(), 0..4),
            behind in prop::collection::vec(any::<u8>(), 0..3),
        ) {
            for order in [Order::Collated, Order::Raw] {
                let key_of = |items: &[Value]| {
                    let mut key = Vec::new();
                    order.sort_key(&Value::Array(items.to_vec()), &mut key);
                    key
                };
                let whole = [key_of(&all), behind.clone()].concat();
                for count in 0..=all.len() {
                    let mut shorter = key_of(&all[..count]);
                    shorter.pop();
                    let found = order.array_beginning(&whole, count);
                    prop_assert_eq!(found, Some(shorter.len()));
                    prop_assert!(whole.starts_with(&shorter));
                }
                prop_assert_eq!(order.array_beginning(&whole, all.len() + 1), None);
            }
        }

        #[test]
        fn any_bytes_have_a_beginning_within_them_or_none(
            key in prop::collection::vec(0..9_u8, 0..20),
            items in 0..5_usize,
        ) {
            for order in [Order::Collated, Order::Raw] {
                let array = [&[ARRAY], &key[..]].concat();
                let found = order.array_beginning(&array, items);
                prop_assert!(found.is_none_or(|len| len <= array.len()));
            }
        }

        #[test]
        fn the_order_of_floats_is_kept(a in any::<f64>(), b in any::<f64>()) {
            if let Some(order) = a.partial_cmp(&b) {
                prop_assert_eq!(ordered_bits(a).cmp(&ordered_bits(b)), order);
            }
        }

        #[test]
        fn string_keys_hold_no_end_and_agree_with_the_comparison(a in any::<String>(), b in any::<String>()) {
            let mut keys = [Vec::new(), Vec::new()];
            string_key(&a, &mut keys[0]);
            string_key(&b, &mut keys[1]);
            for key in &keys {
                prop_assert_eq!(key.iter().position(|byte| *byte == END), Some(key.len() - 1));
            }
            prop_assert_eq!(keys[0].cmp(&keys[1]), collator().compare(&a, &b));
        }
    }
}
