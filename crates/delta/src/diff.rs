//! From two texts to the patch that leads from one to the other.
//!
//! Long texts are first matched by blocks of about a kilobyte, the unmatched regions by shorter ones, and only the
//! regions still unmatched by lines: the work grows with the length of the texts, and hardly with the number of their
//! lines. Where lines are long, or there are none, short runs of bytes stand in for them.

use crate::matching::matching;
use crate::patch::push_hunk;
use crate::tokens::{Cut, Tokens};
use std::ops::Range;

/// Where hunks may begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// At lines only. Mercurial reads the new bytes of a manifest's stored patch as lines.
    Lines,
    /// Anywhere: smaller patches.
    Bytes,
}

/// Up to this length texts are matched by lines at once.
const SHORT: usize = 256 << 10;
/// Regions that blocks did not match are not compared by lines beyond this length.
const LONGEST_BY_LINES: usize = 16 << 20;
/// Lines of more than so many bytes on average are too long to be good tokens.
const LONG_LINES: usize = 256;
/// Lengths of the tokens that are used, as powers of two.
const LONG_BLOCKS: u32 = 10;
const SHORT_BLOCKS: u32 = 7;
const RUNS: u32 = 5;
/// Hunks that are closer than this are made one: the bytes between take less than a header.
const CLOSE: usize = crate::HUNK_HEADER_LEN;

/// Appends to `out` a patch that makes `new` of `old`. Both are shorter than 4 GiB.
pub fn diff(old: &[u8], new: &[u8], grain: Grain, out: &mut Vec<u8>) {
    Differ::new(old, new, (grain, CLOSE), out).run();
}

/// Appends to `out` a patch by lines whose hunks are never joined, as Mercurial's are that it makes for a bundle.
pub fn diff_in_single_hunks(old: &[u8], new: &[u8], out: &mut Vec<u8>) {
    Differ::new(old, new, (Grain::Lines, 0), out).run();
}

/// Which tokens are used next in a region that is long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    LongBlocks,
    ShortBlocks,
    Lines,
}

struct Differ<'t> {
    old: &'t [u8],
    new: &'t [u8],
    grain: Grain,
    /// Hunks with fewer bytes than this between them are joined.
    join_within: usize,
    out: &'t mut Vec<u8>,
    /// The last hunk, to which the next may be joined; bytes of both texts.
    open: (Range<usize>, Range<usize>),
}

impl<'t> Differ<'t> {
    fn new(
        old: &'t [u8],
        new: &'t [u8],
        (grain, join_within): (Grain, usize),
        out: &'t mut Vec<u8>,
    ) -> Differ<'t> {
        Differ {
            old,
            new,
            grain,
            join_within,
            out,
            open: (0..0, 0..0),
        }
    }

    fn run(mut self) {
        self.region(0..self.old.len(), 0..self.new.len(), Step::LongBlocks);
        self.close();
    }

    /// Finds the hunks of a part of both texts. It calls itself for the unmatched parts of a step, so at most as deep
    /// as there are steps.
    fn region(&mut self, mut a: Range<usize>, mut b: Range<usize>, step: Step) {
        let same = common_lines_at_start(&self.old[a.clone()], &self.new[b.clone()]);
        (a.start, b.start) = (a.start + same, b.start + same);
        let same = common_lines_at_end(&self.old[a.clone()], &self.new[b.clone()]);
        (a.end, b.end) = (a.end - same, b.end - same);
        if a.is_empty() || b.is_empty() {
            return self.hunk(a, b);
        }
        let Some((cut, next)) = self.step(&a, &b, step) else {
            return self.hunk(a, b);
        };
        let tokens = Tokens::new(&self.old[a.clone()], &self.new[b.clone()], cut);
        let (mut at_a, mut at_b) = (0, 0);
        let end = crate::matching::Run {
            a: tokens.a.len(),
            b: tokens.b.len(),
            len: 0,
        };
        for run in matching(&tokens).into_iter().chain([end]) {
            let old = shifted(&tokens.a_bytes(at_a..run.a), a.start);
            let new = shifted(&tokens.b_bytes(at_b..run.b), b.start);
            (at_a, at_b) = (run.a + run.len, run.b + run.len);
            match next {
                _ if old.is_empty() && new.is_empty() => {}
                Some(next) => self.region(old, new, next),
                None => self.hunk(old, new),
            }
        }
    }

    /// How a region is matched, and the next step for its unmatched parts; `None` if it is not matched.
    fn step(&self, a: &Range<usize>, b: &Range<usize>, step: Step) -> Option<(Cut, Option<Step>)> {
        let longest = a.len().max(b.len());
        if self.grain == Grain::Bytes && longest > SHORT {
            match step {
                Step::LongBlocks => {
                    return Some((Cut::Content(LONG_BLOCKS), Some(Step::ShortBlocks)));
                }
                Step::ShortBlocks => return Some((Cut::Content(SHORT_BLOCKS), Some(Step::Lines))),
                Step::Lines if longest > LONGEST_BY_LINES => return None,
                Step::Lines => {}
            }
        }
        let newlines = memchr::memchr_iter(b'\n', &self.new[b.clone()]).count();
        if self.grain == Grain::Bytes && b.len() / (newlines + 1) > LONG_LINES {
            return Some((Cut::Content(RUNS), None));
        }
        Some((Cut::Lines, None))
    }

    /// Takes a hunk, behind all before it, and joins it to the last one if they are close.
    fn hunk(&mut self, mut a: Range<usize>, mut b: Range<usize>) {
        if self.grain == Grain::Bytes {
            let same = common_start(&self.old[a.clone()], &self.new[b.clone()]);
            (a.start, b.start) = (a.start + same, b.start + same);
            let same = common_end(&self.old[a.clone()], &self.new[b.clone()]);
            (a.end, b.end) = (a.end - same, b.end - same);
        }
        if a.is_empty() && b.is_empty() {
            return;
        }
        let (open_a, open_b) = &mut self.open;
        let any = open_a.end > open_a.start || open_b.end > open_b.start;
        if any && a.start - open_a.end < self.join_within {
            (open_a.end, open_b.end) = (a.end, b.end);
        } else {
            self.close();
            self.open = (a, b);
        }
    }

    /// Writes the last hunk.
    fn close(&mut self) {
        let (a, b) = self.open.clone();
        if !a.is_empty() || !b.is_empty() {
            let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            push_hunk(self.out, place(a.start), place(a.end), &self.new[b]);
        }
    }
}

fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// Bytes at the beginning that are the same.
pub(crate) fn common_start(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 256;
    let blocks = a.chunks_exact(STEP).zip(b.chunks_exact(STEP));
    let same = STEP * blocks.take_while(|(x, y)| x == y).count();
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(x, y)| x == y).count()
}

/// Bytes at the end that are the same.
fn common_end(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 256;
    let blocks = a.rchunks_exact(STEP).zip(b.rchunks_exact(STEP));
    let same = STEP * blocks.take_while(|(x, y)| x == y).count();
    let (left_a, left_b) = (&a[..a.len() - same], &b[..b.len() - same]);
    let rest = left_a.iter().rev().zip(left_b.iter().rev());
    same + rest.take_while(|(x, y)| x == y).count()
}

/// As [`common_start`], but whole lines only, or everything.
fn common_lines_at_start(a: &[u8], b: &[u8]) -> usize {
    let same = common_start(a, b);
    if same == a.len() && same == b.len() {
        return same;
    }
    memchr::memrchr(b'\n', &a[..same]).map_or(0, |newline| newline + 1)
}

/// As [`common_end`], but whole lines only.
fn common_lines_at_end(a: &[u8], b: &[u8]) -> usize {
    let same = common_end(a, b);
    let begins_line = |text: &[u8]| same == text.len() || text[text.len() - same - 1] == b'\n';
    if begins_line(a) && begins_line(b) {
        return same;
    }
    let tail = &a[a.len() - same..];
    memchr::memchr(b'\n', tail).map_or(0, |newline| same - newline - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hunks, apply};
    use proptest::prelude::*;

    fn check(old: &[u8], new: &[u8]) -> Vec<u8> {
        let mut smaller = Vec::new();
        for grain in [Grain::Lines, Grain::Bytes] {
            let (mut patch, mut text) = (Vec::new(), Vec::new());
            diff(old, new, grain, &mut patch);
            apply(&patch, old, &mut text).unwrap();
            assert!(text == new, "{grain:?}");
            smaller = patch;
        }
        smaller
    }

    fn lines_of(numbers: &[u16]) -> Vec<u8> {
        let text: String = numbers.iter().map(|n| format!("line {n}\n")).collect();
        text.into_bytes()
    }

    #[test]
    fn golden_patch_is_found() {
        let mut patch = Vec::new();
        let (old, new) = (b"a\nb\nthe same line\n", b"a\nx\nthe same line\nd\n");
        diff(old, new, Grain::Lines, &mut patch);
        let golden = b"\0\0\0\x02\0\0\0\x04\0\0\0\x02x\n\0\0\0\x12\0\0\0\x12\0\0\0\x02d\n";
        assert_eq!(patch, golden);
        assert!(check(b"same\n", b"same\n").is_empty());
    }

    #[test]
    fn hunks_that_are_close_are_joined() {
        let patch = check(b"a\nb\nsame\nc\n", b"a\nx\nsame\ny\n");
        assert_eq!(Hunks::new(&patch).count(), 1);
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 7_u32;
        let next = |_| {
            state = state.wrapping_mul(0x9e37_79b1).rotate_left(13) ^ 0x55;
            (state >> 16) as u8 & 0x3f | 0x40
        };
        (0..len).map(next).collect()
    }

    #[test]
    fn edits_in_one_long_line_are_found() {
        let old = noise(3 << 20);
        let mut new = old.clone();
        for at in [300_000, 1_000_000, 2_000_000, 2_900_000] {
            new.splice(at..at + 5, *b"inserted bytes");
        }
        let patch = check(&old, &new);
        assert!(patch.len() < 1000, "{}", patch.len());
    }

    #[test]
    fn edits_all_over_a_long_text_are_found() {
        let line = |n: usize| format!("line {n} {:x}\n", n.wrapping_mul(0x9e37_79b9));
        let old: String = (0..60_000).map(line).collect();
        let new: String = (0..60_000)
            .filter(|n| n % 1000 != 500)
            .map(|n| line(if n % 1000 == 7 { n + 100_000 } else { n }))
            .collect();
        let patch = check(old.as_bytes(), new.as_bytes());
        assert_eq!(Hunks::new(&patch).count(), 120);
    }

    #[test]
    fn many_edits_in_a_long_text_stay_small() {
        let old: Vec<u16> = (0..20_000).collect();
        let mut new = old.clone();
        for at in (0..19_000).step_by(20) {
            new[at] = 30_000 + at as u16 / 20;
        }
        let patch = check(&lines_of(&old), &lines_of(&new));
        assert_eq!(Hunks::new(&patch).count(), 950);
    }

    #[test]
    fn unrelated_texts_take_bounded_work() {
        let old: Vec<u16> = (0..30_000_u32).map(|n| (n * n % 97) as u16).collect();
        let new: Vec<u16> = (0..30_000_u32).map(|n| (n * 31 % 89) as u16).collect();
        check(&lines_of(&old), &lines_of(&new));
    }

    #[test]
    fn close_hunks_stay_apart_where_they_are_not_joined() {
        let (old, new) = (b"a\nb\nc\n", b"x\nb\nz\n");
        let (mut joined, mut single) = (Vec::new(), Vec::new());
        diff(old, new, Grain::Lines, &mut joined);
        diff_in_single_hunks(old, new, &mut single);
        assert_eq!(Hunks::new(&joined).count(), 1);
        assert_eq!(Hunks::new(&single).count(), 2);
        let mut text = Vec::new();
        apply(&single, old, &mut text).unwrap();
        assert_eq!(text, new);
    }

    #[test]
    fn bytes_make_smaller_patches_than_lines() {
        let (mut lines, mut bytes) = (Vec::new(), Vec::new());
        let (old, new) = (b"a long line of text, one\n", b"a long line of text, two\n");
        diff(old, new, Grain::Lines, &mut lines);
        diff(old, new, Grain::Bytes, &mut bytes);
        assert!(bytes.len() < lines.len() - 15);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Long enough for all steps.
        #[test]
        fn long_texts_with_edits(
            lines in any::<bool>(),
            edits in proptest::collection::vec(
                (any::<prop::sample::Index>(), 0_usize..60_000, 0_usize..200), 0..12),
        ) {
            let mut old = noise(SHORT + 150_000);
            if lines {
                old.iter_mut().step_by(37).for_each(|byte| *byte = b'\n');
            }
            let mut new = old.clone();
            for (at, removed, added) in edits {
                let at = at.index(new.len() + 1);
                let end = (at + removed).min(new.len());
                new.splice(at..end, noise(added));
            }
            check(&old, &new);
            check(&new, &old);
        }
    }

    proptest! {
        #[test]
        fn any_two_texts(
            old in proptest::collection::vec(prop_oneof![Just(b'\n'), b'a'..b'd'], 0..120),
            new in proptest::collection::vec(prop_oneof![Just(b'\n'), b'a'..b'd'], 0..120),
        ) {
            check(&old, &new);
        }

        #[test]
        fn lines_moved_and_changed(
            old in proptest::collection::vec(0_u16..300, 0..400),
            edits in proptest::collection::vec((any::<prop::sample::Index>(), 0_u16..300, 0_usize..30), 0..40),
        ) {
            let mut new = old.clone();
            for (at, value, removed) in edits {
                let at = at.index(new.len() + 1);
                let end = (at + removed).min(new.len());
                new.splice(at..end, [value, value]);
            }
            check(&lines_of(&old), &lines_of(&new));
        }
    }
}
