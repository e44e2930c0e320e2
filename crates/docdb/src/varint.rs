//! Numbers of variable length, and a reader over bytes that were stored.
//!
//! Seven bits a byte, lowest first; the high bit says that another byte follows.

/// Appends a number.
pub(crate) fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends bytes behind their length.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Bytes of a record do not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Takes a record apart from its beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let (&byte, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Malformed);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed)
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(number in any::<u64>(), shift in 0..64) {
            let number = number >> shift;
            let mut out = Vec::new();
            put(number, &mut out);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert!(reader.is_empty());
            prop_assert_eq!(Reader::new(&out[..out.len() - 1]).number(), Err(Malformed));
        }
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        let mut bytes = [0xff; 10];
        bytes[9] = 1;
        assert_eq!(Reader::new(&bytes).number(), Ok(u64::MAX));
        bytes[9] = 2;
        assert_eq!(Reader::new(&bytes).number(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff; 20]).number(), Err(Malformed));
    }
}
