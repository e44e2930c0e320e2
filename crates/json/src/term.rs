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
//! Every object has its term only once, however often a digest is asked for: see
//! [`Body`](crate::Body).

use crate::{Number, Object, Value};
use md5::{Digest, Md5};

/// A list longer than this is never written as a string of bytes.
pub(crate) const LONGEST_BYTE_LIST: usize = 65_535;
/// A list's tag and count.
pub(crate) const LIST_HEAD: usize = 5;
/// Bytes in front of the list of an object's members.
pub(crate) const OBJECT: &[u8] = b"h\x01";
/// The empty list, and the end of every other.
pub(crate) const END: u8 = b'j';

/// Fields of an attachment that count for the digest.
#[derive(Clone, Copy, Debug)]
pub struct AttachmentTerm<'a> {
    /// File name of the attachment.
    pub name: &'a str,
    /// Media type, as the document has it.
    pub content_type: &'a str,
    /// MD5 of the stored form.
    pub md5: &'a [u8; 16],
}

/// The byte in front of each term that stands on its own.
pub const VERSION: u8 = 131;

/// Writes a list or a tuple whose items come one by one.
#[derive(Debug)]
pub struct TermWriter {
    is_list: bool,
    count: usize,
    items: Vec<u8>,
}

impl TermWriter {
    /// A list without items so far.
    pub fn list() -> TermWriter {
        TermWriter {
            is_list: true,
            count: 0,
            items: Vec::new(),
        }
    }

    /// A tuple without fields so far; it may have up to 255.
    pub fn tuple() -> TermWriter {
        TermWriter {
            is_list: false,
            ..TermWriter::list()
        }
    }

    /// Appends an atom, of at most 255 bytes.
    pub fn atom(&mut self, name: &str) {
        self.count += 1;
        atom(name, &mut self.items);
    }

    /// Appends a binary.
    pub fn binary(&mut self, bytes: &[u8]) {
        self.count += 1;
        binary(bytes, &mut self.items);
    }

    /// Appends a text as the list of its bytes, as Erlang's own strings are.
    pub fn characters(&mut self, text: &str) {
        self.count += 1;
        let bytes = text.as_bytes();
        match bytes.len() {
            0 => self.items.push(END),
            len if len <= LONGEST_BYTE_LIST => {
                self.items.extend_from_slice(&head_of_bytes(len));
                self.items.extend_from_slice(bytes);
            }
            len => {
                list_head(len, &mut self.items);
                self.items
                    .extend(bytes.iter().flat_map(|byte| [b'a', *byte]));
                self.items.push(END);
            }
        }
    }

    /// Appends a JSON value.
    pub fn value(&mut self, json: &Value) {
        self.count += 1;
        value(json, &mut self.items);
    }

    /// Appends another list or tuple.
    pub fn item(&mut self, item: TermWriter) {
        self.count += 1;
        let bytes = item.finish(&[]);
        self.items.extend_from_slice(&bytes);
    }

    /// The term, behind what stands in front of it.
    pub fn finish(self, prefix: &[u8]) -> Vec<u8> {
        let mut out = prefix.to_vec();
        match (self.is_list, self.count) {
            (true, 0) => {}
            (true, count) => list_head(count, &mut out),
            (false, count) => out.extend_from_slice(&[b'h', count as u8]),
        }
        out.extend_from_slice(&self.items);
        if self.is_list {
            out.push(END);
        }
        out
    }
}

