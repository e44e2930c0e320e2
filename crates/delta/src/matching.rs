//! Which lines of two texts stay the same.
//!
//! A stretch that differs little is matched by Myers' greedy search, which finds the fewest
//! edits. Where that takes too many steps, the lines that occur exactly once on both sides cut the
//! stretch into smaller ones (patience). Where there are none, the stretch counts as replaced: the
//! cost stays bounded whatever the texts.

use crate::tokens::Tokens;
use std::ops::Range;

/// A run of lines that is the same in both texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub a: usize,
    pub b: usize,
    pub len: usize,
}

/// Most edits that the greedy search looks for in one stretch. Its memory grows with the square.
const MOST_EDITS: usize = 160;
/// How often stretches are cut by unique lines inside stretches that were cut.
const DEEPEST_CUT: usize = 12;

/// Finds runs in ascending order of both texts.
pub(crate) fn matching(tokens: &Tokens) -> Vec<Run> {
    let mut matcher = Matcher {
        tokens,
        runs: Vec::new(),
        furthest: Vec::new(),
        history: Vec::new(),
        seen: vec![LineOccurrences::default(); tokens.different],
    };
    let mut work = vec![MatchStep::Match(0..tokens.a.len(), 0..tokens.b.len(), 0)];
    while let Some(next) = work.pop() {
        match next {
            MatchStep::Keep(run) => matcher.keep(run),
            MatchStep::Match(a, b, depth) => matcher.stretch(a, b, depth, &mut work),
        }
    }
    matcher.runs
}

/// Pending work, last one first, so that runs come out in order.
enum MatchStep {
    Keep(Run),
    Match(Range<usize>, Range<usize>, usize),
}

/// How often and where a line occurs in the current stretch.
#[derive(Clone, Copy, Default)]
struct LineOccurrences {
    in_a: u32,
    in_b: u32,
    at_b: usize,
}

struct Matcher<'l> {
    tokens: &'l Tokens,
    runs: Vec<Run>,
    /// Per diagonal, how far into the first text the search has come.
    furthest: Vec<usize>,
    /// `furthest` as it was before each number of edits.
    history: Vec<Vec<usize>>,
    seen: Vec<LineOccurrences>,
}

