//! Revision numbers and node ids.

use std::fmt;

/// Position of a revision in one revlog: 0 is the first one written.
///
/// The value -1 of disk and wire ("no parent") is `Option::<Rev>::None`; it exists only inside
/// [`Rev::from_disk`] and [`Rev::to_disk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rev(pub u32);

impl Rev {
    /// Position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// `-1` is `Some(None)`; anything below is no revision at all.
    pub fn from_disk(number: i32) -> Option<Option<Rev>> {
        match u32::try_from(number) {
            Ok(rev) => Some(Some(Rev(rev))),
            Err(_) if number == -1 => Some(None),
            Err(_) => None,
        }
    }

    /// The number for disk and wire.
    pub fn to_disk(rev: Option<Rev>) -> i32 {
        rev.map_or(-1, |rev| i32::try_from(rev.0).unwrap_or(i32::MAX))
    }
}

impl fmt::Display for Rev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// SHA-1 over a revision's parents and text: its name everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub [u8; Node::LEN]);

impl Node {
    /// Bytes of a node.
    pub const LEN: usize = 20;
    /// "No revision": twenty zero bytes.
    pub const NULL: Node = Node([0; Node::LEN]);

    /// Whether this is [`Node::NULL`].
    pub fn is_null(&self) -> bool {
        *self == Node::NULL
    }

    /// Returns whether [`Node::NULL`] begins with these hexadecimal digits, at least one.
    pub fn null_begins_with(hex: &[u8]) -> bool {
        (1..=2 * Node::LEN).contains(&hex.len()) && hex.iter().all(|digit| *digit == b'0')
    }

    /// Reads forty hexadecimal digits of either case.
    pub fn from_hex(hex: &[u8]) -> Option<Node> {
        if hex.len() != 2 * Node::LEN {
            return None;
        }
        let mut node = Node::NULL;
        for (byte, pair) in node.0.iter_mut().zip(hex.as_chunks::<2>().0) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(node)
    }

    /// Forty lower-case hexadecimal digits.
    pub fn to_hex(&self) -> [u8; 2 * Node::LEN] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 2 * Node::LEN];
        for (pair, byte) in hex.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ];
        }
        hex
    }
}

/// Value of one hexadecimal digit.
pub(crate) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_reads_back_and_nothing_else_reads() {
        let node = Node(std::array::from_fn(|i| (i * 13) as u8));
        assert_eq!(Node::from_hex(&node.to_hex()), Some(node));
        assert_eq!(node.to_string().as_bytes(), node.to_hex());
        assert_eq!(Node::from_hex(&[b'0'; 39]), None);
        assert_eq!(Node::from_hex(&[b'g'; 40]), None);
    }

    #[test]
    fn minus_one_is_no_revision() {
        assert_eq!(Rev::from_disk(-1), Some(None));
        assert_eq!(Rev::from_disk(-2), None);
        assert_eq!(Rev::from_disk(7), Some(Some(Rev(7))));
        assert_eq!(Rev::to_disk(None), -1);
    }
}
