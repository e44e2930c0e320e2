//! Merges two texts that were each made from a third.
//!
//! Lines that both kept are fixed points. Between two of them either only one side changed something, or both made the
//! same change, or the merge has a conflict there. Which lines count as kept is decided by [`blocks`], so that a merge
//! ends where Mercurial's does.

use crate::blocks::{Block, blocks};
use std::collections::HashMap;
use std::ops::Range;

/// A stretch of a merged text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergedRegion<'t> {
    /// There is no question about these lines.
    Clear(&'t [u8]),
    /// Both sides changed these lines, each in its own way.
    Conflict {
        /// As the lines were.
        base: &'t [u8],
        /// As the first text has them.
        ours: &'t [u8],
        /// As the second text has them.
        theirs: &'t [u8],
    },
}

/// Changes of both sides that touch each other and have no line in common, as they are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TouchingChanges {
    /// They are one conflict.
    #[default]
    Conflict,
    /// They are merged, unless both sides insert lines in the same place.
    Merge,
}

/// Merges the changes of `ours` and `theirs` to `base`, in order; no piece is empty.
pub fn merge<'t>(
    touching: TouchingChanges,
    [base, ours, theirs]: [&'t [u8]; 3],
) -> Vec<MergedRegion<'t>> {
    let mut numbers = HashMap::new();
    let [base, ours, theirs] = [base, ours, theirs].map(|text| Lines::new(text, &mut numbers));
    let (in_ours, in_theirs) = (
        blocks(&base.numbers, &ours.numbers),
        blocks(&base.numbers, &theirs.numbers),
    );
    let mut pieces = Vec::new();
    let (mut at_base, mut at_ours, mut at_theirs) = (0, 0, 0);
    for kept in kept_by_both(&in_ours, &in_theirs, touching) {
        let between = Between {
            base: (&base, at_base..kept.base),
            ours: (&ours, at_ours..kept.ours),
            theirs: (&theirs, at_theirs..kept.theirs),
        };
        pieces.extend(between.piece());
        let end = kept.base + kept.len;
        if kept.len > 0 {
            pieces.push(MergedRegion::Clear(base.text(kept.base..end)));
        }
        (at_base, at_ours, at_theirs) = (end, kept.ours + kept.len, kept.theirs + kept.len);
    }
    pieces
}

/// Lines that are the same in all three texts.
#[derive(Clone, Copy, Debug)]
struct Kept {
    base: usize,
    ours: usize,
    theirs: usize,
    len: usize,
}

/// The runs of lines that both sides keep of the base, and an empty one behind all three texts. If touching changes are
/// merged, there are empty ones between them too.
fn kept_by_both(ours: &[Block], theirs: &[Block], touching: TouchingChanges) -> Vec<Kept> {
    let parts_touching = touching == TouchingChanges::Merge;
    let mut kept = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (ours.get(i), theirs.get(j)) {
        let (end_a, end_b) = (a.a + a.len, b.a + b.len);
        let (start, end) = (a.a.max(b.a), end_a.min(end_b));
        if start < end || (parts_touching && start == end) {
            kept.push(Kept {
                base: start,
                ours: a.b + (start - a.a),
                theirs: b.b + (start - b.a),
                len: end - start,
            });
        }
        i += usize::from(end_a <= end_b);
        j += usize::from(end_b <= end_a);
        if parts_touching && end_a == end_b {
            kept.extend(between_insertion([a, b], [ours.get(i), theirs.get(j)]));
        }
    }
    // Both lists end with an empty run behind their texts.
    if let (Some(a), Some(b)) = (ours.last(), theirs.last()) {
        kept.push(Kept {
            base: a.a,
            ours: a.b,
            theirs: b.b,
            len: 0,
        });
    }
    kept
}

/// The point behind an insertion, where the runs of both sides end in one place and only one side inserts lines there.
fn between_insertion([a, b]: [&Block; 2], next: [Option<&Block>; 2]) -> Option<Kept> {
    let base = a.a + a.len;
    let behind = |run: &Block, next: Option<&Block>| {
        let next = next.filter(|next| next.a == base && next.b > run.b + run.len)?;
        Some(next.b)
    };
    let (ours, theirs) = match (behind(a, next[0]), behind(b, next[1])) {
        (Some(ours), None) => (ours, b.b + b.len),
        (None, Some(theirs)) => (a.b + a.len, theirs),
        _ => return None,
    };
    Some(Kept {
        base,
        ours,
        theirs,
        len: 0,
    })
}

type Side<'l, 't> = (&'l Lines<'t>, Range<usize>);

/// The lines between two fixed points.
struct Between<'l, 't> {
    base: Side<'l, 't>,
    ours: Side<'l, 't>,
    theirs: Side<'l, 't>,
}

impl<'t> Between<'_, 't> {
    fn piece(self) -> Option<MergedRegion<'t>> {
        let text = |(lines, range): Side<'_, 't>| lines.text(range);
        let [base, ours, theirs] = [self.base, self.ours, self.theirs].map(text);
        let clear = |text: &'t [u8]| (!text.is_empty()).then_some(MergedRegion::Clear(text));
        if ours == theirs || theirs == base {
            return clear(ours);
        }
        if ours == base {
            return clear(theirs);
        }
        Some(MergedRegion::Conflict { base, ours, theirs })
    }
}

