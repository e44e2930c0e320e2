//! Texts as sequences of numbers, one per different token, so that tokens compare in one step.
//!
//! A token is a line, or a run of bytes that ends where the bytes themselves say so. The same bytes are cut in the same
//! way wherever they stand, so that an insertion before them does not matter; nor does it matter whether there are
//! lines at all.

use memchr::memchr_iter;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// Where tokens end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Behind newlines.
    Lines,
    /// After about 2 to the power of this many bytes.
    Content(u32),
}

/// The tokens of two texts.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    /// Where each token begins, and the end of the last one.
    a_starts: Vec<u32>,
    b_starts: Vec<u32>,
    /// How many different tokens there are.
    pub different: usize,
}

impl Tokens {
    /// Both texts are shorter than 4 GiB.
    pub fn new(a: &[u8], b: &[u8], cut: Cut) -> Tokens {
        let (a_starts, b_starts) = (starts(a, cut), starts(b, cut));
        let mut numbers = Numbers::for_tokens(a_starts.len() + b_starts.len());
        let a_numbers = numbers.of_all(a, &a_starts);
        let b_numbers = numbers.of_all(b, &b_starts);
        Tokens {
            a: a_numbers,
            b: b_numbers,
            a_starts,
            b_starts,
            different: numbers.texts.len(),
        }
    }

    /// Bytes of some tokens of the first text.
    pub fn a_bytes(&self, tokens: Range<usize>) -> Range<usize> {
        self.a_starts[tokens.start] as usize..self.a_starts[tokens.end] as usize
    }

    /// Bytes of some tokens of the second text.
    pub fn b_bytes(&self, tokens: Range<usize>) -> Range<usize> {
        self.b_starts[tokens.start] as usize..self.b_starts[tokens.end] as usize
    }
}

fn starts(text: &[u8], cut: Cut) -> Vec<u32> {
    let mut starts = vec![0];
    match cut {
        Cut::Lines => starts.extend(memchr_iter(b'\n', text).map(|newline| newline as u32 + 1)),
        Cut::Content(bits) => cut_by_content(text, bits, &mut starts),
    }
    if starts.last() != Some(&(text.len() as u32)) {
        starts.push(text.len() as u32);
    }
    starts
}

/// An odd number with its bits well mixed: the golden ratio.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Cuts where a hash of eight bytes begins with `bits` zeros, and never closer than a quarter nor
/// farther than 16 times the mean length.
fn cut_by_content(text: &[u8], bits: u32, starts: &mut Vec<u32>) {
    const WINDOW: usize = 8;
    let (least, most) = ((1_usize << bits) / 4, 16_usize << bits);
    let mut start = 0;
    while text.len() - start > most {
        let end = text.len().min(start + most + WINDOW - 1);
        let found = text[start + least..end].windows(WINDOW).position(|window| {
            let window = window.first_chunk().copied().unwrap_or_default();
            (u64::from_le_bytes(window) ^ MIX).wrapping_mul(MIX) >> (64 - bits) == 0
        });
        start += least + found.unwrap_or(most - least);
        starts.push(start as u32);
    }
}

/// Numbers of different tokens: a table with open addresses.
struct Numbers<'t> {
    /// Number of a token and one, and part of its hash; 0 is an empty place.
    places: Vec<(u32, u32)>,
    texts: Vec<&'t [u8]>,
    /// Random per process, so that an author of texts cannot make all tokens collide.
    seed: u64,
}

/// How many places are looked at. Beyond that a token counts as different from all others.
const MOST_PROBES: usize = 64;

impl<'t> Numbers<'t> {
    fn for_tokens(count: usize) -> Self {
        Numbers {
            places: vec![(0, 0); (count * 2).next_power_of_two()],
            texts: Vec::new(),
            seed: RandomState::new().hash_one(MIX),
        }
    }

    fn of_all(&mut self, text: &'t [u8], starts: &[u32]) -> Vec<u32> {
        let tokens = starts.windows(2).map(|pair| (pair[0], pair[1]));
        tokens
            .map(|(from, to)| self.of(&text[from as usize..to as usize]))
            .collect()
    }

    fn of(&mut self, token: &'t [u8]) -> u32 {
        let hash = hash(token, self.seed);
        let (mask, check) = (self.places.len() - 1, (hash >> 32) as u32);
        let next = self.texts.len() as u32;
        for probe in 0..MOST_PROBES {
            let place = &mut self.places[(hash as usize + probe) & mask];
            match *place {
                (0, _) => {
                    *place = (next + 1, check);
                    break;
                }
                (number, found) if found == check && self.texts[number as usize - 1] == token => {
                    return number - 1;
                }
                _ => {}
            }
        }
        self.texts.push(token);
        next
    }
}

fn hash(token: &[u8], seed: u64) -> u64 {
    let (words, rest) = token.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut hash = seed ^ (token.len() as u64);
    for word in words.iter().chain([&last]) {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(MIX);
        hash ^= hash >> 32;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = |_| {
            state = state.wrapping_mul(MIX).rotate_left(31) ^ MIX;
            (state >> 40) as u8
        };
        (0..len).map(next).collect()
    }

    #[test]
    fn content_is_cut_alike_behind_an_insertion() {
        let old = noise(100_000);
        let mut new = old.clone();
        new.splice(50_000..50_000, *b"inserted");
        let tokens = Tokens::new(&old, &new, Cut::Content(7));
        assert!((400..1600).contains(&tokens.a.len()), "{}", tokens.a.len());
        let common = tokens.b.iter().filter(|n| tokens.a.contains(n)).count();
        assert!(common + 10 > tokens.b.len());
    }

    #[test]
    fn bytes_that_are_all_the_same_are_cut_into_bounded_tokens() {
        let tokens = Tokens::new(&[0; 100_000], &[b'x'; 100_000], Cut::Content(7));
        for len in [tokens.a.len(), tokens.b.len()] {
            assert!(
                (100_000 / (16 << 7)..=100_000 / 32 + 1).contains(&len),
                "{len}"
            );
        }
    }

    proptest! {
        #[test]
        fn equal_numbers_are_equal_bytes(
            a in proptest::collection::vec(prop_oneof![Just(b'\n'), b'a'..b'c'], 0..200),
            b in proptest::collection::vec(prop_oneof![Just(b'\n'), b'a'..b'c'], 0..200),
        ) {
            for cut in [Cut::Lines, Cut::Content(3)] {
                let tokens = Tokens::new(&a, &b, cut);
                prop_assert_eq!(tokens.a_bytes(0..tokens.a.len()), 0..a.len());
                for (i, x) in tokens.a.iter().enumerate() {
                    for (j, y) in tokens.b.iter().enumerate() {
                        let same = a[tokens.a_bytes(i..i + 1)] == b[tokens.b_bytes(j..j + 1)];
                        prop_assert_eq!(x == y, same);
                    }
                }
            }
        }
    }
}
