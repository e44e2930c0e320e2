//! Unsigned integers of one to ten bytes: seven bits a byte, lowest first, high bit = more follow.
//!
//! Varve's own files use them, and so do Mercurial's stream clones.

/// Appends `value`.
pub fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes values off the front of a slice; `None` where the bytes end or overflow.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader that stands before the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// Whether everything was taken.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The unread rest.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(taken)
    }

    /// A number.
    pub fn u64(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A number that counts something in memory.
    pub fn len(&mut self) -> Option<usize> {
        self.u64().and_then(|value| usize::try_from(value).ok())
    }

    /// A number of at most 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.u64().and_then(|value| u32::try_from(value).ok())
    }

    /// A length and as many bytes.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.bytes(len)
    }
}

/// Appends a length and the bytes.
pub fn put_counted(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_numbers_have_known_bytes() {
        for (value, bytes) in [
            (0, &b"\0"[..]),
            (127, b"\x7f"),
            (128, b"\x80\x01"),
            (1337, b"\xb9\x0a"),
            (65536, b"\x80\x80\x04"),
            (u64::MAX, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ] {
            let mut out = Vec::new();
            put(value, &mut out);
            assert_eq!(out, bytes, "{value}");
        }
        assert_eq!(Reader::new(&[0xff; 10]).u64(), None);
        assert_eq!(Reader::new(&[0x80]).u64(), None);
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        let mut bytes = [0xff; 10];
        bytes[9] = 1;
        assert_eq!(Reader::new(&bytes).u64(), Some(u64::MAX));
        bytes[9] = 2;
        assert_eq!(Reader::new(&bytes).u64(), None);
        assert_eq!(Reader::new(&[0xff; 20]).u64(), None);
    }

    proptest! {
        #[test]
        fn every_number_reads_back(value in any::<u64>(), small in 0u64..1000) {
            let mut out = Vec::new();
            put(value, &mut out);
            put(small, &mut out);
            put_counted(b"end", &mut out);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.u64(), Some(value));
            prop_assert_eq!(reader.u64(), Some(small));
            prop_assert_eq!(reader.counted(), Some(&b"end"[..]));
            prop_assert!(reader.is_empty());
            let mut cut = Reader::new(&out[..out.len() - 1]);
            prop_assert_eq!((cut.u64(), cut.u64()), (Some(value), Some(small)));
            prop_assert_eq!(cut.counted(), None);
        }
    }
}
