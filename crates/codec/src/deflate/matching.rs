//! Finding repetitions exactly as zlib's lazy levels do: hash chains over 32 KiB, and a match is only
//! taken if none begins one byte later that is longer.

use super::Level;
use super::blocks::Blocks;

const WINDOW: usize = 1 << 15;
const MIN_MATCH: usize = 3;
const MAX_MATCH: usize = 258;
/// Farther back than this nothing is looked for.
const MAX_DISTANCE: usize = WINDOW - (MAX_MATCH + MIN_MATCH + 1);
/// A match of three bytes from farther away than this costs more than it saves.
const TOO_FAR: usize = 4096;

/// The numbers that make up a level.
struct Effort {
    /// A match this long shortens the search for a better one,
    good: usize,
    /// or ends it at the next byte.
    lazy: usize,
    /// A match this long is taken at once.
    nice: usize,
    /// Most candidates that are looked at.
    chain: usize,
}

impl Level {
    fn effort(self) -> Effort {
        let (good, lazy, nice, chain) = match self {
            Level::Six => (8, 16, 128, 128),
            Level::Eight => (32, 128, MAX_MATCH, 1024),
        };
        Effort {
            good,
            lazy,
            nice,
            chain,
        }
    }
}

/// Compresses `data` into deflate blocks.
pub(super) fn deflate(data: &[u8], level: Level, blocks: &mut Blocks<'_>) {
    Matcher::new(data, level.effort()).run(blocks);
}

struct Matcher<'d> {
    data: &'d [u8],
    effort: Effort,
    /// By hash of three bytes, where they were seen last; 0 for never, so the very first byte
    /// is never the beginning of a match.
    head: Vec<usize>,
    /// By position within the window, where the same hash was seen before.
    previous: Vec<usize>,
}

/// A repetition of earlier bytes.
#[derive(Clone, Copy)]
struct Match {
    start: usize,
    len: usize,
}

impl<'d> Matcher<'d> {
    fn new(data: &'d [u8], effort: Effort) -> Self {
        Matcher {
            data,
            effort,
            head: vec![0; WINDOW],
            previous: vec![0; WINDOW],
        }
    }

    fn run(mut self, blocks: &mut Blocks<'_>) {
        let none = Match {
            start: 0,
            len: MIN_MATCH - 1,
        };
        let (mut found, mut at, mut is_pending) = (none, 0, false);
        while at < self.data.len() {
            let candidate = self.insert(at);
            let before = found;
            found = Match {
                len: MIN_MATCH - 1,
                ..before
            };
            if candidate != 0 && before.len < self.effort.lazy && at - candidate <= MAX_DISTANCE {
                found = self.longest(at, candidate, before);
                if found.len == MIN_MATCH && at - found.start > TOO_FAR {
                    found.len = MIN_MATCH - 1;
                }
            }
            if before.len >= MIN_MATCH && found.len <= before.len {
                // The match that began one byte earlier is at least as good.
                let end = at - 1 + before.len;
                for inside in at + 1..end {
                    self.insert(inside);
                }
                let is_full = blocks.repeat(at - 1 - before.start, before.len);
                at = end;
                is_pending = false;
                found.len = MIN_MATCH - 1;
                if is_full {
                    blocks.flush(at, false);
                }
                continue;
            }
            if is_pending && blocks.literal(self.data[at - 1]) {
                blocks.flush(at, false);
            }
            is_pending = true;
            at += 1;
        }
        if is_pending {
            blocks.literal(self.data[at - 1]);
        }
        blocks.flush(at, true);
    }

    /// Remembers a position; returns where the same hash was seen before.
    fn insert(&mut self, at: usize) -> usize {
        let Some(&[a, b, c]) = self.data.get(at..).and_then(|rest| rest.first_chunk()) else {
            return 0;
        };
        let hash = (usize::from(a) << 10 ^ usize::from(b) << 5 ^ usize::from(c)) % WINDOW;
        let seen = std::mem::replace(&mut self.head[hash], at);
        self.previous[at % WINDOW] = seen;
        seen
    }

    /// The longest match along the chain that is longer than `best`.
    fn longest(&self, at: usize, mut candidate: usize, mut best: Match) -> Match {
        let scan = &self.data[at..];
        let longest = scan.len().min(MAX_MATCH);
        let scan = &scan[..longest];
        let limit = at.saturating_sub(MAX_DISTANCE);
        let mut chain = self.effort.chain;
        if best.len >= self.effort.good {
            chain >>= 2;
        }
        // The match before may reach the end, where nothing can be longer.
        while best.len < longest {
            let there = &self.data[candidate..];
            if there[best.len] == scan[best.len] && there[..2] == scan[..2] {
                let pairs = scan.iter().zip(there);
                let len = pairs.take_while(|(a, b)| a == b).count();
                if len > best.len {
                    best = Match {
                        start: candidate,
                        len,
                    };
                    if len >= self.effort.nice {
                        break;
                    }
                }
            }
            candidate = self.previous[candidate % WINDOW];
            chain -= 1;
            if candidate <= limit || chain == 0 {
                break;
            }
        }
        best.len = best.len.min(longest);
        best
    }
}
