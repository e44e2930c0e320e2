//! External terms, read one after another: nothing is built of them, and no atom is made.
//!
//! ```text
//! +------------+-----+----------------+   a length counts bytes of a binary, items of a list or tuple
//! | version    | tag | lengths, value |   ...
//! | 131, once  | u8  |                |
//! +------------+-----+----------------+
//! ```

use super::damage::Malformed;

/// First byte of a term that stands alone.
pub(crate) const VERSION: u8 = 131;

pub(crate) mod tag {
    pub const NEW_FLOAT: u8 = 70;
    pub const SMALL_INTEGER: u8 = 97;
    pub const INTEGER: u8 = 98;
    pub const FLOAT: u8 = 99;
    pub const ATOM: u8 = 100;
    pub const SMALL_TUPLE: u8 = 104;
    pub const LARGE_TUPLE: u8 = 105;
    pub const NIL: u8 = 106;
    pub const STRING: u8 = 107;
    pub const LIST: u8 = 108;
    pub const BINARY: u8 = 109;
    pub const SMALL_BIG: u8 = 110;
    pub const LARGE_BIG: u8 = 111;
    pub const SMALL_ATOM: u8 = 115;
    pub const MAP: u8 = 116;
    pub const UTF8_ATOM: u8 = 118;
    pub const SMALL_UTF8_ATOM: u8 = 119;
}

/// Bytes of the text of an old float.
const FLOAT_TEXT: usize = 31;

const SHORT: Malformed = Malformed("the term ends too early");

/// A list whose items come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List<'a> {
    /// So many items, behind which [`TermReader::end_list`] stands if there are any.
    Items(u32),
    /// A list of small integers, which is read already.
    Bytes(&'a [u8]),
}

/// An integer of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer<'a> {
    Small(i64),
    /// Whether it is negative, and its magnitude, little-endian.
    Big(bool, &'a [u8]),
}

/// Reads the parts of one term in order.
#[derive(Clone, Debug)]
pub(crate) struct TermReader<'a> {
    rest: &'a [u8],
}

impl<'a> TermReader<'a> {
    /// Reads a term that stands alone, behind its version.
    pub(crate) fn new(term: &'a [u8]) -> Result<TermReader<'a>, Malformed> {
        match term.split_first() {
            Some((&VERSION, rest)) => Ok(TermReader { rest }),
            _ => Err(Malformed("the bytes are no external term")),
        }
    }

    /// The tag of what comes next.
    pub(crate) fn peek(&self) -> Result<u8, Malformed> {
        self.rest.first().copied().ok_or(SHORT)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| SHORT)
    }

    fn tag(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    fn u8_len(&mut self) -> Result<usize, Malformed> {
        Ok(usize::from(self.tag()?))
    }

    fn u16_len(&mut self) -> Result<usize, Malformed> {
        Ok(usize::from(u16::from_be_bytes(self.array()?)))
    }

    fn u32_len(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Enters a tuple; its arity.
    pub(crate) fn tuple(&mut self) -> Result<u32, Malformed> {
        match self.tag()? {
            tag::SMALL_TUPLE => Ok(self.u8_len()? as u32),
            tag::LARGE_TUPLE => self.u32_len(),
            _ => Err(Malformed("a tuple is expected")),
        }
    }

    /// Enters a tuple that must have this arity.
    pub(crate) fn tuple_of(&mut self, arity: u32) -> Result<(), Malformed> {
        match self.tuple()? == arity {
            true => Ok(()),
            false => Err(Malformed("a tuple has another size than expected")),
        }
    }

    /// Enters a list.
    pub(crate) fn list(&mut self) -> Result<List<'a>, Malformed> {
        match self.tag()? {
            tag::NIL => Ok(List::Items(0)),
            tag::LIST => match self.u32_len()? {
                0 => self.end_list().map(|()| List::Items(0)),
                count => Ok(List::Items(count)),
            },
            tag::STRING => {
                let len = self.u16_len()?;
                Ok(List::Bytes(self.take(len)?))
            }
            _ => Err(Malformed("a list is expected")),
        }
    }

    /// Enters a list whose items are no small integers; how many there are.
    pub(crate) fn items(&mut self) -> Result<u32, Malformed> {
        match self.list()? {
            List::Items(count) => Ok(count),
            List::Bytes([]) => Ok(0),
            List::Bytes(_) => Err(Malformed("a list has integers where others are expected")),
        }
    }

    /// Leaves a list behind its last item.
    pub(crate) fn end_list(&mut self) -> Result<(), Malformed> {
        match self.tag()? {
            tag::NIL => Ok(()),
            _ => Err(Malformed("a list does not end")),
        }
    }

    pub(crate) fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        match self.tag()? {
            tag::BINARY => {
                let len = self.u32_len()?;
                self.take(usize::try_from(len).map_err(|_| SHORT)?)
            }
            _ => Err(Malformed("a binary is expected")),
        }
    }