/// The 16 bytes behind the generation in a revision id.
///
/// `parent` is the parent's generation and digest; `body` is the term of the body
/// ([`Body::term`](crate::Body::term)); `attachments` are in the order in which a GET lists them.
pub fn revision_digest(
    deleted: bool,
    parent: Option<(u64, &[u8])>,
    body: &[u8],
    attachments: &[AttachmentTerm<'_>],
) -> [u8; 16] {
    let mut md5 = Md5::new();
    let mut out = vec![VERSION];
    list_head(5, &mut out);
    atom(if deleted { "true" } else { "false" }, &mut out);
    let (generation, digest) = parent.unwrap_or_default();
    number(&Number::from(generation), &mut out);
    match parent {
        Some(_) => binary(digest, &mut out),
        None => int(0, &mut out),
    }
    md5.update(&out);
    md5.update(body);
    out.clear();
    if !attachments.is_empty() {
        list_head(attachments.len(), &mut out);
        for attachment in attachments.iter().rev() {
            out.extend_from_slice(b"h\x03");
            binary(attachment.name.as_bytes(), &mut out);
            binary(attachment.content_type.as_bytes(), &mut out);
            binary(attachment.md5, &mut out);
        }
    }
    out.extend_from_slice(&[END, END]);
    md5.update(&out);
    md5.finalize().into()
}

/// Rest of the open containers that remains to be written.
enum OpenContainer<'a> {
    List(std::slice::Iter<'a, Value>),
    Members(std::slice::Iter<'a, (String, Value)>),
}

/// Whether a member of a document counts for its digest.
pub(crate) fn counts(name: &str) -> bool {
    !name.starts_with('_')
}

/// Appends the term of a document's members that count.
pub(crate) fn body(body: &Object, out: &mut Vec<u8>) {
    let members = body.members().iter().filter(|(name, _)| counts(name));
    out.extend_from_slice(OBJECT);
    let count = members.clone().count();
    if count > 0 {
        list_head(count, out);
        for (name, member) in members {
            member_head(name, out);
            value(member, out);
        }
    }
    out.push(END);
}

fn value(value: &Value, out: &mut Vec<u8>) {
    let mut open = Vec::new();
    opening(value, &mut open, out);
    while let Some(innermost) = open.last_mut() {
        let next = match innermost {
            OpenContainer::List(items) => items.next(),
            OpenContainer::Members(members) => members.next().map(|(name, value)| {
                member_head(name, out);
                value
            }),
        };
        match next {
            Some(value) => opening(value, &mut open, out),
            None => {
                out.push(END);
                open.pop();
            }
        }
    }
}

/// Writes a scalar whole, of a container the head.
fn opening<'a>(value: &'a Value, open: &mut Vec<OpenContainer<'a>>, out: &mut Vec<u8>) {
    match value {
        Value::Null => atom("null", out),
        Value::Bool(true) => atom("true", out),
        Value::Bool(false) => atom("false", out),
        Value::Number(float_or_int) => number(float_or_int, out),
        Value::String(text) => binary(text.as_bytes(), out),
        Value::Array(items) if is_byte_list(items) => byte_list(items, out),
        Value::Array(items) => {
            if !items.is_empty() {
                list_head(items.len(), out);
            }
            open.push(OpenContainer::List(items.iter()));
        }
        Value::Object(object) => {
            out.extend_from_slice(OBJECT);
            if !object.is_empty() {
                list_head(object.len(), out);
            }
            open.push(OpenContainer::Members(object.members().iter()));
        }
    }
}

/// Writes the bytes in front of a member's value.
pub(crate) fn member_head(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"h\x02");
    binary(name.as_bytes(), out);
}

pub(crate) fn list_head(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&head_of_list(count));
}

/// A list's head, for a list that is not empty.
pub(crate) fn head_of_list(count: usize) -> [u8; LIST_HEAD] {
    sized(b'l', count)
}

pub(crate) fn binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&sized(b'm', bytes.len()));
    out.extend_from_slice(bytes);
}

fn sized(tag: u8, len: usize) -> [u8; 5] {
    let [a, b, c, d] = (len as u32).to_be_bytes();
    [tag, a, b, c, d]
}

pub(crate) fn atom(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'd', 0, name.len() as u8]);
    out.extend_from_slice(name.as_bytes());
}

/// Head of a list that has nothing but bytes.
pub(crate) fn head_of_bytes(count: usize) -> [u8; 3] {
    let [high, low] = (count as u16).to_be_bytes();
    [b'k', high, low]
}

fn byte_list(items: &[Value], out: &mut Vec<u8>) {
    out.extend_from_slice(&head_of_bytes(items.len()));
    out.extend(items.iter().filter_map(as_byte));
}

pub(crate) fn number(number: &Number, out: &mut Vec<u8>) {
    match number {
        Number::Int(exact) => int(*exact, out),
        Number::Float(float) => {
            out.push(b'F');
            out.extend_from_slice(&float.to_be_bytes());
        }
        Number::Big(digits) => big(digits, out),
    }
}

fn int(int: i64, out: &mut Vec<u8>) {
    if let Ok(byte) = u8::try_from(int) {
        out.extend_from_slice(&[b'a', byte]);
    } else if let Ok(small) = i32::try_from(int) {
        out.push(b'b');
        out.extend_from_slice(&small.to_be_bytes());
    } else {
        magnitude(int < 0, &int.unsigned_abs().to_le_bytes(), out);
    }
}

fn big(digits: &str, out: &mut Vec<u8>) {
    let unsigned = digits.strip_prefix('-');
    let bytes = magnitude_of(unsigned.unwrap_or(digits));
    magnitude(unsigned.is_some(), &bytes, out);
}

fn magnitude(negative: bool, little_endian: &[u8], out: &mut Vec<u8>) {
    let len = little_endian
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    match u8::try_from(len) {
        Ok(short) => out.extend_from_slice(&[b'n', short]),
        Err(_) => out.extend_from_slice(&sized(b'o', len)),
    }
    out.push(u8::from(negative));
    out.extend_from_slice(&little_endian[..len]);
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
