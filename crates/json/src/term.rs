//! The digest that names a revision.
//!
//! CouchDB hashes the Erlang external term form of `[Deleted, OldStart, OldRev, Body, Atts]`, so
//! the same edit must be laid out in the same bytes here. The terms that occur:
//!
//! ```text
//! 131 first, the version; then terms
//! l count:u32 item… j          list            j                       empty list
//! k len:u16 bytes              list of 1 to 65,535 integers, all in 0..=255
//! h 1 list                     object          h 2 name value          member of an object
//! h 3 name type md5            attachment      m len:u32 bytes         string
//! a byte   b i32               integers        d len:u16 name          true, false, null
//! n len:u8 sign magnitude      larger integer  o len:u32 sign magnitude  of 256 bytes and more
//! F f64                        float (big-endian, as are all lengths; magnitudes are little-endian)
//! ```
//!
//! The encoder feeds MD5 directly; nothing but its small buffer is allocated.

use crate::{Number, Object, Value};
use md5::{Digest, Md5};

/// Bytes that collect before MD5 sees them.
const BUFFER: usize = 4096;
/// A list longer than this is never written as a string of bytes.
const LONGEST_BYTE_LIST: usize = 65_535;

/// What the digest counts of an attachment.
#[derive(Clone, Copy, Debug)]
pub struct AttachmentTerm<'a> {
    /// Name.
    pub name: &'a str,
    /// Content type.
    pub content_type: &'a str,
    /// MD5 of the stored form.
    pub md5: &'a [u8; 16],
}

