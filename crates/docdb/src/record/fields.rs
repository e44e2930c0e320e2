//! Records taken apart: the numbers of `varve_base::varint`, with an error where they do not decode.

use varve_base::varint;
pub(crate) use varve_base::varint::{put, put_counted};

/// Bytes of a record do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Takes a record apart from its beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(varint::Reader<'a>);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader(varint::Reader::new(bytes))
    }

    /// The unread rest.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0.rest()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.0.byte().ok_or(Malformed)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        self.0.u64().ok_or(Malformed)
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32, Malformed> {
        self.0.u32().ok_or(Malformed)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        self.0.array().ok_or(Malformed)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        self.0.counted().ok_or(Malformed)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_decode_is_malformed() {
        assert_eq!(Reader::new(&[0xff; 20]).number(), Err(Malformed));
        assert_eq!(Reader::new(&[5, 1]).bytes(), Err(Malformed));
        assert_eq!(Reader::new(&[1, 0xff]).text(), Err(Malformed));
    }
}
