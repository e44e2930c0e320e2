//! Several patches as one.
//!
//! A patch is read as a list of pieces: runs copied from the old text and runs of new bytes, ended
//! by an open piece that copies the rest of the old text. Copies are in ascending order, so two
//! lists compose in one pass over both. Lists are composed pairwise like the carries of a binary
//! counter: each hunk of a chain of n patches is touched about log n times, and no text between
//! the first and the last is ever made.

use crate::patch::{Hunks, PatchError, push_hunk};
use std::ops::Range;

/// A run of bytes of the new text.
#[derive(Clone, Copy, Debug)]
struct ByteRun {
    /// Where the run begins in its source.
    at: u64,
    len: u64,
    source: RunSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunSource {
    /// The text before the first patch.
    Old,
    /// The caller's buffer of patches.
    Patches,
}

/// One patch, or several composed, in pieces.
#[derive(Debug, Default)]
struct Pieces {
    list: Vec<ByteRun>,
    /// From here on the old text is copied to its end.
    rest: u64,
    /// How many patches are composed in this list.
    patches: usize,
}

impl Pieces {
    fn push(&mut self, piece: ByteRun) {
        if piece.len == 0 {
            return;
        }
        if let Some(last) = self.list.last_mut()
            && last.source == piece.source
            && last.at + last.len == piece.at
        {
            last.len += piece.len;
            return;
        }
        self.list.push(piece);
    }

    fn push_copy(&mut self, range: Range<u64>) {
        self.push(ByteRun {
            at: range.start,
            len: range.end - range.start,
            source: RunSource::Old,
        });
    }
}

/// Folds chains of patches. Kept between chains, it allocates nothing once it is warm.
#[derive(Debug, Default)]
pub struct PatchComposer {
    /// Lists of patches in the order of the chain, each of more patches than the next.
    stack: Vec<Pieces>,
    spare: Vec<Pieces>,
}

impl PatchComposer {
    /// Allocates nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies the patches `chain` (ranges of `patches`, the first one first) to `old`, and appends the result to
    /// `out`.
    ///
    /// # Errors
    /// [`PatchError`] if a patch is damaged or the chain does not fit; `out` then holds a
    /// beginning.
    ///
    /// # Panics
    /// If a range lies outside `patches`.
    pub fn apply(
        &mut self,
        patches: &[u8],
        chain: &[Range<usize>],
        old: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), PatchError> {
        if let [only] = chain {
            return crate::apply(&patches[only.clone()], old, out);
        }
        let Some(folded) = self.fold_all(patches, chain)? else {
            out.extend_from_slice(old);
            return Ok(());
        };
        let written = write_text(&folded, patches, old, out);
        self.spare.push(folded);
        written
    }

    /// Appends to `out` one patch that has the effect of the patches `chain` one after the other.
    ///
    /// # Errors
    /// [`PatchError`] if a patch is damaged. Whether the chain fits its text shows only when the
    /// result is applied.
    ///
    /// # Panics
    /// If a range lies outside `patches`.
    pub fn fold(
        &mut self,
        patches: &[u8],
        chain: &[Range<usize>],
        out: &mut Vec<u8>,
    ) -> Result<(), PatchError> {
        if let Some(folded) = self.fold_all(patches, chain)? {
            let written = write_patch(&folded, patches, out);
            self.spare.push(folded);
            return written;
        }
        Ok(())
    }

    /// `None` for an empty chain.
    fn fold_all(
        &mut self,
        patches: &[u8],
        chain: &[Range<usize>],
    ) -> Result<Option<Pieces>, PatchError> {
        self.spare.append(&mut self.stack);
        for range in chain {
            let mut newest = self.fresh();
            read_pieces(patches, range, &mut newest)?;
            while let Some(below) = self.stack.pop_if(|below| below.patches <= newest.patches) {
                newest = self.compose(below, newest);
            }
            self.stack.push(newest);
        }
        let Some(mut newest) = self.stack.pop() else {
            return Ok(None);
        };
        while let Some(below) = self.stack.pop() {
            newest = self.compose(below, newest);
        }
        Ok(Some(newest))
    }

