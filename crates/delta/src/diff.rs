//! From two texts to the patch that leads from one to the other.

use crate::lines::Lines;
use crate::matching::matching;
use crate::patch::push_hunk;

/// Where hunks may begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// At lines only. Mercurial reads the new bytes of a manifest's stored patch as lines.
    Lines,
    /// Anywhere: smaller patches.
    Bytes,
}

/// Appends to `out` a patch that makes `new` of `old`. Both are shorter than 4 GiB.
pub fn diff(old: &[u8], new: &[u8], grain: Grain, out: &mut Vec<u8>) {
    let start = common_lines_at_start(old, new);
    let end = common_lines_at_end(&old[start..], &new[start..]);
    let (a, b) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let lines = Lines::new(a, b);
    let (mut at_a, mut at_b) = (0, 0);
    let mut hunk = |a_lines: std::ops::Range<usize>, b_lines: std::ops::Range<usize>| {
        if a_lines.is_empty() && b_lines.is_empty() {
            return;
        }
        let (mut from, mut to) = (lines.a_bytes(a_lines), lines.b_bytes(b_lines));
        if grain == Grain::Bytes {
            let same = common_start(&a[from.clone()], &b[to.clone()]);
            (from.start, to.start) = (from.start + same, to.start + same);
            let same = common_end(&a[from.clone()], &b[to.clone()]);
            (from.end, to.end) = (from.end - same, to.end - same);
        }
        let place = |at: usize| u32::try_from(start + at).unwrap_or(u32::MAX);
        push_hunk(out, place(from.start), place(from.end), &b[to]);
    };
    for run in matching(&lines) {
        hunk(at_a..run.a, at_b..run.b);
        (at_a, at_b) = (run.a + run.len, run.b + run.len);
    }
    hunk(at_a..lines.a.len(), at_b..lines.b.len());
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
        diff(b"a\nb\nc\n", b"a\nx\nc\nd\n", Grain::Lines, &mut patch);
        let golden = b"\0\0\0\x02\0\0\0\x04\0\0\0\x02x\n\0\0\0\x06\0\0\0\x06\0\0\0\x02d\n";
        assert_eq!(patch, golden);
        assert!(check(b"same\n", b"same\n").is_empty());
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
    fn bytes_make_smaller_patches_than_lines() {
        let (mut lines, mut bytes) = (Vec::new(), Vec::new());
        let (old, new) = (b"a long line of text, one\n", b"a long line of text, two\n");
        diff(old, new, Grain::Lines, &mut lines);
        diff(old, new, Grain::Bytes, &mut bytes);
        assert!(bytes.len() < lines.len() - 15);
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
