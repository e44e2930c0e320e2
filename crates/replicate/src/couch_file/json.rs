//! From the term of a JSON value to its text.
//!
//! ```text
//! object: {[{name, value}]}   array: list   string: binary   null, true, false: atoms   numbers as they are
//! other atoms, also as names: as strings
//! ```

use super::damage::Malformed;
use super::term::{Integer, List, TermReader, tag};
use varve_json::{MAX_DEPTH, Number, write_string};

/// Longest integer, in bytes: as many decimal digits as Varve takes elsewhere, because the conversion is quadratic.
const LONGEST_INTEGER: usize = 41_000;
/// Decimal digits that are made at once.
const DIGITS: usize = 9;
const POWER: u64 = 1_000_000_000;

/// A container whose end has not been read.
struct OpenContainer {
    is_object: bool,
    left: u32,
    is_first: bool,
    /// Whether a list ends behind it.
    in_list: bool,
}

/// Appends the text of an object.
pub(crate) fn object(reader: &mut TermReader<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    match reader.peek()? {
        tag::SMALL_TUPLE | tag::LARGE_TUPLE => value(reader, out),
        _ => Err(Malformed("a document is no object")),
    }
}

/// Appends the text of an object of which only the members may be there, as they are for a security object.
pub(crate) fn members(reader: &mut TermReader<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    match reader.peek()? {
        tag::SMALL_TUPLE | tag::LARGE_TUPLE => value(reader, out),
        _ => {
            let open = begin_object(reader, out)?;
            rest(vec![open], reader, out)
        }
    }
}

/// Appends the text of any value.
pub(crate) fn value(reader: &mut TermReader<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut open = Vec::new();
    one(reader, out, &mut open)?;
    rest(open, reader, out)
}

fn rest(
    mut open: Vec<OpenContainer>,
    reader: &mut TermReader<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    while let Some(innermost) = open.last_mut() {
        if innermost.left == 0 {
            if innermost.in_list {
                reader.end_list()?;
            }
            out.push(if innermost.is_object { b'}' } else { b']' });
            open.pop();
            continue;
        }
        innermost.left -= 1;
        if !std::mem::take(&mut innermost.is_first) {
            out.push(b',');
        }
        if innermost.is_object {
            reader.tuple_of(2)?;
            match reader.is_atom() {
                true => write_string(text_of(reader.atom()?)?, out),
                false => write_string(reader.text()?, out),
            }
            out.push(b':');
        }
        one(reader, out, &mut open)?;
        if open.len() > MAX_DEPTH {
            return Err(Malformed("a value is nested deeper than any that is read"));
        }
    }
    Ok(())
}

/// Writes a scalar whole, and of a container the bracket.
fn one(
    reader: &mut TermReader<'_>,
    out: &mut Vec<u8>,
    open: &mut Vec<OpenContainer>,
) -> Result<(), Malformed> {
    match reader.peek()? {
        tag::BINARY => write_string(reader.text()?, out),
        tag::SMALL_INTEGER | tag::INTEGER | tag::SMALL_BIG | tag::LARGE_BIG => {
            integer(reader.integer()?, out)?;
        }
        tag::NEW_FLOAT | tag::FLOAT => Number::Float(reader.float()?).write(out),
        tag::SMALL_TUPLE | tag::LARGE_TUPLE => {
            reader.tuple_of(1)?;
            open.push(begin_object(reader, out)?);
        }
        tag::NIL | tag::LIST | tag::STRING => match reader.list()? {
            List::Items(left) => {
                out.push(b'[');
                open.push(OpenContainer {
                    is_object: false,
                    left,
                    is_first: true,
                    in_list: left > 0,
                });
            }
            List::Bytes(bytes) => byte_list(bytes, out),
        },
        _ => match reader.atom()? {
            word @ (b"null" | b"true" | b"false") => out.extend_from_slice(word),
            other => write_string(text_of(other)?, out),
        },
    }
    Ok(())
}

/// The text of an atom: documents that CouchDB makes itself have some where others have strings.
fn text_of(atom: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(atom).map_err(|_| Malformed("an atom is no text"))
}

