//! Which lines of two texts Mercurial shows as the same.
//!
//! The longest run of equal lines is found first, then likewise those before and behind it. Lines that occur very often
//! do not begin a run, and of runs of the same length one near the middle is taken, which keeps the halves alike.
//! People compare diffs, so the choice between equally good answers is Mercurial's; deltas, which are not shown to
//! users, are made by `matching`.

use std::ops::Range;

/// A run of lines that is the same in both texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First line in the old text.
    pub a: usize,
    /// First line in the new text.
    pub b: usize,
    /// Number of lines.
    pub len: usize,
}

/// Most lines of the old text that one search looks at.
const WINDOW: usize = 30_000;

/// Finds the runs of two texts given as numbers, one per different line; ascending, and ended by
/// an empty run behind both texts.
pub fn blocks(a: &[u32], b: &[u32]) -> Vec<Block> {
    let mut search = Search::new(a, b);
    let mut found = Vec::new();
    let mut work = vec![(0..a.len(), 0..b.len(), None)];
    while let Some((a_range, b_range, block)) = work.pop() {
        if let Some(block) = block {
            found.push(block);
            continue;
        }
        let best = search.longest(a_range.clone(), b_range.clone());
        if best.len == 0 {
            continue;
        }
        work.push((
            best.a + best.len..a_range.end,
            best.b + best.len..b_range.end,
            None,
        ));
        work.push((0..0, 0..0, Some(best)));
        work.push((a_range.start..best.a, b_range.start..best.b, None));
    }
    found.push(Block {
        a: a.len(),
        b: b.len(),
        len: 0,
    });
    push_down(a, b, &mut found);
    found
}

/// Where a change could as well stand further below, it does.
fn push_down(a: &[u32], b: &[u32], found: &mut [Block]) {
    for at in 1..found.len() {
        let (upper, lower) = found.split_at_mut(at);
        let (upper, lower) = (&mut upper[at - 1], &mut lower[0]);
        let (mut end_a, mut end_b) = (upper.a + upper.len, upper.b + upper.len);
        if end_a != lower.a && end_b != lower.b {
            continue;
        }
        while lower.len > 0 && end_a < a.len() && end_b < b.len() && a[end_a] == b[end_b] {
            upper.len += 1;
            (lower.a, lower.b, lower.len) = (lower.a + 1, lower.b + 1, lower.len - 1);
            (end_a, end_b) = (end_a + 1, end_b + 1);
        }
    }
}

struct Search<'t> {
    a: &'t [u32],
    b: &'t [u32],
    /// Per line of the new text, the one before it that is the same.
    same_before: Vec<Option<usize>>,
    /// Per different line, the last one of the new text; `None` for those that are too frequent.
    last: Vec<Option<usize>>,
    /// Per line of the new text, where a run that ends there ends in the old text, and its length.
    runs: Vec<(usize, usize)>,
}

impl<'t> Search<'t> {
    fn new(a: &'t [u32], b: &'t [u32]) -> Search<'t> {
        let different = a.iter().chain(b).max().map_or(0, |most| *most as usize + 1);
        let (mut last, mut counts) = (vec![None; different], vec![0_usize; different]);
        let mut same_before = Vec::with_capacity(b.len());
        for (at, line) in b.iter().enumerate() {
            let line = *line as usize;
            same_before.push(last[line]);
            (last[line], counts[line]) = (Some(at), counts[line] + 1);
        }
        let frequent = if b.len() >= 31_000 {
            b.len() / 1000
        } else {
            1_000_000 / (b.len() + 1)
        };
        for (last, count) in last.iter_mut().zip(counts) {
            if count > frequent {
                *last = None;
            }
        }
        Search {
            a,
            b,
            same_before,
            last,
            runs: vec![(usize::MAX, 0); b.len()],
        }
    }

    /// The run to cut a stretch at; of no length if there is none.
    fn longest(&mut self, mut a: Range<usize>, b: Range<usize>) -> Block {
        a.start = a.start.max(a.end.saturating_sub(WINDOW));
        let middle = |range: &Range<usize>| (range.start + range.end).saturating_sub(1) / 2;
        let (half_a, half_b) = (middle(&a), middle(&b));
        // Last line in each text, and length.
        let (mut best_a, mut best_b, mut best) = (a.start, b.start, 0);
        for at_a in a.clone() {
            let mut next = self.last[self.a[at_a] as usize];
            while let Some(at_b) = next.filter(|at_b| *at_b >= b.start) {
                next = self.same_before[at_b];
                if at_b >= b.end {
                    continue;
                }
                let len = self.run_length(at_a, at_b, a.start, b.start);
                self.runs[at_b] = (at_a, len);
                let nearer = at_a > best_a && at_a <= half_a && at_b > b.start;
                if len > best || (len == best && nearer) {
                    (best_a, best_b, best) = (at_a, at_b, len);
                } else if len == best && at_a == best_a && (best_b > half_b || at_a == a.start) {
                    best_b = at_b;
                }
            }
        }
        let (mut start_a, mut start_b) = (best_a, best_b);
        if best > 0 {
            (start_a, start_b) = (best_a + 1 - best, best_b + 1 - best);
        }
        self.extended(start_a, start_b, best, &a, &b)
    }

    /// Length of the run that ends with two equal lines.
    fn run_length(&self, at_a: usize, at_b: usize, from_a: usize, from_b: usize) -> usize {
        let most = (at_a - from_a).min(at_b - from_b);
        for back in 1..=most {
            let (end, len) = self.runs[at_b - back];
            if end == at_a - back {
                return back + len;
            }
            if self.a[at_a - back] != self.b[at_b - back] {
                return back;
            }
        }
        most + 1
    }

    /// Takes in equal lines on both sides that are too frequent to begin a run.
    fn extended(
        &self,
        start_a: usize,
        start_b: usize,
        mut len: usize,
        a: &Range<usize>,
        b: &Range<usize>,
    ) -> Block {
        let mut before = 0;
        while start_a - before > a.start
            && start_b - before > b.start
            && self.a[start_a - before - 1] == self.b[start_b - before - 1]
        {
            before += 1;
        }
        while start_a + len < a.end
            && start_b + len < b.end
            && self.a[start_a + len] == self.b[start_b + len]
        {
            len += 1;
        }
        Block {
            a: start_a - before,
            b: start_b - before,
            len: len + before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changes_stand_as_far_below_as_they_can() {
        // A repeated line taken out is the last of them.
        let found = blocks(&[1, 2, 2, 3], &[1, 2, 3]);
        let expected = [(0, 0, 2), (3, 2, 1), (4, 3, 0)];
        let found: Vec<_> = found.iter().map(|run| (run.a, run.b, run.len)).collect();
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn runs_are_equal_and_in_order(
            a in proptest::collection::vec(0_u32..9, 0..60),
            b in proptest::collection::vec(0_u32..9, 0..60),
        ) {
            let (mut end_a, mut end_b) = (0, 0);
            for run in blocks(&a, &b) {
                prop_assert!(run.a >= end_a && run.b >= end_b);
                (end_a, end_b) = (run.a + run.len, run.b + run.len);
                prop_assert_eq!(&a[run.a..end_a], &b[run.b..end_b]);
            }
            prop_assert_eq!((end_a, end_b), (a.len(), b.len()));
        }
    }
}
