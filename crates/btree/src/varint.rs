//! Unsigned integers of one to ten bytes: seven bits a byte, lowest first, high bit = more follow.

/// Appends `value`.
pub(crate) fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes values off the front of a slice; `None` where the bytes end or overflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What was not taken yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
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

    pub(crate) fn len(&mut self) -> Option<usize> {
        self.u64().and_then(|value| usize::try_from(value).ok())
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.u64().and_then(|value| u32::try_from(value).ok())
    }

    /// A length and as many bytes.
    pub(crate) fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.bytes(len)
    }
}

/// Appends a length and the bytes.
pub(crate) fn put_counted(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let mut out = Vec::new();
        put(300, &mut out);
        assert_eq!(out, [0xac, 0x02]);
        assert_eq!(Reader::new(&[0xff; 10]).u64(), None);
        assert_eq!(Reader::new(&[0x80]).u64(), None);
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
        }
    }
}