    fn fresh(&mut self) -> Pieces {
        let mut pieces = self.spare.pop().unwrap_or_default();
        pieces.list.clear();
        pieces.rest = 0;
        pieces
    }

    /// `second` after `first`.
    fn compose(&mut self, first: Pieces, second: Pieces) -> Pieces {
        let mut both = self.fresh();
        both.patches = first.patches + second.patches;
        let mut cursor = Cursor {
            pieces: &first,
            index: 0,
            begin: 0,
        };
        for piece in &second.list {
            match piece.source {
                RunSource::Patches => both.push(*piece),
                RunSource::Old => cursor.copy(piece.at..piece.at + piece.len, &mut both),
            }
        }
        both.rest = cursor.finish(second.rest, &mut both);
        self.spare.push(first);
        self.spare.push(second);
        both
    }
}

/// Walks over the text that a list makes, in ascending order only.
struct Cursor<'a> {
    pieces: &'a Pieces,
    index: usize,
    /// Where the piece at `index` begins in the made text.
    begin: u64,
}

impl Cursor<'_> {
    /// Moves to the piece that holds `position`; `None` in the open rest.
    fn seek(&mut self, position: u64) -> Option<ByteRun> {
        while let Some(piece) = self.pieces.list.get(self.index) {
            if position < self.begin + piece.len {
                return Some(*piece);
            }
            self.begin += piece.len;
            self.index += 1;
        }
        None
    }

    fn copy(&mut self, mut range: Range<u64>, out: &mut Pieces) {
        while range.start < range.end {
            let Some(piece) = self.seek(range.start) else {
                let shift = self.pieces.rest;
                let (from, to) = (range.start - self.begin, range.end - self.begin);
                out.push_copy(shift + from..shift + to);
                return;
            };
            let skip = range.start - self.begin;
            let len = (piece.len - skip).min(range.end - range.start);
            out.push(ByteRun {
                at: piece.at + skip,
                len,
                source: piece.source,
            });
            range.start += len;
        }
    }

    /// Copies everything from `position` on; returns where the rest of the old text begins.
    fn finish(&mut self, position: u64, out: &mut Pieces) -> u64 {
        if self.seek(position).is_none() {
            return self.pieces.rest + (position - self.begin);
        }
        let left = self.pieces.list[self.index..].iter();
        let end = self.begin + left.map(|piece| piece.len).sum::<u64>();
        self.copy(position..end, out);
        self.pieces.rest
    }
}

fn read_pieces(
    patches: &[u8],
    range: &Range<usize>,
    pieces: &mut Pieces,
) -> Result<(), PatchError> {
    let mut hunks = Hunks::new(&patches[range.clone()]);
    let mut kept = 0;
    pieces.patches = 1;
    while let Some(hunk) = hunks.next() {
        let hunk = hunk?;
        pieces.push_copy(kept..u64::from(hunk.start));
        pieces.push(ByteRun {
            at: (range.start + hunks.position() - hunk.data.len()) as u64,
            len: hunk.data.len() as u64,
            source: RunSource::Patches,
        });
        kept = u64::from(hunk.end);
    }
    pieces.rest = kept;
    Ok(())
}

fn bytes_of<'a>(piece: &ByteRun, source: &'a [u8]) -> Option<&'a [u8]> {
    let start = usize::try_from(piece.at).ok()?;
    let len = usize::try_from(piece.len).ok()?;
    source.get(start..start.checked_add(len)?)
}

