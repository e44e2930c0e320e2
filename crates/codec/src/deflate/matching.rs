//! Finding repetitions exactly as zlib's lazy levels do: hash chains over 32 KiB, and a match is only
//! taken if none begins one byte later that is longer.

use super::Level;
use super::blocks::Blocks;

const WINDOW: usize = 1 << 15;
const MIN_MATCH: usize = 3;
const MAX_MATCH: usize = 258;
/// Farther back than this nothing is looked for.
const MAX_DISTANCE: usize = WINDOW - LOOKAHEAD;
/// A match of three bytes from farther away than this costs more than it saves.
const TOO_FAR: usize = 4096;
/// So many bytes behind a position decide about its match.
const LOOKAHEAD: usize = MAX_MATCH + MIN_MATCH + 1;
/// Bytes that stay before the position: more than the window, and than a block can have that is
/// stored as it is (its symbols take at most four bytes each).
const KEPT: usize = 1 << 17;

/// The numbers that make up a level.
struct Effort {
    /// Whether a match waits for a better one at the next byte.
    is_lazy: bool,
    /// A match this long shortens the search for a better one,
    good: usize,
    /// or ends it at the next byte. Without waiting: a longer one leaves no traces of its inside.
    lazy: usize,
    /// A match this long is taken at once.
    nice: usize,
    /// Most candidates that are looked at.
    chain: usize,
}

impl Level {
    fn effort(self) -> Effort {
        let (good, lazy, nice, chain) = match self.0 {
            1 => (4, 4, 8, 4),
            2 => (4, 5, 16, 8),
            3 => (4, 6, 32, 32),
            4 => (4, 4, 16, 16),
            5 => (8, 16, 32, 32),
            6 => (8, 16, 128, 128),
            7 => (8, 32, 128, 256),
            8 => (32, 128, MAX_MATCH, 1024),
            _ => (32, MAX_MATCH, MAX_MATCH, 4096),
        };
        Effort {
            is_lazy: self.0 > 3,
            good,
            lazy,
            nice,
            chain,
        }
    }
}

/// Finds repetitions in data that comes piece by piece. Positions count from its first byte.
pub(super) struct Matcher {
    window: Window,
    effort: Effort,
    /// By hash of three bytes, where they were seen last; 0 for never, so the very first byte
    /// is never the beginning of a match.
    head: Vec<usize>,
    /// By position within the window, where the same hash was seen before.
    previous: Vec<usize>,
    /// The next byte to look at.
    at: usize,
    /// Match found at the byte before.
    found: Match,
    /// Whether the byte before waits to become a literal or the begin of a match.
    is_pending: bool,
}

/// The bytes that may still be referred to.
#[derive(Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    /// Position of the first of them.
    base: usize,
}

impl Window {
    fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    /// From a position on.
    fn from(&self, at: usize) -> &[u8] {
        &self.bytes[at - self.base..]
    }

    /// The bytes of a block; `None` if the first of them have gone, which are too many then to be
    /// stored as they are.
    pub(super) fn block(&self, start: usize, end: usize) -> Option<&[u8]> {
        let start = start.checked_sub(self.base)?;
        self.bytes.get(start..end - self.base)
    }

    /// Forgets the bytes far before `at`, now and then.
    fn shorten(&mut self, at: usize) {
        let behind = at - self.base;
        if behind > 2 * KEPT {
            self.bytes.drain(..behind - KEPT);
            self.base = at - KEPT;
        }
    }
}

/// A repetition of earlier bytes.
#[derive(Clone, Copy)]
struct Match {
    start: usize,
    len: usize,
}

impl Match {
    const NONE: Match = Match {
        start: 0,
        len: MIN_MATCH - 1,
    };
}

impl Matcher {
    pub(super) fn new(level: Level) -> Self {
        Matcher {
            window: Window::default(),
            effort: level.effort(),
            head: vec![0; WINDOW],
            previous: vec![0; WINDOW],
            at: 0,
            found: Match::NONE,
            is_pending: false,
        }
    }

    /// Compresses more data, as far as matches cannot reach behind its end.
    pub(super) fn write(&mut self, data: &[u8], blocks: &mut Blocks) {
        for piece in data.chunks(KEPT) {
            self.window.bytes.extend_from_slice(piece);
            let until = self.window.end().saturating_sub(LOOKAHEAD);
            self.run(until, blocks);
            self.window.shorten(self.at);
        }
    }

    /// Compresses the rest.
    pub(super) fn finish(mut self, blocks: &mut Blocks) {
        self.run(self.window.end(), blocks);
        if self.is_pending {
            blocks.literal(self.window.from(self.at - 1)[0]);
        }
        blocks.flush(&self.window, self.at, true);
    }

    fn run(&mut self, until: usize, blocks: &mut Blocks) {
        while self.at < until {
            let is_full = match self.effort.is_lazy {
                true => self.lazy_step(blocks),
                false => self.quick_step(blocks),
            };
            if is_full {
                blocks.flush(&self.window, self.at, false);
            }
        }
    }

    /// Returns whether the block is full, as [`Matcher::quick_step`] does.
    fn lazy_step(&mut self, blocks: &mut Blocks) -> bool {
        let candidate = self.insert(self.at);
        let (at, before) = (self.at, self.found);
        let mut found = Match {
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
            self.at = end;
            self.is_pending = false;
            found.len = MIN_MATCH - 1;
            self.found = found;
            return blocks.repeat(at - 1 - before.start, before.len);
        }
        self.found = found;
        let is_full = self.is_pending && blocks.literal(self.window.from(at - 1)[0]);
        if is_full {
            blocks.flush(&self.window, at, false);
        }
        self.is_pending = true;
        self.at += 1;
        false
    }

    fn quick_step(&mut self, blocks: &mut Blocks) -> bool {
        let at = self.at;
        let candidate = self.insert(at);
        let mut found = Match::NONE;
        if candidate != 0 && at - candidate <= MAX_DISTANCE {
            found = self.longest(at, candidate, found);
        }
        if found.len < MIN_MATCH {
            self.at += 1;
            return blocks.literal(self.window.from(at)[0]);
        }
        self.at += found.len;
        if found.len <= self.effort.lazy {
            for inside in at + 1..self.at {
                self.insert(inside);
            }
        }
        blocks.repeat(at - found.start, found.len)
    }

    /// Remembers a position; returns where the same hash was seen before.
    fn insert(&mut self, at: usize) -> usize {
        let rest = self.window.bytes.get(at - self.window.base..);
        let Some(&[a, b, c]) = rest.and_then(|rest| rest.first_chunk()) else {
            return 0;
        };
        let hash = (usize::from(a) << 10 ^ usize::from(b) << 5 ^ usize::from(c)) % WINDOW;
        let seen = std::mem::replace(&mut self.head[hash], at);
        self.previous[at % WINDOW] = seen;
        seen
    }

    /// The longest match along the chain that is longer than `best`.
    fn longest(&self, at: usize, mut candidate: usize, mut best: Match) -> Match {
        let scan = self.window.from(at);
        let longest = scan.len().min(MAX_MATCH);
        let scan = &scan[..longest];
        let limit = at.saturating_sub(MAX_DISTANCE);
        let mut chain = self.effort.chain;
        if best.len >= self.effort.good {
            chain >>= 2;
        }
        // The match before may reach the end, where nothing can be longer.
        while best.len < longest {
            let there = self.window.from(candidate);
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