impl Matcher<'_> {
    fn keep(&mut self, run: Run) {
        if run.len == 0 {
            return;
        }
        if let Some(last) = self.runs.last_mut()
            && last.a + last.len == run.a
            && last.b + last.len == run.b
        {
            last.len += run.len;
            return;
        }
        self.runs.push(run);
    }

    fn stretch(
        &mut self,
        mut a: Range<usize>,
        mut b: Range<usize>,
        depth: usize,
        work: &mut Vec<MatchStep>,
    ) {
        let (old, new) = (&self.tokens.a, &self.tokens.b);
        let pairs = old[a.clone()].iter().zip(&new[b.clone()]);
        let same = pairs.take_while(|(x, y)| x == y).count();
        self.keep(Run {
            a: a.start,
            b: b.start,
            len: same,
        });
        (a.start, b.start) = (a.start + same, b.start + same);
        let pairs = old[a.clone()].iter().rev().zip(new[b.clone()].iter().rev());
        let same = pairs.take_while(|(x, y)| x == y).count();
        (a.end, b.end) = (a.end - same, b.end - same);
        work.push(MatchStep::Keep(Run {
            a: a.end,
            b: b.end,
            len: same,
        }));
        if a.is_empty() || b.is_empty() {
            return;
        }
        if let Some(edits) = self.search(a.clone(), b.clone()) {
            self.trace(a, b, edits, work);
        } else if depth < DEEPEST_CUT {
            self.cut(a, b, depth + 1, work);
        }
    }

    /// Myers' greedy search; gives the number of edits, with `history` filled.
    fn search(&mut self, a: Range<usize>, b: Range<usize>) -> Option<usize> {
        let (old, new) = (&self.tokens.a[a], &self.tokens.b[b]);
        let most = MOST_EDITS.min(old.len() + new.len());
        // Diagonal k (place in `old` less place in `new`) is kept at `k + middle`.
        let middle = most + 1;
        self.furthest.clear();
        self.furthest.resize(2 * middle + 1, 0);
        for edits in 0..=most {
            save(
                &mut self.history,
                edits,
                &self.furthest[middle - edits..=middle + edits],
            );
            for at in (middle - edits..=middle + edits).step_by(2) {
                let mut x = step(&self.furthest, middle, edits, at);
                let mut y = x + middle - at;
                while x < old.len() && y < new.len() && old[x] == new[y] {
                    (x, y) = (x + 1, y + 1);
                }
                self.furthest[at] = x;
                if x >= old.len() && y >= new.len() {
                    return Some(edits);
                }
            }
        }
        None
    }

    /// Walks the way that [`Matcher::search`] found back to its start.
    fn trace(&mut self, a: Range<usize>, b: Range<usize>, edits: usize, work: &mut Vec<MatchStep>) {
        let (mut x, mut y) = (a.len(), b.len());
        for edits in (0..=edits).rev() {
            // The saved part has the diagonal 0 in its middle.
            let before = &self.history[edits];
            let at = x + edits - y;
            let came_from = if edits == 0 {
                0
            } else {
                step(before, edits, edits, at)
            };
            let run = Run {
                a: a.start + came_from,
                b: b.start + (came_from + edits - at),
                len: x - came_from,
            };
            work.push(MatchStep::Keep(run));
            if edits == 0 {
                break;
            }
            let (from_x, from_y) = (came_from, came_from + edits - at);
            (x, y) = if goes_down(before, edits, edits, at) {
                (from_x, from_y - 1)
            } else {
                (from_x - 1, from_y)
            };
        }
    }

    /// Cuts a stretch at the lines that are unique in both texts and in the same order.
    fn cut(&mut self, a: Range<usize>, b: Range<usize>, depth: usize, work: &mut Vec<MatchStep>) {
        let (old, new) = (&self.tokens.a, &self.tokens.b);
        for line in &old[a.clone()] {
            self.seen[*line as usize].in_a += 1;
        }
        for at in b.clone() {
            let seen = &mut self.seen[new[at] as usize];
            (seen.in_b, seen.at_b) = (seen.in_b + 1, at);
        }
        let unique = a.clone().filter_map(|at| {
            let seen = self.seen[old[at] as usize];
            (seen.in_a == 1 && seen.in_b == 1).then_some((at, seen.at_b))
        });
        let anchors = longest_ascending(&unique.collect::<Vec<_>>());
        for line in old[a.clone()].iter().chain(&new[b.clone()]) {
            self.seen[*line as usize] = LineOccurrences::default();
        }
        if anchors.is_empty() {
            return;
        }
        let (mut end_a, mut end_b) = (a.end, b.end);
        for (at_a, at_b) in anchors.into_iter().rev() {
            work.push(MatchStep::Match(at_a..end_a, at_b..end_b, depth));
            (end_a, end_b) = (at_a, at_b);
        }
        work.push(MatchStep::Match(a.start..end_a, b.start..end_b, depth));
    }
}

/// Whether the best way to diagonal `at` with this many edits comes by taking a line of the new
/// text.
fn goes_down(furthest: &[usize], middle: usize, edits: usize, at: usize) -> bool {
    at == middle - edits || (at != middle + edits && furthest[at - 1] < furthest[at + 1])
}

/// Where the way to a diagonal begins, before it follows equal lines.
fn step(furthest: &[usize], middle: usize, edits: usize, at: usize) -> usize {
    if edits == 0 {
        0
    } else if goes_down(furthest, middle, edits, at) {
        furthest[at + 1]
    } else {
        furthest[at - 1] + 1
    }
}

fn save(history: &mut Vec<Vec<usize>>, edits: usize, furthest: &[usize]) {
    if history.len() <= edits {
        history.push(Vec::new());
    }
    history[edits].clear();
    history[edits].extend_from_slice(furthest);
}

/// The longest part of `pairs` (ascending in the first number) that ascends in the second too.
fn longest_ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Per length, the pair that ends the best sequence of that length; and the pair before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (index, (_, second)) in pairs.iter().enumerate() {
        let place = ends.partition_point(|end| pairs[*end].1 < *second);
        if place > 0 {
            before[index] = ends[place - 1];
        }
        if place == ends.len() {
            ends.push(index);
        } else {
            ends[place] = index;
        }
    }
    let mut sequence = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while let Some(pair) = pairs.get(at) {
        sequence.push(*pair);
        at = before[at];
    }
    sequence.reverse();
    sequence
}