fn write_text(
    pieces: &Pieces,
    patches: &[u8],
    old: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), PatchError> {
    let outside = |wanted| PatchError::OutsideText {
        wanted,
        len: old.len(),
    };
    // The text in one piece of memory from the start. Whatever the patches say, it cannot be longer than its pieces.
    let rest = old.len() as u64 - pieces.rest.min(old.len() as u64);
    let len = pieces.list.iter().map(|piece| piece.len).sum::<u64>() + rest;
    let most = old.len() + patches.len();
    out.reserve(usize::try_from(len).unwrap_or(most).min(most));
    for piece in &pieces.list {
        let source = match piece.source {
            RunSource::Old => old,
            RunSource::Patches => patches,
        };
        let run = bytes_of(piece, source).ok_or(outside(piece.at + piece.len))?;
        out.extend_from_slice(run);
    }
    let rest = usize::try_from(pieces.rest)
        .ok()
        .and_then(|at| old.get(at..));
    out.extend_from_slice(rest.ok_or(outside(pieces.rest))?);
    Ok(())
}

fn write_patch(pieces: &Pieces, patches: &[u8], out: &mut Vec<u8>) -> Result<(), PatchError> {
    let position = |at: u64| {
        u32::try_from(at).map_err(|_| PatchError::OutsideText {
            wanted: at,
            len: u32::MAX as usize,
        })
    };
    let mut kept = 0;
    let mut data: Vec<u8> = Vec::new();
    for piece in &pieces.list {
        match piece.source {
            RunSource::Patches => {
                data.extend_from_slice(bytes_of(piece, patches).unwrap_or_default())
            }
            RunSource::Old => {
                if piece.at > kept || !data.is_empty() {
                    push_hunk(out, position(kept)?, position(piece.at)?, &data);
                    data.clear();
                }
                kept = piece.at + piece.len;
            }
        }
    }
    if pieces.rest > kept || !data.is_empty() {
        push_hunk(out, position(kept)?, position(pieces.rest)?, &data);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A chain of patches that fit one after the other, made from a start text and edits.
    fn chain(
        old: &[u8],
        edits: &[Vec<(u16, u8, Vec<u8>)>],
    ) -> (Vec<u8>, Vec<Range<usize>>, Vec<u8>) {
        let (mut text, mut patches, mut ranges) = (old.to_vec(), Vec::new(), Vec::new());
        for edit in edits {
            let from = patches.len();
            let mut after = 0;
            for (skip, replaced, data) in edit {
                let left = text.len() - after;
                let start = after + usize::from(*skip) % (left + 1);
                let end = (start + usize::from(*replaced)).min(text.len());
                push_hunk(&mut patches, start as u32, end as u32, data);
                after = end;
            }
            let mut next = Vec::new();
            crate::apply(&patches[from..], &text, &mut next).unwrap();
            text = next;
            ranges.push(from..patches.len());
        }
        (patches, ranges, text)
    }

    #[test]
    fn a_chain_that_does_not_fit_is_refused() {
        let mut patches = Vec::new();
        push_hunk(&mut patches, 2, 3, b"x");
        push_hunk(&mut patches, 90, 91, b"y");
        let result =
            PatchComposer::new().apply(&patches, &[0..13, 13..26], b"12345", &mut Vec::new());
        assert!(matches!(result, Err(PatchError::OutsideText { .. })));
    }

    proptest! {
        #[test]
        fn folding_equals_applying_in_turn(
            old in proptest::collection::vec(any::<u8>(), 0..60),
            edits in proptest::collection::vec(
                proptest::collection::vec(
                    (0_u16..40, 0_u8..12, proptest::collection::vec(any::<u8>(), 0..8)), 0..5),
                0..12),
        ) {
            let (patches, ranges, expected) = chain(&old, &edits);
            let mut composer = PatchComposer::new();
            for _ in 0..2 {
                let mut text = b"kept".to_vec();
                composer.apply(&patches, &ranges, &old, &mut text).unwrap();
                prop_assert_eq!(text.strip_prefix(b"kept"), Some(&expected[..]));
                let (mut one, mut text) = (Vec::new(), Vec::new());
                composer.fold(&patches, &ranges, &mut one).unwrap();
                crate::apply(&one, &old, &mut text).unwrap();
                prop_assert_eq!(&text, &expected);
            }
        }
    }
}
