//! Records of the merge state.
//!
//! ```text
//! +------+------------+-----------------+
//! | type | length u32 | length bytes    |      big-endian
//! +------+------------+-----------------+
//! ```
//! A record of type `t` holds, behind one byte with its real type, one that older programs may
//! not know.

const HEADER_LEN: usize = 1 + 4;
const WRAPPED: u8 = b't';
/// Types that every program knows, and that are therefore not wrapped.
const OLD: &[u8] = b"LOF";

/// Reads records one after another; a torn end gives `None` as its content, once.
pub(super) struct Records<'b>(&'b [u8]);

impl<'b> Records<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Records(bytes)
    }
}

impl<'b> Iterator for Records<'b> {
    type Item = (u8, Option<&'b [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.0.split_first_chunk::<HEADER_LEN>()?;
        let len = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let Some((content, rest)) = rest.split_at_checked(len) else {
            self.0 = b"";
            return Some((header[0], None));
        };
        self.0 = rest;
        match (header[0], content) {
            (WRAPPED, [kind, content @ ..]) => Some((*kind, Some(content))),
            (kind, content) => Some((kind, Some(content))),
        }
    }
}

/// Appends a record; contents are far shorter than 4 GiB.
pub(super) fn push(kind: u8, content: &[u8], out: &mut Vec<u8>) {
    let inner = [kind];
    let (kind, inner) = match OLD.contains(&kind) {
        true => (kind, &inner[..0]),
        false => (WRAPPED, &inner[..]),
    };
    out.push(kind);
    out.extend(((inner.len() + content.len()) as u32).to_be_bytes());
    out.extend_from_slice(inner);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        push(b'L', b"node", &mut bytes);
        push(b'C', b"a\0u", &mut bytes);
        assert_eq!(bytes, b"L\0\0\0\x04nodet\0\0\0\x04Ca\0u");
        let found: Vec<_> = Records::new(&bytes).collect();
        let expected = [(b'L', Some(&b"node"[..])), (b'C', Some(b"a\0u"))];
        assert_eq!(found, expected);
        let torn: Vec<_> = Records::new(&bytes[..bytes.len() - 1]).collect();
        assert_eq!(torn[1], (b't', None));
    }
}
