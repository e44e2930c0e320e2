//! Changes at random, the same for the same seed.

/// Texts that parsers have a meaning for.
const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\r\n\r\n",
    b"--",
    b"--x",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"1e400",
    b"{",
    b"[",
    b"[[[[[[[[[[[[[[[[",
    b"}",
    b"]",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"%00",
    b"%2e%2e%2f",
    b"../",
    b";",
    b"=",
    b",",
    b":",
    b"chunked",
    b"gzip",
    b"HG20",
    b"HG10",
    b"\xe2\x80\x8c",
    b"\xc0\x80",
    b"while(true){}",
    b"/(a+)+$/",
    b"emit(",
    b"'x'.repeat(1e9)",
];
/// Most changes of one request.
const CHANGES: usize = 4;
/// A stretch that is repeated becomes at most so long.
const LONGEST: usize = 200_000;

/// A xorshift generator.
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    pub fn choose<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    /// Changes bytes in one to [`CHANGES`] places.
    pub fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(CHANGES) {
            let from = self.below(bytes.len() + 1);
            let to = (from + 1 + self.below(20)).min(bytes.len());
            match self.below(6) {
                0 if from < bytes.len() => bytes[from] ^= 1 << self.below(8),
                1 => drop(bytes.drain(from..to)),
                2 => drop(bytes.splice(from..from, self.choose(WORDS).iter().copied())),
                3 => drop(bytes.splice(from..to, self.choose(WORDS).iter().copied())),
                4 => bytes.truncate(from.max(1)),
                _ => {
                    let stretch = bytes[from..to].to_vec();
                    let most = LONGEST / stretch.len().max(1) / (1 + self.below(5_000));
                    let times = 1 + self.below(most);
                    drop(bytes.splice(from..from, stretch.repeat(times)));
                }
            }
        }
    }
}