/// The 16 bytes behind the generation in a revision id.
///
/// `parent` is the parent's generation and digest; `body` may hold members that begin with `_`,
/// which do not count; `attachments` are in the order in which a GET lists them.
pub fn revision_digest(
    deleted: bool,
    parent: Option<(u64, &[u8])>,
    body: &Object,
    attachments: &[AttachmentTerm<'_>],
) -> [u8; 16] {
    let mut out = TermHasher::new();
    out.put(&[131, b'l']);
    out.put(&5u32.to_be_bytes());
    out.atom(if deleted { "true" } else { "false" });
    let (generation, digest) = parent.unwrap_or_default();
    out.number(&Number::from(generation));
    match parent {
        Some(_) => out.binary(digest),
        None => out.int(0),
    }
    out.body(body);
    if !attachments.is_empty() {
        out.list_head(attachments.len());
        for attachment in attachments.iter().rev() {
            out.put(b"h\x03");
            out.binary(attachment.name.as_bytes());
            out.binary(attachment.content_type.as_bytes());
            out.binary(attachment.md5);
        }
    }
    out.put(b"j");
    out.put(b"j");
    out.finish()
}

/// What remains to be written of the containers that are open.
enum Open<'a> {
    List(std::slice::Iter<'a, Value>),
    Members(std::slice::Iter<'a, (String, Value)>),
}

struct TermHasher {
    md5: Md5,
    buffer: [u8; BUFFER],
    filled: usize,
}

impl TermHasher {
    fn new() -> Self {
        TermHasher {
            md5: Md5::new(),
            buffer: [0; BUFFER],
            filled: 0,
        }
    }

    fn finish(mut self) -> [u8; 16] {
        self.md5.update(&self.buffer[..self.filled]);
        self.md5.finalize().into()
    }

    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > BUFFER - self.filled {
            self.md5.update(&self.buffer[..self.filled]);
            self.filled = 0;
            if bytes.len() >= BUFFER {
                self.md5.update(bytes);
                return;
            }
        }
        self.buffer[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
    }

    /// The members of a document that do not begin with `_`.
    fn body(&mut self, body: &Object) {
        let members = body.members();
        let counts = |(name, _): &&(String, Value)| !name.starts_with('_');
        let count = members.iter().filter(counts).count();
        self.put(b"h\x01");
        if count > 0 {
            self.list_head(count);
            for (name, value) in members.iter().filter(counts) {
                self.member(name);
                self.value(value);
            }
        }
        self.put(b"j");
    }

    fn value(&mut self, value: &Value) {
        let mut open = Vec::new();
        self.opening(value, &mut open);
        while let Some(innermost) = open.last_mut() {
            let next = match innermost {
                Open::List(items) => items.next(),
                Open::Members(members) => members.next().map(|(name, value)| {
                    self.member(name);
                    value
                }),
            };
            match next {
                Some(value) => self.opening(value, &mut open),
                None => {
                    self.put(b"j");
                    open.pop();
                }
            }
        }
    }

    /// Writes a scalar whole, of a container the head.
    fn opening<'a>(&mut self, value: &'a Value, open: &mut Vec<Open<'a>>) {
        match value {
            Value::Null => self.atom("null"),
            Value::Bool(true) => self.atom("true"),
            Value::Bool(false) => self.atom("false"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.binary(text.as_bytes()),
            Value::Array(items) if is_byte_list(items) => self.byte_list(items),
            Value::Array(items) => {
                if !items.is_empty() {
                    self.list_head(items.len());
                }
                open.push(Open::List(items.iter()));
            }
            Value::Object(object) => {
                self.put(b"h\x01");
                if !object.is_empty() {
                    self.list_head(object.len());
                }
                open.push(Open::Members(object.members().iter()));
            }
        }
    }

    fn member(&mut self, name: &str) {
        self.put(b"h\x02");
        self.binary(name.as_bytes());
    }

    fn list_head(&mut self, count: usize) {
        self.sized(b'l', count);
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.sized(b'm', bytes.len());
        self.put(bytes);
    }

    fn sized(&mut self, tag: u8, len: usize) {
        let [a, b, c, d] = (len as u32).to_be_bytes();
        self.put(&[tag, a, b, c, d]);
    }

    fn atom(&mut self, name: &str) {
        self.put(&[b'd', 0, name.len() as u8]);
        self.put(name.as_bytes());
    }

    fn byte_list(&mut self, items: &[Value]) {
        let [high, low] = (items.len() as u16).to_be_bytes();
        self.put(&[b'k', high, low]);
        for byte in items.iter().filter_map(as_byte) {
            self.put(&[byte]);
        }
    }

    fn number(&mut self, number: &Number) {
        match number {
            Number::Int(int) => self.int(*int),
            Number::Float(float) => {
                self.put(b"F");
                self.put(&float.to_be_bytes());
            }
            Number::Big(digits) => self.big(digits),
        }
    }

    fn int(&mut self, int: i64) {
        if let Ok(byte) = u8::try_from(int) {
            self.put(&[b'a', byte]);
        } else if let Ok(small) = i32::try_from(int) {
            self.put(b"b");
            self.put(&small.to_be_bytes());
        } else {
            self.magnitude(int < 0, &int.unsigned_abs().to_le_bytes());
        }
    }

    fn big(&mut self, digits: &str) {
        let unsigned = digits.strip_prefix('-');
        let bytes = magnitude_of(unsigned.unwrap_or(digits));
        self.magnitude(unsigned.is_some(), &bytes);
    }

    fn magnitude(&mut self, negative: bool, little_endian: &[u8]) {
        let len = little_endian
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        match u8::try_from(len) {
            Ok(short) => self.put(&[b'n', short]),
            Err(_) => self.sized(b'o', len),
        }
        self.put(&[u8::from(negative)]);
        self.put(&little_endian[..len]);
    }
}

fn as_byte(value: &Value) -> Option<u8> {
    match value {
        Value::Number(Number::Int(int)) => u8::try_from(*int).ok(),
        _ => None,
    }
}

fn is_byte_list(items: &[Value]) -> bool {
    (1..=LONGEST_BYTE_LIST).contains(&items.len())
        && items.iter().all(|item| as_byte(item).is_some())
}

/// Decimal digits to little-endian bytes.
fn magnitude_of(digits: &str) -> Vec<u8> {
    const STEP: usize = 19;
    let mut limbs: Vec<u64> = Vec::with_capacity(digits.len() / STEP + 1);
    let mut rest = digits;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(rest.len().min(STEP));
        rest = behind;
        let scale = u128::from(10u64.pow(chunk.len() as u32));
        let mut carry = chunk.parse::<u128>().unwrap_or(0);
        for limb in &mut limbs {
            let wide = u128::from(*limb) * scale + carry;
            *limb = wide as u64;
            carry = wide >> 64;
        }
        if carry > 0 {
            limbs.push(carry as u64);
        }
    }
    limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_digits_become_little_endian_bytes() {
        assert_eq!(
            magnitude_of("18446744073709551616"),
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        );
        let value = 123_456_789_012_345_678_901_234_567_890_u128;
        assert_eq!(magnitude_of(&value.to_string()), value.to_le_bytes());
    }
}
