//! `_approx_count_distinct`: about how many different keys there are, by HyperLogLog.
//!
//! A key's hash chooses one of 2,048 registers, and each register remembers the longest run of zero
//! bits that begins the rest of such a hash, plus one. Registers of several sets together are the
//! maxima. The estimate is that of O. Ertl, "New cardinality estimation algorithms for
//! HyperLogLog sketches" (2017), which is exact to about 2.3 % for sets of any size.
//!
//! ```text
//! few registers are set                          many are
//!      +----+--------------+------+               +----+-------------------+
//!      | 00 | register u16 | rank |  … in order   | 01 | rank of each, u8  |
//!      |    | little-endian| u8   |               |    | 2,048 bytes       |
//!      +----+--------------+------+               +----+-------------------+
//! ```

use md5::{Digest, Md5};

/// Bits of a hash that choose a register.
const PRECISION: u32 = 11;
const REGISTERS: usize = 1 << PRECISION;
/// The highest rank: all other bits are zero.
const MAX_RANK: u8 = (u64::BITS - PRECISION + 1) as u8;

const FEW: u8 = 0;
const ALL: u8 = 1;
/// An entry where few are set.
const ENTRY: usize = 3;

/// The registers of one set.
pub(super) struct Sketch(Vec<u8>);

impl Sketch {
    pub(super) fn new() -> Self {
        Sketch(vec![0; REGISTERS])
    }

    /// Adds a key, given as its JSON text.
    pub(super) fn add(&mut self, key: &[u8]) {
        let digest = Md5::digest(key);
        let hash = digest
            .iter()
            .take(8)
            .fold(0, |hash, byte| hash << 8 | u64::from(*byte));
        let register = (hash >> (u64::BITS - PRECISION)) as usize;
        let zeros = (hash << PRECISION)
            .leading_zeros()
            .min(u64::BITS - PRECISION);
        self.raise(register, zeros as u8 + 1);
    }

    fn raise(&mut self, register: usize, rank: u8) {
        if let Some(known) = self.0.get_mut(register) {
            *known = rank.min(MAX_RANK).max(*known);
        }
    }

    /// Adds the items of another set; damage adds something or other.
    pub(super) fn join(&mut self, encoded: &[u8]) {
        match encoded.split_first() {
            Some((&FEW, entries)) => {
                for entry in entries.as_chunks::<ENTRY>().0 {
                    self.raise(
                        usize::from(u16::from_le_bytes([entry[0], entry[1]])),
                        entry[2],
                    );
                }
            }
            Some((_, ranks)) => {
                let numbered = ranks.iter().enumerate();
                numbered.for_each(|(register, rank)| self.raise(register, *rank));
            }
            None => {}
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let set = self.0.iter().filter(|rank| **rank > 0).count();
        if set * ENTRY >= REGISTERS {
            return [&[ALL], &self.0[..]].concat();
        }
        let mut out = vec![FEW];
        for (register, rank) in (0u16..).zip(&self.0).filter(|(_, rank)| **rank > 0) {
            out.extend_from_slice(&register.to_le_bytes());
            out.push(*rank);
        }
        out
    }

    /// About how many different keys were added.
    pub(super) fn estimate(&self) -> u64 {
        let mut with_rank = [0u32; MAX_RANK as usize + 1];
        for rank in &self.0 {
            with_rank[usize::from((*rank).min(MAX_RANK))] += 1;
        }
        let registers = REGISTERS as f64;
        let share = |rank: usize| f64::from(with_rank[rank]) / registers;
        let highest = usize::from(MAX_RANK);
        let mut sum = registers * of_full(1.0 - share(highest));
        for rank in (1..highest).rev() {
            sum = (sum + f64::from(with_rank[rank])) / 2.0;
        }
        sum += registers * of_empty(share(0));
        (registers * registers / (2.0 * std::f64::consts::LN_2 * sum)).round() as u64
    }
}

/// Ertl's σ, of the share of registers that are not set: x + x²·1 + x⁴·2 + x⁸·4 + …
fn of_empty(share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut weight, mut sum) = (share, 1.0, share);
    loop {
        let before = sum;
        power *= power;
        sum += power * weight;
        weight += weight;
        if sum == before {
            return sum;
        }
    }
}

/// Ertl's τ, of the share of registers that are not at their highest.
fn of_full(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return 0.0;
    }
    let (mut root, mut weight, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        let before = sum;
        root = root.sqrt();
        weight /= 2.0;
        sum -= (1.0 - root) * (1.0 - root) * weight;
        if sum == before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: std::ops::Range<u32>) -> Sketch {
        let mut sketch = Sketch::new();
        keys.for_each(|n| sketch.add(n.to_string().as_bytes()));
        sketch
    }

    #[test]
    fn estimates_are_near_at_any_size() {
        assert_eq!(of(0..0).estimate(), 0);
        for (count, within) in [(1, 0), (10, 0), (100, 2), (5_000, 250), (50_000, 2_500)] {
            let estimate = of(0..count).estimate();
            assert!(
                estimate.abs_diff(u64::from(count)) <= within,
                "{count}: {estimate}"
            );
        }
    }

    #[test]
    fn parts_together_are_as_the_whole() {
        for (ends, tag) in [([20, 50, 90], FEW), ([400, 4_000, 9_000], ALL)] {
            let mut joined = Sketch::new();
            for part in [of(0..ends[1]), of(ends[0]..ends[2])] {
                joined.join(&part.encode());
            }
            let whole = of(0..ends[2]).encode();
            assert_eq!((joined.encode(), whole[0]), (whole, tag));
        }
    }

    #[test]
    fn damage_is_survived() {
        let mut sketch = Sketch::new();
        for damaged in [
            &b""[..],
            b"\x00\xff\xff\xff",
            b"\x00\x01",
            &[1; 5_000],
            &[255; 3_000],
        ] {
            sketch.join(damaged);
            sketch.estimate();
        }
        assert!(sketch.encode().len() <= REGISTERS + 1);
    }
}
