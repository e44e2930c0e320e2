//! Lines of two texts that differ.

use varve_delta::same_lines;

/// Lines of a text, each with its line end.
pub(in crate::hg::pages) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Lines of both texts that differ, from the first to behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct LineChange {
    pub(in crate::hg::pages) old: (usize, usize),
    pub(in crate::hg::pages) new: (usize, usize),
}

/// The differing lines of two texts, in order.
pub(in crate::hg::pages) fn changes(old: &[u8], new: &[u8]) -> Vec<LineChange> {
    let (mut at, mut found) = ((0, 0), Vec::new());
    let ends = (lines(old).len(), lines(new).len());
    let blocks = same_lines(old, new);
    let blocks = blocks.iter().map(|block| (block.a, block.b, block.len));
    for (a, b, len) in blocks.chain([(ends.0, ends.1, 0)]) {
        if (a, b) != at {
            found.push(LineChange {
                old: (at.0, a),
                new: (at.1, b),
            });
        }
        at = (a + len, b + len);
    }
    found
}

/// Parts changes into those that share lines of context.
pub(in crate::hg::pages) fn grouped(
    changes: &[LineChange],
    context: usize,
) -> impl Iterator<Item = &[LineChange]> {
    changes.chunk_by(move |before, next| next.old.0 <= before.old.1 + 2 * context)
}
