//! Mercurial's binary patch: hunks, one after the other.
//!
//! ```text
//! byte 0       4       8       12
//!      +-------+-------+-------+------------------+
//!      | start | end   | len   | new bytes        |   repeated; nothing before, between, after
//!      | u32   | u32   | u32   | len bytes        |
//!      +-------+-------+-------+------------------+
//! ```
//! Each hunk replaces the bytes `start..end` of the old text. Numbers are big-endian; hunks are in
//! ascending order and do not overlap. The empty patch changes nothing.

mod at {
    pub const START: usize = 0;
    pub const END: usize = START + 4;
    pub const LEN: usize = END + 4;
    pub const DATA: usize = LEN + 4;
}

/// Bytes of a hunk before its new bytes.
pub const HUNK_HEADER_LEN: usize = at::DATA;

const _: () = assert!(HUNK_HEADER_LEN == 12);

/// Bytes that should be a patch are not, or do not fit the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch ends inside a hunk.
    #[error("patch of {len} bytes is cut inside the hunk at byte {at}")]
    Cut {
        /// Where the hunk begins in the patch.
        at: usize,
        /// Length of the patch.
        len: usize,
    },
    /// A hunk ends before it starts, or starts before the previous one ended.
    #[error("hunk at byte {at} of the patch replaces {start}..{end} after byte {after}")]
    Disordered {
        /// Where the hunk begins in the patch.
        at: usize,
        /// First replaced byte.
        start: u32,
        /// End of the replaced bytes.
        end: u32,
        /// End of the previous hunk.
        after: u32,
    },
    /// The patch speaks of bytes that the old text does not have.
    #[error("patch reaches byte {wanted} of a text of {len} bytes")]
    OutsideText {
        /// The end of the range that the patch needs.
        wanted: u64,
        /// Length of the old text.
        len: usize,
    },
}

/// One replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// First replaced byte of the old text.
    pub start: u32,
    /// End of the replaced bytes; not before `start`.
    pub end: u32,
    /// The replacement.
    pub data: &'a [u8],
}

/// The hunks of a patch, checked one by one; ends after the first error.
#[derive(Clone, Debug)]
pub struct Hunks<'a> {
    patch: &'a [u8],
    at: usize,
    after: u32,
}

impl<'a> Hunks<'a> {
    /// Reads `patch` from its beginning.
    pub fn new(patch: &'a [u8]) -> Self {
        Hunks {
            patch,
            at: 0,
            after: 0,
        }
    }

    /// Where the next hunk begins in the patch.
    pub fn position(&self) -> usize {
        self.at
    }

    fn decode(&mut self) -> Result<Hunk<'a>, PatchError> {
        let at = self.at;
        let cut = PatchError::Cut {
            at,
            len: self.patch.len(),
        };
        let (head, rest) = self.patch[at..]
            .split_first_chunk::<HUNK_HEADER_LEN>()
            .ok_or(cut)?;
        let number = |from: usize| {
            u32::from_be_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]])
        };
        let (start, end, len) = (number(at::START), number(at::END), number(at::LEN) as usize);
        let after = self.after;
        if end < start || start < after {
            return Err(PatchError::Disordered {
                at,
                start,
                end,
                after,
            });
        }
        let data = rest.get(..len).ok_or(cut)?;
        self.at = at + HUNK_HEADER_LEN + len;
        self.after = end;
        Ok(Hunk { start, end, data })
    }
}

impl<'a> Iterator for Hunks<'a> {
    type Item = Result<Hunk<'a>, PatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.patch.len() {
            return None;
        }
        let hunk = self.decode();
        if hunk.is_err() {
            self.at = self.patch.len();
        }
        Some(hunk)
    }
}

/// Appends one hunk to `patch`. The caller keeps the order; `data` is shorter than 4 GiB.
pub fn push_hunk(patch: &mut Vec<u8>, start: u32, end: u32, data: &[u8]) {
    let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
    for number in [start, end, len] {
        patch.extend_from_slice(&number.to_be_bytes());
    }
    patch.extend_from_slice(data);
}

/// Applies `patch` to `old`, and appends the result to `out`.
///
/// # Errors
/// [`PatchError`] if the patch is damaged or does not fit; `out` then holds a beginning.
pub fn apply(patch: &[u8], old: &[u8], out: &mut Vec<u8>) -> Result<(), PatchError> {
    let mut kept = 0;
    for hunk in Hunks::new(patch) {
        let hunk = hunk?;
        let outside = PatchError::OutsideText {
            wanted: u64::from(hunk.end),
            len: old.len(),
        };
        if hunk.end as usize > old.len() {
            return Err(outside);
        }
        out.extend_from_slice(old.get(kept..hunk.start as usize).ok_or(outside)?);
        out.extend_from_slice(hunk.data);
        kept = hunk.end as usize;
    }
    out.extend_from_slice(&old[kept..]);
    Ok(())
}

/// How long the text is that `patch` makes of one with `old_len` bytes.
///
/// # Errors
/// As of [`apply`].
pub fn patched_len(patch: &[u8], old_len: usize) -> Result<usize, PatchError> {
    let mut len = old_len;
    for hunk in Hunks::new(patch) {
        let hunk = hunk?;
        if hunk.end as usize > old_len {
            return Err(PatchError::OutsideText {
                wanted: u64::from(hunk.end),
                len: old_len,
            });
        }
        // Replaced bytes lie within the old text, each once.
        len = len - (hunk.end - hunk.start) as usize + hunk.data.len();
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mdiff.textdiff(b"a\nb\nc\n", b"a\nx\nc\nd\n")` of Mercurial 7.2.
    const GOLDEN: &[u8] = b"\0\0\0\x02\0\0\0\x04\0\0\0\x02x\n\0\0\0\x06\0\0\0\x06\0\0\0\x02d\n";

    #[test]
    fn golden_patch_applies_and_encodes_back() {
        let mut out = Vec::new();
        apply(GOLDEN, b"a\nb\nc\n", &mut out).unwrap();
        assert_eq!(out, b"a\nx\nc\nd\n");
        assert_eq!(patched_len(GOLDEN, 6), Ok(8));
        let mut again = Vec::new();
        for hunk in Hunks::new(GOLDEN) {
            let hunk = hunk.unwrap();
            push_hunk(&mut again, hunk.start, hunk.end, hunk.data);
        }
        assert_eq!(again, GOLDEN);
    }

    #[test]
    fn damaged_patches_are_refused_with_place_and_reason() {
        let check = |patch: &[u8]| {
            let error = apply(patch, b"12345", &mut Vec::new()).unwrap_err();
            assert_eq!(patched_len(patch, 5), Err(error));
            error
        };
        assert_eq!(check(b"\0\0\0"), PatchError::Cut { at: 0, len: 3 });
        let mut patch = Vec::new();
        push_hunk(&mut patch, 2, 3, b"x");
        push_hunk(&mut patch, 1, 4, b"");
        assert!(matches!(
            check(&patch),
            PatchError::Disordered {
                at: 13,
                after: 3,
                ..
            }
        ));
        assert!(matches!(
            check(&patch[..patch.len() - 1]),
            PatchError::Cut { at: 13, .. }
        ));
        patch.clear();
        push_hunk(&mut patch, 5, 6, b"");
        assert_eq!(check(&patch), PatchError::OutsideText { wanted: 6, len: 5 });
    }
}
