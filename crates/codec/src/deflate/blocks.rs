//! Deflate blocks: symbols collect until a block is full, then the shortest of its three forms is
//! written.

use super::huffman::{Codes, MAX_BITS};
use super::matching::Window;

/// A block is full at this many symbols.
const SYMBOLS: usize = (1 << 14) - 1;
const END: usize = 256;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
/// The codes of code lengths: repeat the last, repeat zero.
const REPEAT: usize = 16;
const ZEROS: usize = 17;
const MANY_ZEROS: usize = 18;
/// In which order lengths of the codes of code lengths are sent.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// Symbols on their way to a stream.
pub(super) struct Blocks {
    /// Where the block begins.
    start: usize,
    /// Distance, 0 for a literal, and length or byte.
    symbols: Vec<(u16, u16)>,
    literals: Vec<u32>,
    distances: Vec<u32>,
    out: BitWriter,
}

struct BitWriter {
    bytes: Vec<u8>,
    bits: u64,
    count: u32,
}

impl BitWriter {
    fn put(&mut self, bits: u32, count: u32) {
        self.bits |= u64::from(bits) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.bits as u8);
            self.bits >>= 8;
            self.count -= 8;
        }
    }

    fn align(&mut self) {
        self.put(0, (8 - self.count % 8) % 8);
    }
}

/// Code, number of extra bits, and their value.
type Coded = (usize, u32, u32);

/// The code of a length of 3 to 258.
fn length_code(len: u16) -> Coded {
    let len = u32::from(len) - 3;
    match len {
        255 => (285, 0, 0),
        0..8 => (257 + len as usize, 0, 0),
        _ => {
            let extra = len.ilog2() - 2;
            let code = 257 + 4 * extra + (len >> extra);
            (code as usize, extra, len & ((1 << extra) - 1))
        }
    }
}

/// The code of a distance of 1 to 32768.
fn distance_code(distance: u16) -> Coded {
    let distance = u32::from(distance) - 1;
    if distance < 4 {
        return (distance as usize, 0, 0);
    }
    let extra = distance.ilog2() - 1;
    let code = 2 * extra + (distance >> extra);
    (code as usize, extra, distance & ((1 << extra) - 1))
}

impl Blocks {
    /// Blocks behind `head`.
    pub(super) fn new(head: Vec<u8>) -> Self {
        let mut blocks = Blocks {
            start: 0,
            symbols: Vec::new(),
            literals: Vec::new(),
            distances: Vec::new(),
            out: BitWriter {
                bytes: head,
                bits: 0,
                count: 0,
            },
        };
        blocks.begin();
        blocks
    }

    fn begin(&mut self) {
        self.symbols.clear();
        self.literals = vec![0; LITERALS];
        self.literals[END] = 1;
        self.distances = vec![0; DISTANCES];
    }

    /// Adds a byte; returns whether the block is full.
    pub(super) fn literal(&mut self, byte: u8) -> bool {
        self.symbols.push((0, byte.into()));
        self.literals[usize::from(byte)] += 1;
        self.symbols.len() == SYMBOLS
    }

    /// Adds a repetition; returns whether the block is full.
    pub(super) fn repeat(&mut self, distance: usize, len: usize) -> bool {
        let (distance, len) = (distance as u16, len as u16);
        self.symbols.push((distance, len));
        self.literals[length_code(len).0] += 1;
        self.distances[distance_code(distance).0] += 1;
        self.symbols.len() == SYMBOLS
    }

    /// Writes the block, which ends before byte `end` of the data.
    pub(super) fn flush(&mut self, data: &Window, end: usize, is_last: bool) {
        let fixed_bits = self.bits(&fixed_literals(), &fixed_distances());
        let literals = Codes::optimal(&mut self.literals, MAX_BITS);
        let distances = Codes::optimal(&mut self.distances, MAX_BITS);
        let lengths = CodeLengths::of(&literals, &distances);
        let own_bits = self.bits(&literals, &distances) + lengths.bits();
        let (own, fixed) = ((own_bits + 10) >> 3, (fixed_bits + 10) >> 3);
        let stored = data.block(self.start, end);
        let last = u32::from(is_last);
        if let Some(stored) = stored.filter(|stored| stored.len() as u64 + 4 <= own.min(fixed)) {
            self.out.put(last, 3);
            self.out.align();
            let len = stored.len() as u16;
            self.out.bytes.extend_from_slice(&len.to_le_bytes());
            self.out.bytes.extend_from_slice(&(!len).to_le_bytes());
            self.out.bytes.extend_from_slice(stored);
        } else if fixed <= own {
            self.out.put(2 | last, 3);
            self.send(&fixed_literals(), &fixed_distances());
        } else {
            self.out.put(4 | last, 3);
            lengths.send(&literals, &distances, &mut self.out);
            self.send(&literals, &distances);
        }
        self.start = end;
        self.begin();
    }