    /// A binary that is UTF-8.
    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.binary()?;
        std::str::from_utf8(bytes).map_err(|_| Malformed("a text is no UTF-8"))
    }

    pub(crate) fn atom(&mut self) -> Result<&'a [u8], Malformed> {
        let len = match self.tag()? {
            tag::ATOM | tag::UTF8_ATOM => self.u16_len()?,
            tag::SMALL_ATOM | tag::SMALL_UTF8_ATOM => self.u8_len()?,
            _ => return Err(Malformed("an atom is expected")),
        };
        self.take(len)
    }

    /// Whether an atom comes next.
    pub(crate) fn is_atom(&self) -> bool {
        use tag::{ATOM, SMALL_ATOM, SMALL_UTF8_ATOM, UTF8_ATOM};
        let tag = self.rest.first();
        tag.is_some_and(|tag| [ATOM, UTF8_ATOM, SMALL_ATOM, SMALL_UTF8_ATOM].contains(tag))
    }

    pub(crate) fn integer(&mut self) -> Result<Integer<'a>, Malformed> {
        let len = match self.tag()? {
            tag::SMALL_INTEGER => return Ok(Integer::Small(i64::from(self.tag()?))),
            tag::INTEGER => {
                let int = i32::from_be_bytes(self.array()?);
                return Ok(Integer::Small(i64::from(int)));
            }
            tag::SMALL_BIG => self.u8_len()?,
            tag::LARGE_BIG => usize::try_from(self.u32_len()?).map_err(|_| SHORT)?,
            _ => return Err(Malformed("an integer is expected")),
        };
        let is_negative = self.tag()? != 0;
        Ok(Integer::Big(is_negative, self.take(len)?))
    }

    /// An integer of 64 bits that is not negative.
    pub(crate) fn unsigned(&mut self) -> Result<u64, Malformed> {
        const RANGE: Malformed = Malformed("an integer is out of range");
        match self.integer()? {
            Integer::Small(int) => u64::try_from(int).map_err(|_| RANGE),
            Integer::Big(true, _) => Err(RANGE),
            Integer::Big(false, bytes) => {
                let (low, high) = bytes.split_at(bytes.len().min(8));
                if high.iter().any(|byte| *byte != 0) {
                    return Err(RANGE);
                }
                Ok(low
                    .iter()
                    .rev()
                    .fold(0, |value, byte| value << 8 | u64::from(*byte)))
            }
        }
    }

    /// A float that is finite.
    pub(crate) fn float(&mut self) -> Result<f64, Malformed> {
        let float = match self.tag()? {
            tag::NEW_FLOAT => f64::from_be_bytes(self.array()?),
            tag::FLOAT => {
                let text = self.take(FLOAT_TEXT)?;
                let text = std::str::from_utf8(text).map(|text| text.trim_end_matches('\0'));
                let float = text.ok().and_then(|text| text.trim().parse().ok());
                float.ok_or(Malformed("the text of a float is none"))?
            }
            _ => return Err(Malformed("a float is expected")),
        };
        match f64::is_finite(float) {
            true => Ok(float),
            false => Err(Malformed("a float is not finite")),
        }
    }

    /// Passes over one term, however deep it is.
    pub(crate) fn skip(&mut self) -> Result<(), Malformed> {
        let mut pending = 1_u64;
        while pending > 0 {
            // Every term takes a byte at least.
            if pending > self.rest.len() as u64 {
                return Err(SHORT);
            }
            pending -= 1;
            pending += match self.peek()? {
                tag::NEW_FLOAT | tag::FLOAT => self.float().map(|_| 0)?,
                tag::SMALL_INTEGER | tag::INTEGER | tag::SMALL_BIG | tag::LARGE_BIG => {
                    self.integer().map(|_| 0)?
                }
                tag::SMALL_TUPLE | tag::LARGE_TUPLE => u64::from(self.tuple()?),
                tag::NIL | tag::LIST | tag::STRING => match self.list()? {
                    // Items, and the term behind the last one.
                    List::Items(count @ 1..) => u64::from(count) + 1,
                    List::Items(0) | List::Bytes(_) => 0,
                },
                tag::BINARY => self.binary().map(|_| 0)?,
                tag::MAP => {
                    self.tag()?;
                    2 * u64::from(self.u32_len()?)
                }
                _ => self.atom().map(|_| 0)?,
            };
        }
        Ok(())
    }

    /// The bytes of the next term, which is passed over.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8], Malformed> {
        let before = self.rest;
        self.skip()?;
        Ok(&before[..before.len() - self.rest.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_of_a_term_are_read_in_order() {
        // {db_header, 8, -1, [1,2], <<"x">>, [], 2^64-1, 1.5}
        let term = b"\x83h\x08d\x00\x09db_headera\x08b\xff\xff\xff\xffk\x00\x02\x01\x02m\x00\x00\x00\x01xj\
                     n\x08\x00\xff\xff\xff\xff\xff\xff\xff\xffF\x3f\xf8\0\0\0\0\0\0";
        let mut reader = TermReader::new(term).unwrap();
        let mut skipped = reader.clone();
        assert_eq!(reader.tuple(), Ok(8));
        assert_eq!(reader.atom(), Ok(&b"db_header"[..]));
        assert_eq!(reader.unsigned(), Ok(8));
        assert_eq!(reader.integer(), Ok(Integer::Small(-1)));
        assert_eq!(reader.list(), Ok(List::Bytes(&[1, 2])));
        assert_eq!(reader.text(), Ok("x"));
        assert_eq!(reader.items(), Ok(0));
        assert_eq!(reader.unsigned(), Ok(u64::MAX));
        assert_eq!(reader.float(), Ok(1.5));
        assert!(reader.peek().is_err());
        skipped.skip().unwrap();
        assert!(skipped.peek().is_err());
    }

    #[test]
    fn deep_terms_and_sizes_that_lie_are_passed_over_or_refused_in_little_room() {
        let deep = [&[VERSION][..], &b"h\x01".repeat(1_000_000), b"j"].concat();
        TermReader::new(&deep).unwrap().skip().unwrap();
        for lie in [
            &b"\x83i\xff\xff\xff\xff"[..],
            b"\x83l\xff\xff\xff\xff",
            b"\x83m\xff\xff\xff\xff",
        ] {
            assert!(TermReader::new(lie).unwrap().skip().is_err());
        }
        let lists = [&[VERSION][..], &b"l\xff\xff\xff\xff".repeat(100_000)].concat();
        assert!(TermReader::new(&lists).unwrap().skip().is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let bytes = [&[VERSION][..], &bytes].concat();
            let mut reader = TermReader::new(&bytes).unwrap();
            while reader.skip().is_ok() && reader.peek().is_ok() {}
        }
    }
}