fn begin_object(
    reader: &mut TermReader<'_>,
    out: &mut Vec<u8>,
) -> Result<OpenContainer, Malformed> {
    let left = reader.items()?;
    out.push(b'{');
    Ok(OpenContainer {
        is_object: true,
        left,
        is_first: true,
        in_list: left > 0,
    })
}

fn byte_list(bytes: &[u8], out: &mut Vec<u8>) {
    for (index, byte) in bytes.iter().enumerate() {
        out.push(if index > 0 { b',' } else { b'[' });
        Number::Int(i64::from(*byte)).write(out);
    }
    out.extend_from_slice(if bytes.is_empty() { b"[]" } else { b"]" });
}

fn integer(integer: Integer<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let (is_negative, bytes) = match integer {
        Integer::Small(int) => {
            Number::Int(int).write(out);
            return Ok(());
        }
        Integer::Big(is_negative, bytes) => (is_negative, bytes),
    };
    if bytes.len() > LONGEST_INTEGER {
        return Err(Malformed("an integer is longer than any that is read"));
    }
    let digits = decimal(bytes);
    if is_negative && digits != "0" {
        out.push(b'-');
    }
    out.extend_from_slice(digits.as_bytes());
    Ok(())
}

/// The decimal digits of a little-endian magnitude.
fn decimal(bytes: &[u8]) -> String {
    let mut limbs: Vec<u32> = bytes
        .chunks(4)
        .map(|chunk| {
            chunk
                .iter()
                .rev()
                .fold(0, |limb, byte| limb << 8 | u32::from(*byte))
        })
        .collect();
    let mut groups = Vec::new();
    while let Some(last) = limbs.last() {
        if *last == 0 {
            limbs.pop();
            continue;
        }
        let mut remainder = 0_u64;
        for limb in limbs.iter_mut().rev() {
            let value = remainder << 32 | u64::from(*limb);
            // Both fit: the remainder is below the power.
            *limb = (value / POWER) as u32;
            remainder = value % POWER;
        }
        groups.push(remainder);
    }
    let Some(first) = groups.pop() else {
        return "0".to_owned();
    };
    let mut digits = first.to_string();
    for group in groups.iter().rev() {
        digits.push_str(&format!("{group:0DIGITS$}"));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use varve_json::Document;

    /// The term that revision ids hash is the one that CouchDB stores.
    fn round_trip(text: &str) -> String {
        let document = Document::parse(text.as_bytes(), |_| false).unwrap();
        let term = [
            &[super::super::term::VERSION][..],
            &document.body.term().unwrap(),
        ]
        .concat();
        let mut out = Vec::new();
        object(&mut TermReader::new(&term).unwrap(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_value_comes_back() {
        for text in [
            "{}",
            r#"{"a":[],"b":{},"c":[1,2,3],"d":[1,-1,256,{"e":[[]]}],"s":"\u0000é\n"}"#,
            r#"{"int":12345678901234567890123456789,"neg":-9007199254740993,"n":-4294967296}"#,
            r#"{"float":1.1,"exp":1.0e-7,"t":true,"f":false,"z":null,"one":1.0,"m":-2147483649}"#,
        ] {
            let document = Document::parse(text.as_bytes(), |_| false).unwrap();
            assert_eq!(round_trip(text).as_bytes(), document.body.text(), "{text}");
        }
    }

    #[test]
    fn deep_values_are_refused_and_text_has_to_be_utf8() {
        let deep = [
            &b"\x83h\x01l\0\0\0\x01h\x02m\0\0\0\x01x"[..],
            &b"l\0\0\0\x01".repeat(100_000),
        ]
        .concat();
        let mut out = Vec::new();
        let refused = object(&mut TermReader::new(&deep).unwrap(), &mut out);
        assert_eq!(
            refused,
            Err(Malformed("a value is nested deeper than any that is read"))
        );
        let mut wrong = TermReader::new(b"\x83m\0\0\0\x01\xff").unwrap();
        assert!(value(&mut wrong, &mut out).is_err());
    }

    proptest! {
        #[test]
        fn large_integers_are_exact(low: u64, high: u64) {
            let value = u128::from(high) << 64 | u128::from(low);
            prop_assert_eq!(decimal(&value.to_le_bytes()), value.to_string());
        }
    }
}