    /// The whole bytes that are written so far; they are not kept.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out.bytes)
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.out.align();
        self.out.bytes
    }

    /// How many bits the symbols take in these codes.
    fn bits(&self, literals: &Codes, distances: &Codes) -> u64 {
        let cost = |counts: &[u32], codes: &Codes| -> u64 {
            let pairs = counts.iter().zip(&codes.lens);
            pairs
                .map(|(count, len)| u64::from(*count) * u64::from(*len))
                .sum()
        };
        let extra = self.symbols.iter().filter(|(distance, _)| *distance > 0);
        let extra = extra
            .map(|(distance, len)| u64::from(distance_code(*distance).1 + length_code(*len).1));
        cost(&self.literals, literals) + cost(&self.distances, distances) + extra.sum::<u64>()
    }

    fn send(&mut self, literals: &Codes, distances: &Codes) {
        let out = &mut self.out;
        for &(distance, len) in &self.symbols {
            if distance == 0 {
                out.symbol(literals, usize::from(len));
                continue;
            }
            for (codes, (code, extra, value)) in [
                (literals, length_code(len)),
                (distances, distance_code(distance)),
            ] {
                out.symbol(codes, code);
                out.put(value, extra);
            }
        }
        out.symbol(literals, END);
    }
}

impl BitWriter {
    fn symbol(&mut self, codes: &Codes, symbol: usize) {
        self.put(codes.bits[symbol].into(), codes.lens[symbol].into());
    }
}

fn fixed_literals() -> Codes {
    let len = |symbol| match symbol {
        0..144 => 8,
        144..256 => 9,
        256..280 => 7,
        _ => 8,
    };
    Codes::from_lens((0..288).map(len).collect())
}

fn fixed_distances() -> Codes {
    Codes::from_lens(vec![5; DISTANCES])
}

/// How the lengths of a block's own codes are sent.
struct CodeLengths {
    /// Code, extra bits and their value.
    symbols: Vec<Coded>,
    codes: Codes,
    /// How many lengths are sent, in the order of [`ORDER`].
    sent: usize,
}

impl CodeLengths {
    fn of(literals: &Codes, distances: &Codes) -> Self {
        let mut symbols = Vec::new();
        for codes in [literals, distances] {
            run_lengths(&codes.lens[..=codes.highest], &mut symbols);
        }
        let mut counts = [0; ORDER.len()];
        for (code, _, _) in &symbols {
            counts[*code] += 1;
        }
        let codes = Codes::optimal(&mut counts, 7);
        let sent = ORDER.iter().rposition(|code| codes.lens[*code] > 0);
        CodeLengths {
            symbols,
            sent: sent.unwrap_or(0).max(3) + 1,
            codes,
        }
    }

    fn bits(&self) -> u64 {
        let cost = |(code, extra, _): &Coded| u64::from(self.codes.lens[*code]) + u64::from(*extra);
        self.symbols.iter().map(cost).sum::<u64>() + 14 + 3 * self.sent as u64
    }

    fn send(&self, literals: &Codes, distances: &Codes, out: &mut BitWriter) {
        out.put(literals.highest as u32 - 256, 5);
        out.put(distances.highest as u32, 5);
        out.put(self.sent as u32 - 4, 4);
        for code in &ORDER[..self.sent] {
            out.put(self.codes.lens[*code].into(), 3);
        }
        for &(code, extra, value) in &self.symbols {
            out.symbol(&self.codes, code);
            out.put(value, extra);
        }
    }
}

/// Lengths with their repetitions folded.
fn run_lengths(lens: &[u8], out: &mut Vec<Coded>) {
    let mut before = None;
    for run in lens.chunk_by(|a, b| a == b) {
        let len = usize::from(run[0]);
        let mut left = run.len();
        while left > 0 {
            let is_repeated = before == Some(len);
            let (most, least) = match (len, is_repeated) {
                (0, _) => (138, 3),
                (_, true) => (6, 3),
                (_, false) => (7, 4),
            };
            let count = left.min(most);
            left -= count;
            if count < least {
                out.extend(std::iter::repeat_n((len, 0, 0), count));
            } else if len > 0 {
                if !is_repeated {
                    out.push((len, 0, 0));
                }
                let count = count - usize::from(!is_repeated);
                out.push((REPEAT, 2, count as u32 - 3));
            } else if count <= 10 {
                out.push((ZEROS, 3, count as u32 - 3));
            } else {
                out.push((MANY_ZEROS, 7, count as u32 - 11));
            }
            before = Some(len);
        }
    }
}