/// A text cut into lines.
struct Lines<'t> {
    text: &'t [u8],
    /// One number per different line of all texts.
    numbers: Vec<u32>,
    /// Where each line begins, and the end of the last one.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t [u8], known: &mut HashMap<&'t [u8], u32>) -> Lines<'t> {
        let (mut numbers, mut starts) = (Vec::new(), vec![0]);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // Texts are shorter than 4 GiB, and no line is empty.
            let next = known.len() as u32;
            numbers.push(*known.entry(line).or_insert(next));
            starts.push(starts[starts.len() - 1] + line.len());
        }
        Lines {
            text,
            numbers,
            starts,
        }
    }

    fn text(&self, lines: Range<usize>) -> &'t [u8] {
        &self.text[self.starts[lines.start]..self.starts[lines.end]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<u8> {
        text.bytes().flat_map(|byte| [byte, b'\n']).collect()
    }

    /// The merged text with conflicts as `<base|ours|theirs>`.
    fn shown(base: &str, ours: &str, theirs: &str) -> String {
        shown_with(TouchingChanges::Conflict, [base, ours, theirs])
    }

    fn shown_with(touching: TouchingChanges, sides: [&str; 3]) -> String {
        let [base, ours, theirs] = sides.map(texts);
        let line = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\n', "");
        let pieces = merge(touching, [&base, &ours, &theirs]);
        let shown = pieces.iter().map(|piece| match piece {
            MergedRegion::Clear(text) => line(text),
            MergedRegion::Conflict { base, ours, theirs } => {
                format!("<{}|{}|{}>", line(base), line(ours), line(theirs))
            }
        });
        shown.collect()
    }

    #[test]
    fn changes_in_different_places_come_together() {
        assert_eq!(shown("abcdef", "aBcdef", "abcdeF"), "aBcdeF");
        assert_eq!(shown("abc", "ac", "abcd"), "acd");
        assert_eq!(shown("abc", "axc", "axc"), "axc");
        assert_eq!(shown("", "a", "a"), "a");
        assert_eq!(shown("abc", "", "abc"), "");
    }

    #[test]
    fn changes_in_one_place_are_a_conflict() {
        assert_eq!(shown("abc", "axc", "ayc"), "a<b|x|y>c");
        assert_eq!(shown("abc", "ac", "ayc"), "a<b||y>c");
        assert_eq!(shown("", "a", "b"), "<|a|b>");
    }

    #[test]
    fn touching_changes_are_merged_if_their_order_is_known() {
        let merged = |base, ours, theirs| shown_with(TouchingChanges::Merge, [base, ours, theirs]);
        assert_eq!(merged("abc", "abX", "abcd"), "abXd");
        assert_eq!(merged("abc", "abX", "aYc"), "aYX");
        assert_eq!(merged("abc", "ac", "Xbc"), "Xc");
        assert_eq!(merged("abc", "ac", "aXbc"), "aXc");
        assert_eq!(merged("abc", "bc", "ac"), "c");
        assert_eq!(merged("abc", "abX", "abYcd"), "abYXd");
        assert_eq!(merged("abc", "aXc", "abYc"), "aXYc");
        assert_eq!(merged("abc", "aXbc", "aYbc"), "a<|X|Y>bc");
        assert_eq!(merged("abc", "abcX", "abcY"), "abc<|X|Y>");
        assert_eq!(merged("abc", "aXc", "aYc"), "a<b|X|Y>c");
        assert_eq!(shown("abc", "abX", "aYc"), "a<bc|bX|Yc>");
    }

    fn any_text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(b'\n'), b'a'..b'd'], 0..60)
    }

    /// The whole text if there is no conflict.
    fn whole(pieces: &[MergedRegion<'_>]) -> Option<Vec<u8>> {
        let clear = pieces.iter().map(|piece| match piece {
            MergedRegion::Clear(text) => Some(*text),
            MergedRegion::Conflict { .. } => None,
        });
        clear
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.concat())
    }

    fn strict(texts: [&[u8]; 3]) -> Vec<MergedRegion<'_>> {
        merge(TouchingChanges::Conflict, texts)
    }

    proptest! {
        #[test]
        fn one_side_alone_wins(base in any_text(), other in any_text()) {
            prop_assert_eq!(whole(&strict([&base, &base, &other])), Some(other.clone()));
            prop_assert_eq!(whole(&strict([&base, &other, &base])), Some(other.clone()));
            prop_assert_eq!(whole(&strict([&base, &other, &other])), Some(other.clone()));
        }

        #[test]
        fn both_sides_meet_in_the_same_conflicts(
            base in any_text(), ours in any_text(), theirs in any_text(), merges: bool,
        ) {
            let touching = match merges {
                true => TouchingChanges::Merge,
                false => TouchingChanges::Conflict,
            };
            let there = merge(touching, [&base, &ours, &theirs]);
            let back: Vec<MergedRegion<'_>> = merge(touching, [&base, &theirs, &ours])
                .into_iter()
                .map(|piece| match piece {
                    MergedRegion::Conflict { base, ours, theirs } => {
                        MergedRegion::Conflict { base, ours: theirs, theirs: ours }
                    }
                    clear => clear,
                })
                .collect();
            prop_assert_eq!(there, back);
        }
    }
}
